//go:build !linux

package crash

import "testing"

func TestMain(m *testing.M) { runAll(m) }

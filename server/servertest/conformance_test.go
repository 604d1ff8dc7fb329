package servertest_test

import (
	"testing"

	"github.com/teammem/teammem/server/servertest"
)

// TEAMMEM_TARGET_URL and the tokens beside it point the suite at another server,
// see [servertest.TargetFromEnvironment].
func TestConformance(t *testing.T) {
	if target, ok := servertest.TargetFromEnvironment(); ok {
		servertest.Conformance(t, target)
		return
	}
	onBoth(t, func(t *testing.T, options ...servertest.Option) {
		target := servertest.Start(t, options...).Target()
		// Keys are judged before any store is asked: once in full is enough.
		target.Quick = len(options) > 0
		servertest.Conformance(t, target)
	})
}

//go:build !race

package scan

const under = 1

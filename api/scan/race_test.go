//go:build race

package scan

// under is by how much less is tried under the race detector, which makes a scan seven
// times slower and has one goroutine to watch in most of it. scripts/test.sh runs all
// of it without.
const under = 4

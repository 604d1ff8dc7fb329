// Package bench measures the product's figures, each against a peer in the same
// run. It has no code of its own; its benchmarks are started by "make bench", and
// docs/benchmarks.md says what each figure means and what was seen.
//
// The product is measured as people run it: the built binaries, in processes of
// their own. The peers are programs that do the least that the same work needs:
// a bare HTTP handler, pgbench, a loop over a database, git. Peer and product take
// turns, round by round, so that a noisy machine is noisy for both; a figure is the
// median of the rounds' ratios.
//
// Peers that run the product's statements read them from its source, so that they
// cannot grow apart from it.
package bench

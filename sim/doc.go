// Package sim is the proof by simulation that no edit is lost: whole clients and a
// whole server in one process, with a file system, a memory, a clock and a network
// of its own, where a seed picks every step and every fault. It has tests only and
// nothing imports it.
//
// The clients are the real [syncer.Syncer] over the real [remote.Client]; the
// server is the real handler, ledger and store in memory. What is replaced is what
// lies between and below them: the disk (coarse time stamps, edits between look
// and write, late writes through an open handle, a file system that folds case),
// the state (lost, or older than the data), and the wire (requests and replies
// lost, requests doubled, and delivered much later). All of it runs in one
// goroutine, so that a seed gives the same run again, word for word.
//
// After a random schedule the faults stop, and what stands is looked at from
// outside: the clients come to rest within a bounded number of rounds, all are
// equal to the server and write nothing more; every word that a person typed and
// nobody took away knowingly is in the current text, in a keep or in a trash; no
// deleted text is back. docs/reliability.md says how to run it.
package sim

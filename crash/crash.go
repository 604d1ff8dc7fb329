// Package crash holds the product to what it promises when it is killed, and when
// many speak to it at once. It has no code of its own; its tests run the built
// programs as people do.
//
// Killed are, by SIGKILL: the server at random instants while writers put and note
// what was acknowledged; the database beneath it; the client, once and as a daemon,
// at random instants and at each system call of a small pull, which a tracer of our
// own counts. Afterwards every acknowledged write is there and whole, versions rise
// by one a change, every file of the client is an old or a new one, the next round
// converges, and no edit is lost.
//
// The plug is pulled by a snapshot of the disk under a server that is being written
// to: what had not reached the disk is not on it. It is mounted, which replays the
// file system's journal, and must hold every write that was acknowledged by then.
//
// Beside them the histories of concurrent clients are recorded over HTTP and checked
// for linearizability, on one server and on two that share a database.
//
// Each harness is shown to catch a fault that is planted: a proxy that acknowledges
// before it forwards, a client built with a write in place, a server built without the
// flush at each commit, a reader that is served old answers. TEAMMEM_CRASH_CYCLES says how often is killed; go test alone runs a
// short form, and "make crash" the long one.
package crash

// Package patroni holds what Postgres with a standby that takes over is made of, three
// machines under Patroni on etcd, behind HAProxy and PgBouncer, to what
// docs/patroni.md says of it. It has no code of its own.
//
// Its tests, of the build tag patroni, start the real programs from the very files of
// this folder, each machine in a network namespace of its own, and two servers of ours
// before them. While writers write, the primary is killed, and then cut off from all
// others while writers beside it write on. Afterwards no acknowledged write is missing
// on any machine, no version is two things, the audit trails hold together, and the way
// back was no longer than Patroni's own and three seconds. "make patroni" runs them, as
// root on Linux.
package patroni

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// BenchmarkTwoServers edits ten entries of 4 KB a PUT, from 32 writers in 100 repos, at
// two servers on one Postgres, each held to half a core; the peer is one of them alone.
// A conflict at either ends the benchmark: no two writers have a key in common.
func BenchmarkTwoServers(b *testing.B) {
	hold := halfCores(b)
	d := openPostgres(b)
	first := filled(b, d, writtenRepos)
	second := &product{database: d, token: first.token}
	for _, p := range []*product{first, second} {
		p.restart(b)
		hold(p.command.Process.Pid)
	}
	crowd := newEditors(putOf{entries: perPut, repos: writtenRepos})
	by := func(servers ...*product) func() round {
		return func() round {
			done, took := crowd.edit(b, servers...)
			return round{rate: done / took.Seconds()}
		}
	}
	alone, both := turns(b, writeRounds, by(first), by(first, second))
	compare(b, 1.6, alone, both)
}

// halfCores gives a hand that holds each process it is called with to half a core, by a
// control group of its own. Where none can be made the benchmark is skipped: stopping
// and continuing a process is not the same.
func halfCores(b *testing.B) func(pid int) {
	b.Helper()
	var made []string
	b.Cleanup(func() { // after the processes, which are started later, have ended
		for _, dir := range made {
			if err := os.Remove(dir); err != nil {
				b.Errorf("a control group is left: %v", err)
			}
		}
	})
	return func(pid int) {
		b.Helper()
		var refused error
		for _, system := range []struct {
			root   string
			limits [][2]string
		}{
			{"/sys/fs/cgroup/cpu", [][2]string{{"cpu.cfs_period_us", "50000"}, {"cpu.cfs_quota_us", "25000"}}},
			{"/sys/fs/cgroup", [][2]string{{"cpu.max", "25000 50000"}}},
		} {
			dir := filepath.Join(system.root, fmt.Sprintf("teammem-bench-%d", pid))
			err := os.Mkdir(dir, 0o700)
			if err == nil {
				made = append(made, dir)
				err = holdTo(dir, pid, system.limits)
			}
			if err == nil {
				return
			}
			refused = err
		}
		b.Skipf("no control group can be made that holds a process to half a core: %v", refused)
	}
}

// holdTo bounds a group and puts a process into it. The files are there, or it is none.
func holdTo(dir string, pid int, limits [][2]string) error {
	for _, one := range append(limits, [2]string{"cgroup.procs", strconv.Itoa(pid)}) {
		file, err := os.OpenFile(filepath.Join(dir, one[0]), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteString(one[1])
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

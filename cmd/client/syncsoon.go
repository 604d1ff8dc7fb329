package main

import (
	"os"
	"os/exec"

	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/memdir"
)

// syncSoon has the team's directory synced now without waiting for it: by the client
// that runs, or else by one of its own that makes one round and ends. A directory that
// was never synced is left alone, for nobody has asked for that.
//
// A client that is just ending its round may miss the nudge. The end of the agent's
// turn brings the next.
func (a *app) syncSoon(t *target) {
	stateDir, err := t.stateDir()
	if err != nil {
		return
	}
	dir, err := memdir.Open(t.dir)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	if _, marked, err := dir.Marker(); err != nil || !marked {
		return
	}
	if err := client.Nudge(stateDir); err != nil || dir.Locked() {
		return
	}
	if t.server == "" || t.repo == "" {
		return
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	arguments := []string{"sync", "--once", "--quiet", "--dir", t.dir}
	for name, value := range a.settingFlags() {
		if name != "dir" {
			arguments = append(arguments, "--"+name+"="+value)
		}
	}
	cmd := exec.Command(program, arguments...)
	cmd.Dir = a.env.Dir
	detach(cmd)
	if cmd.Start() == nil {
		_ = cmd.Process.Release()
	}
}

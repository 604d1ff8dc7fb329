//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach lets a program live on when the agent that ran the hook ends its group.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

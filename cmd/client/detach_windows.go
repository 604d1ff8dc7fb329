package main

import (
	"os/exec"
	"syscall"
)

// A console of its own is not made, and the agent's signals do not reach it.
const createNoWindow = 0x08000000

// detach lets a program live on when the agent that ran the hook ends its group.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | createNoWindow}
}

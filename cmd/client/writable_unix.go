//go:build unix

package main

import "golang.org/x/sys/unix"

// writable asks the system whether a folder can be written to.
func writable(path string) error { return unix.Access(path, unix.W_OK|unix.X_OK) }

//go:build unix

package claudemd

import "syscall"

const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_NOFOLLOW

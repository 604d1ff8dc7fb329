//go:build !unix

package claudemd

const openFlags = 0

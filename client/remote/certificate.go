package remote

import (
	"crypto/tls"
	"errors"
)

// certificate reports whether the connection failed on the server's certificate,
// which no waiting cures.
func (e *Unreachable) certificate() bool {
	var bad *tls.CertificateVerificationError
	return errors.As(e.Err, &bad)
}

// Hint is what to do about it, for people.
func (e *Unreachable) Hint() string {
	switch {
	case e.certificate():
		return "name the authority that signed the server's certificate with --ca FILE"
	case e.Timeout:
		return "the edits made meanwhile are kept and go out when it answers again"
	}
	return "is it running, and is the address right? client where shows where the address comes from"
}

package signin

import (
	"strings"
	"testing"
)

// TestAStrangersWords: what a provider sends is shown on a terminal, and opened.
func TestAStrangersWords(t *testing.T) {
	steering := "WDJB\x1b]0;owned\a\u202eMJHT\r\n" + strings.Repeat("x", 100)
	if got := printable(steering); strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r > '~' }) || len(got) > 64 || !strings.HasPrefix(got, "WDJB") {
		t.Errorf("%q", got)
	}
	if got := (&RefusedError{Issuer: "https://login.example", Code: steering}).Error(); strings.ContainsAny(got, "\x1b\r\n\a") {
		t.Errorf("%q", got)
	}
	for address, good := range map[string]bool{
		"https://login.example/device": true, "http://127.0.0.1:5556/device": true, "http://localhost/device": true,
		"http://login.example": false, "http://127.0.0.1.evil.example": false, "https://dana:secret@login.example": false, "javascript:alert(1)": false,
		"file:///etc/passwd": false, "https://login.example/\x1b[2J": false, "https://login.example/\u202e": false, "https://login.example --new": false, "": false, "-version": false,
	} {
		if err := checkAddress("page", address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}

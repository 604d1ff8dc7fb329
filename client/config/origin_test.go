package config

import (
	"strings"
	"testing"
)

func TestOriginIsCanonical(t *testing.T) {
	for address, want := range map[string]string{
		"https://memory.acme.example":           "https://memory.acme.example",
		"https://memory.acme.example/":          "https://memory.acme.example",
		"HTTPS://Memory.ACME.example.:443/team": "https://memory.acme.example",
		"https://memory.acme.example:8443":      "https://memory.acme.example:8443",
		"https://memory.acme.example:08443":     "https://memory.acme.example:8443",
		"http://127.0.0.1:8080":                 "http://127.0.0.1:8080",
		"http://127.8.9.1:80":                   "http://127.8.9.1",
		"http://localhost:8080":                 "http://localhost:8080",
		"http://[::1]:8080":                     "http://[::1]:8080",
		"http://[0:0:0:0:0:0:0:1]:8080":         "http://[::1]:8080",
		"http://[::ffff:127.0.0.1]":             "http://127.0.0.1",
		"https://xn--bcher-kva.example":         "https://xn--bcher-kva.example",
	} {
		if got, err := Origin(address); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", address, got, err, want)
		}
	}
}

func TestOriginRefuses(t *testing.T) {
	for address, want := range map[string]string{
		"":                            "no server is named",
		"memory.acme.example":         "does not begin with https://",
		"memory.acme.example:8080":    "does not begin with https://",
		"ftp://a.example":             "does not begin with https://",
		"https:a.example":             "slashes are missing",
		"https://":                    "names no host",
		"https://a.example:":          "port is missing",
		"https://a.example:0":         "port is not a number",
		"https://a.example:99999":     "port is not a number",
		"https://a.example?x":         "query",
		"https://a.example#x":         "fragment",
		"https://dana:hunter2@a.test": "user or password",
		"https://b\u00fccher.example": "character other than",
		"https://[fe80::1%25eth0]":    "zone",
		"http://memory.acme.example":  "--insecure",
		"http://127.0.0.1.evil.test":  "--insecure",
		"http://localhost.evil.test":  "--insecure",
		"http://10.0.0.1":             "--insecure",
		"http://0x7f.1":               "--insecure",
		"http://0.0.0.0:8080":         "--insecure",
		"https://a.example\n":         "not an address",
	} {
		got, err := Origin(address)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", address, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestPlainHTTPIsAskedForByName(t *testing.T) {
	if got, err := InsecureOrigin("http://10.0.0.1:8080/x"); err != nil || got != "http://10.0.0.1:8080" {
		t.Errorf("%q, %v", got, err)
	}
	s, err := env("", "TEAMMEM_SERVER", "http://10.0.0.1:8080/team/").Settings(map[string]string{"insecure": "true"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.BaseURL(); err != nil || got != "http://10.0.0.1:8080/team" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Origin(); err != nil || got != "http://10.0.0.1:8080" {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzOrigin(f *testing.F) {
	f.Add("https://a.example:8443/x")
	f.Add("http://[::1]:80")
	f.Fuzz(func(t *testing.T, address string) {
		origin, err := Origin(address)
		if err != nil {
			return
		}
		again, err := Origin(origin)
		if err != nil || again != origin {
			t.Fatalf("%q becomes %q becomes %q, %v", address, origin, again, err)
		}
	})
}

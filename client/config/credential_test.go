package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const acme = "https://memory.acme.example"

func TestATokenIsBoundToItsOrigin(t *testing.T) {
	p := Paths{Config: filepath.Join(t.TempDir(), "config")}
	if _, ok, err := p.Token(acme); ok || err != nil {
		t.Fatalf("a token before login: %v", err)
	}
	if err := errors.Join(p.SaveToken(acme, "tm_one"), p.SaveToken(acme+":8443", "tm_two"), p.SaveToken(acme, "tm_three")); err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]string{acme: "tm_three", acme + ":8443": "tm_two", "http://memory.acme.example": ""} {
		if got, ok, err := p.Token(origin); got != want || ok != (want != "") || err != nil {
			t.Errorf("%s: %q, %v, %v", origin, got, ok, err)
		}
	}
	if err := errors.Join(p.RemoveToken(acme), p.RemoveToken(acme)); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := p.Token(acme); ok {
		t.Error("still there after logout")
	}
	if _, ok, _ := p.Token(acme + ":8443"); !ok {
		t.Error("another login went with it")
	}
	if info, err := os.Stat(filepath.Join(p.Config, "credentials.json")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := p.SaveToken("https://Memory.acme.example/", "tm_x"); err == nil {
		t.Error("saved for what is not an origin")
	}
}

func TestCredentialsOpenToOthersAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing on Windows")
	}
	p := Paths{Config: t.TempDir()}
	if err := p.SaveToken(acme, "tm_secret"); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(filepath.Join(p.Config, "credentials.json"), mode); err != nil {
			t.Fatal(err)
		}
		_, _, err := p.Token(acme)
		if err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("%04o: %v", mode, err)
		}
	}
}

func TestTheCredentialThatWins(t *testing.T) {
	dir := t.TempDir()
	p := Paths{Config: filepath.Join(dir, "config")}
	if err := p.SaveToken(acme, "tm_saved"); err != nil {
		t.Fatal(err)
	}
	file, other := filepath.Join(dir, "token"), filepath.Join(dir, "other")
	write(t, file, 0o600, "  tm_file \r\nsecond line\n")
	write(t, other, 0o644, "tm_other")
	config := []string{"TEAMMEM_CONFIG_DIR", p.Config}
	for _, c := range []struct {
		name, token string
		env, flags  []string
	}{
		{"saved by login", "tm_saved", nil, nil},
		{"a file in the environment", "tm_other", []string{"TEAMMEM_TOKEN_FILE", other}, nil},
		{"a token in the environment", "tm_env", []string{"TEAMMEM_TOKEN", "tm_env\n", "TEAMMEM_TOKEN_FILE", other}, nil},
		{"the flag", "tm_file", []string{"TEAMMEM_TOKEN", "tm_env"}, []string{file}},
	} {
		e := env("", append(c.env, config...)...)
		flags := map[string]string{}
		if c.flags != nil {
			flags["token-file"] = c.flags[0]
		}
		s, err := e.Settings(flags)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Credential(p, s, acme)
		if err != nil || got.Token != c.token {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		if warned := got.Warning != ""; warned != (c.token == "tm_other" && runtime.GOOS != "windows") {
			t.Errorf("%s: warning %q", c.name, got.Warning)
		}
	}
	s, _ := env("", config...).Settings(nil)
	if _, err := env("").Credential(p, s, "https://another.example"); !errors.Is(err, ErrNoToken) || !strings.Contains(err.Error(), "client login") {
		t.Errorf("another server: %v", err)
	}
	// A container with a token and nothing else.
	if got, err := env("", "TEAMMEM_TOKEN", "tm_ci").Credential(Paths{}, Settings{}, acme); err != nil || got.Token != "tm_ci" {
		t.Errorf("no home: %v, %v", got, err)
	}
}

func TestNoErrorShowsAToken(t *testing.T) {
	dir := t.TempDir()
	secret := "tm_" + strings.Repeat("s3cr3t", 4)
	p := Paths{Config: dir}
	write(t, filepath.Join(dir, "credentials.json"), 0o600, `{"format":1,"tokens":{"`+acme+`":"`+secret+`"}}`)
	_, _, damaged := p.Token(acme)
	write(t, filepath.Join(dir, "credentials.json"), 0o600, `{"format":1,"tokens":{"`+acme+`":{"token":"`+secret+` `+secret+`"}}}`)
	_, _, spaced := p.Token(acme)
	write(t, filepath.Join(dir, "credentials.json"), 0o600, secret)
	_, _, bare := p.Token(acme)
	file := filepath.Join(dir, "token")
	write(t, file, 0o600, secret+"\x00"+secret)
	_, _, nul := TokenFromFile(file)
	write(t, file, 0o600, "\n"+secret)
	_, _, empty := TokenFromFile(file)
	write(t, file, 0o600, strings.Repeat(secret, 1000))
	_, _, long := TokenFromFile(file)
	_, directory := os.ReadFile(dir)
	for n, err := range []error{damaged, spaced, bare, nul, empty, long, directory, p.SaveToken(acme, secret+" x")} {
		if err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%d: %v", n, err)
		}
	}
	c := Credential{Token: secret, Source: "TEAMMEM_TOKEN"}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "credential", c)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, &c), log.String()} {
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("shown: %s", text)
		}
	}
}

func FuzzReadToken(f *testing.F) {
	f.Add("tm_x\n")
	f.Add("\uFEFFtm_x\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ReadToken(strings.NewReader(text))
		if err == nil && (token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })) {
			t.Fatalf("%q", token)
		}
	})
}

package main

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// buildClient builds the client once, for the scripts that need both programs.
func buildClient(dir string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		program := filepath.Join(dir, "client")
		out, err := exec.Command("go", "build", "-o", program, "../client").CombinedOutput()
		if err != nil {
			return "", &exec.Error{Name: string(out), Err: err}
		}
		return dir, nil
	})
}

// runClient runs the client as exec would.
func runClient(ts *testscript.TestScript, neg bool, args []string) {
	if err := ts.Exec("client", args...); (err != nil) != neg {
		ts.Fatalf("client %s: %v", args[0], err)
	}
}

// plant makes a secret that no other run has and writes it alone into a file, and as
// "token: SECRET" into others: plant SECRETFILE FILE…
func plant(ts *testscript.TestScript, _ bool, args []string) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	secret := []byte("ghp_")
	for range 36 {
		secret = append(secret, letters[rand.IntN(len(letters))])
	}
	for i, file := range args {
		text := secret
		if i > 0 {
			text = []byte("# Deploying\n\ntoken: " + string(secret) + "\n")
		}
		ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(file)), 0o755))
		ts.Check(os.WriteFile(ts.MkAbs(file), text, 0o600))
	}
}

// nothingOf checks that eight bytes in a row of a planted secret stand in none of the
// files named, in directories at any depth, read raw; with ! that they do in each.
// stdout and stderr are those of the last command. nothing-of SECRETFILE WHERE…
func nothingOf(ts *testscript.TestScript, neg bool, args []string) {
	secret := strings.TrimPrefix(ts.ReadFile(args[0]), "ghp_")
	holds := func(content []byte) bool {
		for i := 0; i+8 <= len(secret); i++ {
			if bytes.Contains(content, []byte(secret[i:i+8])) {
				return true
			}
		}
		return false
	}
	for _, where := range args[1:] {
		var in []string
		if where == "stdout" || where == "stderr" {
			if holds([]byte(ts.ReadFile(where))) {
				in = append(in, where)
			}
		} else {
			ts.Check(filepath.WalkDir(ts.MkAbs(where), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				content, err := os.ReadFile(path)
				if holds(content) {
					in = append(in, path)
				}
				return err
			}))
		}
		if found := len(in) > 0; found != neg {
			ts.Fatalf("eight bytes of the secret stand in %s: %v %v", where, found, in)
		}
	}
}

// take puts what the first group of a pattern matches in a file into a variable:
// take NAME FILE PATTERN.
func take(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(found) < 2 {
		ts.Fatalf("%s does not match %s", args[1], args[2])
	}
	ts.Setenv(args[0], found[1])
}

// copyTree copies a directory's files: copy-tree FROM TO.
func copyTree(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
}

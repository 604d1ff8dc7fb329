package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/server/servertest"
)

func TestMain(m *testing.M) {
	program := func(env func() config.Env) func() {
		return func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(int(run(ctx, os.Args[1:], env(), os.Stdin, os.Stdout, os.Stderr)))
		}
	}
	testscript.Main(m, map[string]func(){
		// A client on a system whose services are launchd's.
		"mac": program(func() config.Env {
			env := config.OSEnv()
			env.OS = "darwin"
			return env
		}),
		"client": program(config.OSEnv),
		// A client whose user the system does not know, as in a container.
		"homeless": program(func() config.Env {
			env := config.OSEnv()
			env.Home = ""
			return env
		}),
	})
}

// TestScripts runs testdata/script against a real server. Each script has an
// organization of its own, with tokens in the files dana.token, lee.token (members),
// vic.token (viewer), max.token, mia.token (maintainers), ada.token (admin), and
// TEAMMEM_SERVER set. The script tls has a server of its own,
// TLS_SERVER, whose certificate is in TLS_CA.
func TestScripts(t *testing.T) {
	box, secure := servertest.Start(t), servertest.Start(t, servertest.WithTLS())
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			org, at := organizationOf(env.WorkDir), box
			if org == "script-tls" {
				at = secure
			}
			for user, role := range map[string]api.Role{"dana": api.Member, "lee": api.Member, "vic": api.Viewer, "max": api.Maintainer, "mia": api.Maintainer, "ada": api.Admin} {
				token := at.TokenOf(org, user, role)
				if err := os.WriteFile(filepath.Join(env.WorkDir, user+".token"), []byte(token+"\n"), 0o600); err != nil {
					return err
				}
			}
			env.Setenv("TEAMMEM_SERVER", box.URL)
			env.Setenv("TLS_SERVER", secure.URL)
			env.Setenv("TLS_CA", secure.CAFile)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TZ", "UTC")
			env.Setenv("HOMELESS", filepath.Join(binDir(env), "homeless"))
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status":       checkStatus,
			"await":        await,
			"await-status": awaitStatus,
			"lines":        jsonLines,
			"secret-event": secretEvent,
			"write-event":  writeEvent,
			"await-pull":   awaitPull,
			"ask":          func(ts *testscript.TestScript, _ bool, args []string) { ask(ts, box, args) },
			"review":       func(ts *testscript.TestScript, _ bool, args []string) { review(ts, box, args) },
			"expiring":     func(ts *testscript.TestScript, _ bool, args []string) { expiring(ts, box, args) },
			"rename":       func(ts *testscript.TestScript, _ bool, args []string) { rename(ts, box, args) },
			"revoke":       func(ts *testscript.TestScript, _ bool, args []string) { revoke(ts, box, args[0]) },
		},
	})
}

// binDir is where the programs of the scripts lie, for those that run them without a
// PATH.
func binDir(env *testscript.Env) string {
	first, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
	return first
}

// checkStatus runs a command and checks its exit status: status 4 client sync …
func checkStatus(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// await waits until a file holds a text, or with ! until it does not exist.
func await(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		if neg && os.IsNotExist(err) || !neg && err == nil && strings.Contains(string(content), args[1]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s", fmt.Sprint("not in time: ", args, " holds ", string(content)))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// awaitStatus waits until client status of a directory says a text: await-status
// TEXT DIR.
func awaitStatus(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		_ = ts.Exec("client", "status", "--dir", args[1])
		if shown := ts.ReadFile("stdout"); strings.Contains(shown, args[0]) {
			return
		} else if time.Now().After(deadline) {
			ts.Fatalf("not in time: %q; the status is %s", args[0], shown)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// secretEvent makes event.json, in which an agent writes a secret into a file:
// secret-event AGENT FIELD PATH.
func secretEvent(ts *testscript.TestScript, _ bool, args []string) {
	event(ts, map[string]any{args[1]: args[2], "content": "token gh" + "p_" + rand.Text() + rand.Text()[:10] + "\n"})
}

// writeEvent makes event.json, in which an agent has written a file: write-event PATH.
func writeEvent(ts *testscript.TestScript, _ bool, args []string) {
	event(ts, map[string]any{"file_path": args[0], "content": ""})
}

func event(ts *testscript.TestScript, input map[string]any) {
	content, err := json.Marshal(map[string]any{"session_id": "one", "cwd": ts.MkAbs("."), "tool_name": "write_file", "tool_input": input})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("event.json"), content, 0o600))
}

// awaitPull pulls until a file is there: await-pull DIR NAME.
func awaitPull(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		_ = ts.Exec("client", "pull", "--quiet", "--dir", args[0])
		if _, err := os.Stat(filepath.Join(args[0], args[1])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not arrive in %s", args[1], args[0])
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// revoke takes a user's tokens back at the server, and waits until that holds:
// revoke USER.
func revoke(ts *testscript.TestScript, box *servertest.Server, user string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	org, err := box.Store().Organization(ctx, organizationOf(ts.Getenv("WORK")))
	ts.Check(err)
	tokens, err := box.Store().Tokens(ctx, org.ID)
	ts.Check(err)
	for _, token := range tokens {
		if token.UserName == user {
			ts.Check(box.Store().RevokeToken(ctx, org.ID, token.UID, time.Now()))
		}
	}
	for ts.Exec("client", "whoami", "--token-file", user+".token") == nil {
		if ctx.Err() != nil {
			ts.Fatalf("the token of %s is still taken", user)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// organizationOf is the organization of one script.
func organizationOf(workDir string) string { return strings.ToLower(filepath.Base(workDir)) }

// jsonLines checks that every line of a file is one JSON object: lines FILE.
func jsonLines(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%q is no object: %v", line, err)
		}
	}
}

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammem/devoidc"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"server": main})
}

// The scripts in testdata/script show the command as people use it. Beside the
// commands of testscript they have:
//
//	serve ARGS…                start a server in the background, on a free port; $URL is its address
//	stop                       end it as Ctrl-C does, and wait; it must end well
//	ask STATUS TOKENFILE PATH  send a GET with a token until the answer has STATUS, for a second at most
//	client ARGS…               the client, where a script's name begins with leak
//	plant, nothing-of, take, copy-tree  see leak_test.go
//	look-at FILE STATUS        open the sign-in link in FILE; the page is page.html
//	press FILE STATUS          press the button of its page
//	secret-of FILE             $SECRET is the link's secret
//	provider                   start an identity provider; $ISSUER is its address
//	sign-in USER STATUS        sign USER of the provider in with a browser of their own
//	certificate LIFE CERT KEY  make a certificate for localhost that holds from an hour ago on
//	await-audit PATTERN        wait until a record of the audit trail matches
func TestScripts(t *testing.T) {
	client := buildClient(t.TempDir())
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("TEAMMEM_DATA", filepath.Join(env.WorkDir, "data"))
			env.Setenv("HOME", env.WorkDir)
			env.Values[background{}] = &background{}
			if strings.HasPrefix(filepath.Base(env.WorkDir), "script-leak") {
				dir, err := client()
				if err != nil {
					return err
				}
				env.Setenv("PATH", env.Getenv("PATH")+string(filepath.ListSeparator)+dir)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve": serve,
			"stop":  stop,
			"ask":   ask,

			"client":      runClient,
			"plant":       plant,
			"nothing-of":  nothingOf,
			"take":        take,
			"copy-tree":   copyTree,
			"certificate": makeCertificate,
			// signin_test.go has these.
			"look-at":     lookAt,
			"press":       press,
			"secret-of":   secretOf,
			"provider":    startProvider,
			"sign-in":     signIn,
			"await-audit": awaitAudit,
			"await-scan":  awaitScan,
		},
	})
}

// background is a script's server.
type background struct {
	process *os.Process
	ended   chan error
	// provider is where people sign in, where a script has one.
	provider *devoidc.Box
}

// logFile is where a script's server writes; scripts may read it.
const logFile = "server.log"

var listening = regexp.MustCompile(`(?m)^teammem server listening on (\S+)$`)

func serve(ts *testscript.TestScript, _ bool, args []string) {
	log, err := os.Create(ts.MkAbs(logFile))
	ts.Check(err)
	program := filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "server")
	cmd := exec.Command(program, append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), log
	for _, name := range []string{"PATH", "HOME", "TEAMMEM_DATA", "TEAMMEM_LOG_FORMAT"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	b := ts.Value(background{}).(*background)
	b.process, b.ended = cmd.Process, make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = log.Close()
		b.ended <- err
	}()
	ts.Defer(func() { _ = cmd.Process.Kill() })
	poll(ts, 30*time.Second, func() error {
		text := ts.ReadFile(logFile)
		found := listening.FindStringSubmatch(text)
		if found == nil {
			return fmt.Errorf("the server does not start: %s", text)
		}
		ts.Setenv("URL", found[1])
		return nil
	})
}

func stop(ts *testscript.TestScript, _ bool, _ []string) {
	b := ts.Value(background{}).(*background)
	ts.Check(b.process.Signal(os.Interrupt))
	select {
	case err := <-b.ended:
		ts.Check(err)
	case <-time.After(30 * time.Second):
		ts.Fatalf("the server does not end")
	}
}

// ask asks for a path until the answer has the status, for a second at the most: ask
// STATUS TOKENFILE PATH [BODYFILE]. A body is put there, with the number of the try in
// place of {n}, so that each brings something new.
func ask(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: ask STATUS TOKENFILE PATH [BODYFILE]")
	}
	tries := 0
	token := strings.TrimSpace(ts.ReadFile(args[1]))
	poll(ts, time.Second, func() error {
		tries++
		method, body := http.MethodGet, ""
		if len(args) == 4 {
			method, body = http.MethodPut, strings.ReplaceAll(ts.ReadFile(args[3]), "{n}", fmt.Sprint(tries))
		}
		r, err := http.NewRequest(method, ts.Getenv("URL")+args[2], strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil {
			return err
		}
		if got := fmt.Sprint(answer.StatusCode); got != args[0] {
			return fmt.Errorf("status %s, want %s", got, args[0])
		}
		return nil
	})
}

// poll repeats try until it works.
func poll(ts *testscript.TestScript, most time.Duration, try func() error) {
	deadline := time.Now().Add(most)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/devoidc"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/signon"
)

// tokenLife is how long the provider's tokens hold here.
const tokenLife = 6 * time.Second

// signInBox is a script's server and provider.
type signInBox struct {
	provider  *devoidc.Box
	server    *servertest.Server
	confirmed time.Time // when the person confirmed last
	token     string    // kept by keep-token
}

// TestSignIn runs the scripts in testdata/signin: the real client, a real provider and
// a real server. Beside the commands of testscript they have
//
//	login-as USER      client login, confirmed by USER at the provider
//	login-in-browser U client login --browser, through a real Chromium; U refuse: denied
//	outlive            wait until the token that is saved needs the next one
//	five COMMAND…      run it five times at once; all must succeed
//	still-signed-in    the saved refresh token is the one that the provider would take
//	end-at-provider U  all that the provider gave U ends, and the token at the server
//	keep-token         remember the token, for refused-token
//	refused-token      the server refuses the token that was kept
//	within DURATION    since the last confirmation
func TestSignIn(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "signin"),
		Setup: func(env *testscript.Env) error {
			box, err := devoidc.Start("", devoidc.Config{
				TokenLife: tokenLife,
				Clients:   []devoidc.Client{{ID: "teammem", Redirects: []string{"http://127.0.0.1/callback"}}},
				Users: []devoidc.User{
					{Subject: "sub-dana", Name: "dana", Email: "dana@acme.example", Verified: true},
					// A stranger who is called the same, with an address that nobody checked.
					{Subject: "sub-mallory", Name: "mallory", Email: "mallory@acme.example"},
				},
			}, nil)
			if err != nil {
				return err
			}
			t.Cleanup(box.Stop)
			srv := servertest.Start(t, servertest.Configured(func(c *server.Config) {
				c.Providers = []provider.Config{{Issuer: box.Issuer, ClientID: "teammem"}}
				c.SignOn.Join = []signon.Rule{{Kind: "domain", Name: "acme.example", Organization: server.FirstOrganization, Role: api.Member}}
			}))
			env.Values[signInBox{}] = &signInBox{provider: box, server: srv}
			for name, value := range map[string]string{
				"HOME": env.WorkDir, "TEAMMEM_CONFIG_DIR": filepath.Join(env.WorkDir, "config"), "TEAMMEM_STATE_DIR": filepath.Join(env.WorkDir, "state"),
				"TEAMMEM_SERVER": srv.URL, config.EnvKeyring: "off", "BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": "",
			} {
				env.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"login-in-browser": loginInBrowser, "await": await, "await-pull": awaitPull, "await-status": awaitStatus,
			"login-as": loginAs, "outlive": outlive, "five": five, "still-signed-in": stillSignedIn,
			"end-at-provider": endAtProvider,
			"keep-token":      func(ts *testscript.TestScript, _ bool, _ []string) { signInOf(ts).token = savedGrant(ts).Token },
			"refused-token":   refusedToken,
			"within":          within,
		},
	})
}

func signInOf(ts *testscript.TestScript) *signInBox { return ts.Value(signInBox{}).(*signInBox) }

func savedGrant(ts *testscript.TestScript) config.Grant {
	grant, ok, err := config.Paths{Config: ts.Getenv("TEAMMEM_CONFIG_DIR")}.Grant(signInOf(ts).server.URL)
	ts.Check(err)
	if !ok {
		ts.Fatalf("there is no sign-in")
	}
	return grant
}

var userCode = regexp.MustCompile(`and confirm\s+(\S+)`)

// loginAs confirms the code as soon as it is shown, as a person at the provider does.
func loginAs(ts *testscript.TestScript, neg bool, args []string) {
	b, shown := signInOf(ts), &lockedBuffer{}
	done := make(chan struct{})
	confirmed := make(chan struct{})
	go func() {
		defer close(confirmed)
		for {
			if found := userCode.FindStringSubmatch(shown.String()); found != nil {
				b.confirmed = time.Now()
				_ = b.provider.Confirm(found[1], args[0], true)
				return
			}
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	stdout := &lockedBuffer{}
	cmd := clientCommand(ts, "login")
	cmd.Stdout, cmd.Stderr = stdout, shown
	err := cmd.Run()
	close(done)
	<-confirmed
	// The script looks at what was said by stdout and stderr.
	ts.Check(os.WriteFile(ts.MkAbs("login.out"), []byte(stdout.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("login.err"), []byte(shown.String()), 0o600))
	if (err == nil) == neg {
		ts.Fatalf("login: %v\n%s", err, shown.String())
	}
}

// clientCommand is the client with the script's environment.
func clientCommand(ts *testscript.TestScript, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "client"), args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TEAMMEM_CONFIG_DIR", "TEAMMEM_STATE_DIR", "TEAMMEM_SERVER", config.EnvKeyring} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// lockedBuffer is written by a process and read meanwhile.
type lockedBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func outlive(ts *testscript.TestScript, _ bool, _ []string) {
	<-time.After(time.Until(savedGrant(ts).Expires.Add(-tokenLife / 4)))
}

func five(ts *testscript.TestScript, _ bool, args []string) {
	asked := signInOf(ts).provider.Asked("/oauth/token")
	fails := make(chan string, 5)
	for range cap(fails) {
		go func() {
			out, err := clientCommand(ts, args[1:]...).CombinedOutput()
			if err == nil {
				out = nil
			}
			fails <- string(out)
		}()
	}
	for range cap(fails) {
		if said := <-fails; said != "" {
			ts.Logf("one of five: %s", said)
			defer ts.Fatalf("one of five failed")
		}
	}
	if n := signInOf(ts).provider.Asked("/oauth/token") - asked; n != 1 {
		ts.Fatalf("the token was refreshed %d times", n)
	}
}

func stillSignedIn(ts *testscript.TestScript, _ bool, _ []string) {
	if !signInOf(ts).provider.Alive(savedGrant(ts).Refresh) {
		ts.Fatalf("the refresh token that is saved does not hold any more")
	}
}

// endAtProvider leaves nothing that holds. The token itself would be good for its time
// and the leeway of the clocks, which no test waits for.
func endAtProvider(ts *testscript.TestScript, _ bool, args []string) {
	b := signInOf(ts)
	b.provider.EndAll("sub-" + args[0])
	r, err := http.NewRequest(http.MethodDelete, b.server.URL+api.PathSession, nil)
	ts.Check(err)
	r.Header.Set("Authorization", "Bearer "+savedGrant(ts).Token)
	answer, err := http.DefaultClient.Do(r)
	ts.Check(err)
	ts.Check(answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		ts.Fatalf("ending the token is answered %d", answer.StatusCode)
	}
}

func refusedToken(ts *testscript.TestScript, _ bool, _ []string) {
	b := signInOf(ts)
	r, err := http.NewRequest(http.MethodGet, b.server.URL+api.PathWhoAmI, nil)
	ts.Check(err)
	r.Header.Set("Authorization", "Bearer "+b.token)
	answer, err := http.DefaultClient.Do(r)
	ts.Check(err)
	ts.Check(answer.Body.Close())
	if answer.StatusCode != http.StatusUnauthorized {
		ts.Fatalf("the token that was signed out is answered %d", answer.StatusCode)
	}
}

func within(ts *testscript.TestScript, _ bool, args []string) {
	most, err := time.ParseDuration(args[0])
	ts.Check(err)
	took := time.Since(signInOf(ts).confirmed)
	ts.Logf("from the confirmation to the end of the first sync: %s", took)
	if took > 10*most {
		// A shared machine may be slow; ten times over is no noise.
		ts.Fatalf("it took %s", took)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/metrics"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/signin"
)

// target is what a command works on: a memory directory, the repo it belongs to,
// the server, and the token, each with where it came from.
type target struct {
	metrics  *metrics.Set // nil: nobody asks
	env      config.Env
	paths    config.Paths
	settings config.Settings
	project  project.Project
	dir      string // memory directory, absolute; "" when none is known
	dirFrom  string
	repo     api.RepoSlug
	repoFrom string
	server   string // base address
	origin   string
	named    bool // the repo was named by a flag, the environment or the file

	// passing says that the command can do without a place for state: it makes one
	// for itself then, passingState, see [app.dropState].
	passing      bool
	passingState string

	keeping sync.Once
	keeper  *signin.Keeper
}

// target finds out what the command works on. Nothing is asked of the server and
// nothing is made. A missing server, repo or directory is no error here; the need…
// methods say so to the commands that cannot do without.
func (a *app) target(args []string) (*target, error) {
	flags := map[string]string{}
	for name, value := range a.settingFlags() {
		flags[name] = value
	}
	if len(args) > 0 {
		if dir, ok := flags[string(config.Dir)]; ok && dir != args[0] {
			return nil, usagef("the directory is named twice: %s and --dir %s", args[0], dir)
		}
		flags[string(config.Dir)] = args[0]
	}
	t := &target{env: a.env}
	var err error
	if t.paths, err = a.env.Paths(); err != nil {
		return nil, asUsage(err)
	}
	if t.settings, err = a.env.Settings(flags); err != nil {
		return nil, asUsage(err)
	}
	if t.settings.Text(config.Server) != "" {
		if t.server, err = t.settings.BaseURL(); err != nil {
			return nil, asUsage(err)
		}
		if t.origin, err = t.settings.Origin(); err != nil {
			return nil, asUsage(err)
		}
	}
	return t, t.place()
}

// place finds the directory and the repo.
func (t *target) place() (err error) {
	if t.project, err = project.FindWith(t.env, t.env.Dir, t.projectOptions()); err != nil {
		return err
	}
	t.dir, t.dirFrom = t.project.TeamDir, "the project's team directory"
	if v := t.settings.Get(config.Dir); v.IsSet() {
		if t.dir, err = t.env.Abs(v.Value); err != nil {
			return asUsage(err)
		}
		t.dirFrom = v.Source
	}
	t.repo, t.repoFrom = t.project.Repo, "the git remote "+t.project.Remote
	if v := t.settings.Get(config.Repo); v.IsSet() {
		if t.repo, err = api.ParseRepoSlug(v.Value); err != nil {
			return asUsage(err)
		}
		t.repoFrom, t.named = v.Source, true
		return nil
	}
	if t.repo == "" {
		return t.rememberedRepo()
	}
	return nil
}

func (t *target) projectOptions() project.Options {
	return project.Options{
		SeparateWorktrees: t.settings.SeparateWorktrees(),
		AgentSettings:     t.settings.Text(config.AgentSettings),
		TrustSettings:     t.settings.Text(config.TrustSettings),
	}
}

// rememberedRepo takes the repo that the directory was enrolled for, where
// neither a person nor a remote names one.
func (t *target) rememberedRepo() error {
	if t.dir == "" || t.paths.Projects() == "" {
		return nil
	}
	enrolled, ok, err := project.NewRegistry(t.paths.Projects()).ByDir(config.Resolve(t.dir))
	if err != nil || !ok {
		return err
	}
	t.repo, t.repoFrom, t.named = enrolled.Repo, "the directory's enrolment", true
	return nil
}

func (t *target) needServer() error {
	if t.server == "" {
		return &usageError{
			err:  errors.New("no server is named"),
			hint: "name it with --server https://…, TEAMMEM_SERVER, or log in: client login --server https://…",
		}
	}
	return nil
}

func (t *target) needRepo() error {
	if t.repo != "" {
		return nil
	}
	why := "this directory is not in a git checkout"
	if t.project.Git {
		why = "this checkout has no remote that names a repo"
	}
	return &usageError{err: fmt.Errorf("no repo: %s", why), hint: "name it: --repo owner/repo"}
}

func (t *target) needDir() error {
	if t.dir == "" {
		return &usageError{err: errors.New("no memory directory is known"), hint: "name it: --dir DIR"}
	}
	return nil
}

// token finds the token for the server.
func (t *target) token() (config.Credential, error) {
	return t.env.Credential(t.paths, t.settings, t.origin)
}

// remoteOptions are how the server is spoken to. The token is looked up anew for
// each request, so that a login holds at once for a client that runs.
func (t *target) remoteOptions() remote.Options {
	return remote.Options{
		Server: t.server,
		Token: func() string {
			credential, err := t.token()
			switch {
			case err != nil:
				return ""
			case credential.Grant != nil:
				return t.keep().Token(context.Background(), *credential.Grant)
			}
			return credential.Token
		},
		CAFile:       t.settings.Text(config.CA),
		Organization: t.settings.Text(config.Org),
		ClientName:   machineName(),
		UserAgent:    fmt.Sprintf("teammem-client/%s (%s; %s)", version, runtime.GOOS, runtime.GOARCH),
	}
}

// keep keeps the sign-in for the server fresh. Of one target it is always the same,
// so that a provider that does not answer is left alone for a while.
func (t *target) keep() *signin.Keeper {
	t.keeping.Do(func() {
		client, err := remote.NewHTTP(t.settings.Text(config.CA))
		if err != nil {
			client, _ = remote.NewHTTP("") // the server itself says what is wrong with the file
		}
		t.keeper = signin.NewKeeper(t.paths, t.origin, client, time.Now)
	})
	return t.keeper
}

func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// stateDir is where the state of the directory is kept.
func (t *target) stateDir() (string, error) {
	if dir := t.paths.DirState(t.dir); dir != "" {
		return dir, nil
	}
	return "", &usageError{err: config.ErrNoPlace, hint: "set TEAMMEM_STATE_DIR"}
}

// clientConfig is the session's configuration for this target.
func (t *target) clientConfig() (client.Config, error) {
	for _, need := range []func() error{t.needServer, t.needDir, t.needRepo} {
		if err := need(); err != nil {
			return client.Config{}, err
		}
	}
	if _, err := t.token(); err != nil {
		return client.Config{}, err
	}
	stateDir, err := t.stateDir()
	if errors.Is(err, config.ErrNoPlace) && t.passing {
		stateDir, err = os.MkdirTemp("", "teammem-state-")
		t.passingState = stateDir
	}
	if err != nil {
		return client.Config{}, err
	}
	cfg := client.DefaultConfig
	cfg.Dir, cfg.StateDir, cfg.Repo, cfg.Remote, cfg.Version = t.dir, stateDir, t.repo, t.remoteOptions(), version
	cfg.Debounce = t.settings.Debounce()
	if file := t.settings.Text(config.MetricsIn); file != "" || t.settings.Text(config.Metrics) != "" {
		t.metrics = metrics.New(version, runtime.Version())
		cfg.Metrics, cfg.MetricsFile = t.metrics, file
	}
	cfg.Propagate = t.settings.Text(config.Deletes) == "propagate"
	return cfg, nil
}

// enrolment is what the registry is to remember of the target.
func (t *target) enrolment() project.Enrolment {
	root := t.project.Root
	if t.settings.Get(config.Dir).IsSet() && filepath.Clean(t.dir) != filepath.Clean(t.project.TeamDir) {
		root = "" // the directory was named; it need not be this project's
	}
	return project.Enrolment{Root: root, TeamDir: config.Resolve(t.dir), Server: t.origin, Repo: t.repo}
}

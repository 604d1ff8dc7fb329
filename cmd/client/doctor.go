package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/remote"
	"github.com/teammem/teammem/client/state"
	"github.com/teammem/teammem/client/tui"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor [DIR]",
		Short:   "Check everything that syncing needs, with a cure for each fault",
		GroupID: groupLook,
		Long: `Doctor looks at the server, the sign-in, the directory, the watcher and what
waits for a person. It changes nothing.

` + exitHelp,
		Example: `  client doctor
  client doctor --json`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error { return a.doctor(cmd.Context(), args) },
	}
}

// finding is one line of the doctor's.
type finding struct {
	Level tui.Level `json:"level"`
	What  string    `json:"what"`
	Text  string    `json:"text"`
	Cure  string    `json:"cure,omitempty"`
}

// patient is what the doctor looks at, and what was found so far.
type patient struct {
	*target
	term     *tui.Terminal
	findings []finding
	code     exitCode
}

func (p *patient) ok(what, format string, args ...any) {
	p.findings = append(p.findings, finding{tui.OK, what, fmt.Sprintf(format, args...), ""})
}

func (p *patient) warn(what, cure, format string, args ...any) {
	p.findings = append(p.findings, finding{tui.Warn, what, fmt.Sprintf(format, args...), cure})
}

func (p *patient) fail(code exitCode, what, cure, format string, args ...any) {
	p.findings = append(p.findings, finding{tui.Failed, what, fmt.Sprintf(format, args...), cure})
	p.code = worst(p.code, code)
}

func (a *app) doctor(ctx context.Context, args []string) error {
	t, err := a.target(args)
	if err != nil {
		return err
	}
	p := &patient{target: t, term: a.term}
	if p.checkServer(ctx) {
		p.checkSignIn(ctx, a)
	}
	p.checkRepo()
	p.checkDirectory(ctx)
	p.checkState()
	if a.json {
		a.term.Value(p.findings)
	} else {
		var rows []tui.Row
		for _, f := range p.findings {
			rows = append(rows, tui.Row{Level: f.Level, Label: f.What, Text: f.Text, Cure: f.Cure})
		}
		a.term.Rows(rows)
	}
	if p.code != exitDone {
		return &standing{p.code}
	}
	return nil
}

// clockTolerance is how far two clocks may differ before a sign-in suffers.
const clockTolerance = time.Minute

func (p *patient) checkServer(ctx context.Context) (reached bool) {
	if p.server == "" {
		p.fail(exitUsage, "server", "client login --server https://… --token-file FILE", "none is named")
		return false
	}
	server, err := remote.New(p.remoteOptions())
	if err != nil {
		p.fail(exitUsage, "server", "see client where", "%v", err)
		return false
	}
	defer server.Close()
	probe, err := server.Probe(ctx)
	var unreachable *remote.Unreachable
	switch {
	case errors.As(err, &unreachable):
		p.fail(exitUnreachable, "server", unreachable.Hint(), "%v", err)
		return false
	case err != nil:
		p.fail(exitFailed, "server", "is this the address of a teammem server?", "%v", err)
		return false
	}
	text := fmt.Sprintf("%s, version %s, %d ms", p.server, probe.Known.Version, probe.Latency.Milliseconds())
	if probe.Skew.Abs() > clockTolerance {
		p.warn("server", "set the clock of this machine, or the server's", "%s, but its clock differs by %s", text, probe.Skew)
		return true
	}
	p.ok("server", "%s, clocks agree", text)
	return true
}

// expiryNotice is how long before its end a token is spoken of.
const expiryNotice = 7 * 24 * time.Hour

func (p *patient) checkSignIn(ctx context.Context, a *app) {
	credential, err := p.token()
	if err != nil {
		p.fail(exitNotAllowed, "sign-in", "client login --server "+p.server+" --token-file FILE", "%v", err)
		return
	}
	if credential.Warning != "" {
		p.warn("token", "", "%s", credential.Warning)
	}
	server, err := remote.New(p.remoteOptions())
	if err != nil {
		p.fail(exitFailed, "sign-in", "", "%v", err)
		return
	}
	defer server.Close()
	who, err := server.WhoAmI(ctx)
	if err != nil {
		p.fail(a.exit(err), "sign-in", a.hint(err), "%v", err)
		return
	}
	text := fmt.Sprintf("%s, %s of %s", who.User, who.Role, who.Organization)
	if !who.Role.May(api.Write) {
		text += ", who reads and does not push"
	}
	switch {
	case who.Expires == nil:
		p.ok("sign-in", "%s, without expiry", text)
	case time.Until(who.Expires.Time) < expiryNotice:
		p.warn("sign-in", "ask for a new token and log in with it", "%s, until %s", text, who.Expires.Local().Format("2006-01-02 15:04"))
	default:
		p.ok("sign-in", "%s, for %d days more", text, int(time.Until(who.Expires.Time).Hours()/24))
	}
}

func (p *patient) checkRepo() {
	if err := p.needRepo(); err != nil {
		p.fail(exitUsage, "repo", "--repo owner/repo", "%v", err)
		return
	}
	p.ok("repo", "%s, from %s", p.repo, p.repoFrom)
}

func (p *patient) checkDirectory(ctx context.Context) {
	if p.dir == "" {
		p.fail(exitUsage, "directory", "--dir DIR", "none is known")
		return
	}
	if clash, _ := p.clash(); clash != nil {
		p.fail(exitFailed, "directory", clash.Hint(), "%v", clash)
		return
	}
	shown := p.term.Path(p.dir)
	if agents := p.project.TeamDir; agents != "" && config.Resolve(agents) != config.Resolve(p.dir) {
		p.warn("directory", "client sync "+p.term.Path(agents), "the agent of this project uses %s, you sync %s", p.term.Path(agents), shown)
	}
	if !p.project.Agent {
		p.warn("agent", "see client where", "the agent's auto memory is switched off here")
	}
	dir, err := memdir.Open(p.dir)
	if errors.Is(err, memdir.ErrGone) && !p.wasSynced() {
		p.fail(exitFailed, "directory", "client sync makes it", "%s is not there yet", shown)
		return
	}
	if err != nil {
		p.fail(exitFailed, "directory", "put it back, or begin anew: client sync --once --accept", "%v", err)
		return
	}
	defer func() { _ = dir.Close() }()
	listing, err := dir.Scan(ctx, time.Now(), api.DefaultLimits.EntryBytes, func(api.Key) (memdir.File, bool) { return memdir.File{}, false })
	if err != nil {
		p.fail(exitFailed, "directory", "", "%v", err)
		return
	}
	left := 0
	for _, l := range listing.Left {
		if !l.Quiet {
			left++
			name, _ := guard.Name(p.judgeOfNames(), l.Name)
			p.warn("file", "", "%s %s", tui.Escape(name), l.Detail)
		}
	}
	p.ok("directory", "%s, %s", shown, tui.Count(len(listing.Files), "file", "files"))
	p.checkWritable(listing)
	p.checkWatcher(len(listing.Dirs), dir.Locked())
	if dir.Locked() {
		p.ok("client", "one is at work here")
	} else {
		p.warn("client", "client sync", "none is at work here: nothing is synced by itself")
	}
}

// checkWritable looks at every folder, since a file is replaced in its own.
func (p *patient) checkWritable(listing memdir.Listing) {
	for _, sub := range append([]string{"."}, listing.Dirs...) {
		path := filepath.Join(p.dir, filepath.FromSlash(sub))
		if err := writable(path); err != nil {
			p.fail(exitFailed, "permissions", "chmod u+rwx "+p.term.Path(path), "%s cannot be written: %v", p.term.Path(path), err)
			return
		}
	}
}

// watchLimit is where Linux keeps the number of folders a user may watch.
const watchLimit = "/proc/sys/fs/inotify/max_user_watches"

// checkWatcher says what the watcher of a client at work told, or what one would meet.
func (p *patient) checkWatcher(folders int, running bool) {
	if w := p.lastPulse().Watch; running && w.Why != "" {
		p.warn("watcher", "changes are found by looking through the directory every few seconds until then", "%s: %s", w.Mode, w.Why)
		return
	}
	text, err := os.ReadFile(watchLimit)
	if err != nil {
		return // another system
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return
	}
	if folders >= limit {
		p.warn("watcher", "sysctl fs.inotify.max_user_watches=65536", "%s of %s folders allowed: the directory is looked through now and then instead", tui.Number(folders), tui.Number(limit))
		return
	}
	p.ok("watcher", "inotify, %s of %s allowed", tui.Count(folders, "folder", "folders"), tui.Number(limit))
}

// lastPulse is what a client last said of its rounds; one that cannot be read says
// nothing.
func (p *patient) lastPulse() state.Pulse {
	path, err := p.stateDir()
	if err != nil {
		return state.Pulse{}
	}
	store, err := state.Open(path)
	if err != nil {
		return state.Pulse{}
	}
	return store.LastPulse()
}

// wasSynced says whether the directory was ever in agreement with a server.
func (p *patient) wasSynced() bool {
	path, err := p.stateDir()
	if err != nil {
		return false
	}
	store, err := state.Open(path)
	if err != nil {
		return false
	}
	agreed, err := store.Load()
	return err != nil || agreed.MarkerID != ""
}

func (p *patient) checkState() {
	path, err := p.stateDir()
	if err != nil {
		p.fail(exitFailed, "state", "set TEAMMEM_STATE_DIR", "%v", err)
		return
	}
	store, err := state.Open(path)
	if err != nil {
		p.fail(exitFailed, "state", "", "%v", err)
		return
	}
	agreed, err := store.Load()
	if err != nil {
		p.warn("state", "nothing is lost; the next sync compares everything anew", "%v", err)
		return
	}
	p.checkLastSync(agreed, store.LastPulse())
	stands, _, err := standingOf(agreed, store)
	if err != nil {
		p.fail(exitFailed, "keep", "", "%v", err)
		return
	}
	if n := len(stands.Conflicts); n > 0 {
		p.fail(exitConflicts, "conflicts", "client conflicts", "%s kept", tui.Count(n, "text", "texts"))
	}
	if n := len(stands.SkippedSecrets); n > 0 {
		p.fail(exitHeld, "secrets", "client status", "%s held back", tui.Count(n, "file", "files"))
	}
	for _, r := range stands.Refused {
		p.fail(exitFailed, "refused", "", "%s: %s", tui.Escape(string(r.Key)), r.Message)
	}
}

// checkLastSync looks at when a round last ended well, and at what came since.
func (p *patient) checkLastSync(agreed *state.Agreement, pulse state.Pulse) {
	synced := agreed.Synced
	if pulse.Good.After(synced) {
		synced = pulse.Good
	}
	age := time.Since(synced)
	switch {
	case agreed.Halted != "":
		cure := "client sync --once shows what to do"
		if pulse.Trouble == state.Halted && pulse.Hint != "" {
			cure = pulse.Hint // as it was told when it stopped, with the flags that it needs
		}
		p.fail(exitFailed, "last sync", cure, "%s", agreed.Halted)
	case synced.IsZero():
		p.warn("last sync", "client sync", "never")
	case pulse.Trouble != "":
		p.warn("last sync", pulse.Hint, "%s, and since %s: %s", tui.Age(age), pulse.Since.Local().Format("2006-01-02 15:04"), pulse.Text)
	case age >= quiet:
		p.warn("last sync", "client sync", "%s, version %s", tui.Age(age), tui.Number(agreed.Version))
	default:
		p.ok("last sync", "%s, version %s", tui.Age(age), tui.Number(agreed.Version))
	}
}

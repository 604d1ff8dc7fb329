package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammem/client/config"
	"github.com/teammem/teammem/client/project"
	"github.com/teammem/teammem/client/service"
)

func (a *app) installCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "install [DIR]",
		Short:   "Have this machine keep the directory in sync by itself",
		GroupID: groupSync,
		Long: `Install makes client sync a service of yours, which starts with your session and
again when it ends: a user unit of systemd, or an agent of launchd. It shows the file
that it writes, and asks. Done twice, it changes nothing the second time. Settings
that were given as flags or variables are kept in the file; a token never is.

` + exitHelp,
		Example: `  client install
  client install ~/notes --repo acme/widgets --yes`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error { return a.install(cmd.Context(), args, dryRun) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be written, and write nothing")
	return cmd
}

func (a *app) uninstallCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "uninstall [DIR]",
		Short:   "End the service that install made, and take it away",
		GroupID: groupSync,
		Long: `Uninstall ends the directory's service, and removes what install added: its file,
its log, and the folders that were made for it. The memories, what was agreed with the
server and the sign-in stay.

` + exitHelp,
		Example: `  client uninstall
  client uninstall ~/notes --dry-run`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error { return a.uninstall(cmd.Context(), args, dryRun) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be removed, and remove nothing")
	return cmd
}

// serviceView is a directory's service, as install, uninstall and status tell of it.
type serviceView struct {
	Manager   service.Manager `json:"manager"`
	Name      string          `json:"name"`
	File      string          `json:"file"`
	Dir       string          `json:"dir"`
	Installed bool            `json:"installed"`
	Changed   bool            `json:"changed"`
	// Next is what is left to type, where the manager does not run.
	Next []string `json:"next"`
}

// post is where a directory's service stands or would stand.
type post struct {
	manager service.Manager
	folder  string
	file    string // "" before one is chosen
	text    []byte // of the file; nil where there is none
}

// postOf finds the service of a target's directory.
func (a *app) postOf(t *target) (*post, error) {
	p := &post{manager: service.ManagerOf(a.env.OS)}
	switch {
	case p.manager == "":
		return nil, &usageError{
			err:  fmt.Errorf("no service manager of %s is known to the client", a.env.OS),
			hint: "have client sync started by the system's own means, such as the Task Scheduler",
		}
	case a.env.Home == "":
		return nil, &usageError{err: errors.New("there is no home directory for a service of yours"), hint: "set HOME"}
	}
	p.folder = p.manager.Folder(a.env.Get, a.env.Home)
	found, err := filepath.Glob(filepath.Join(globEscape(p.folder), p.manager.Pattern(config.Resolve(t.dir))))
	if err != nil || len(found) == 0 {
		return p, err
	}
	p.file = found[0]
	p.text, err = os.ReadFile(p.file)
	return p, err
}

// globEscape keeps the characters of a path from being a pattern.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// serviceOf is the service that syncs the target.
func (a *app) serviceOf(t *target, p *post) (service.Service, error) {
	s := service.Service{
		Repo: string(t.repo), Dir: config.Resolve(t.dir), Program: a.program(), WorkDir: a.env.Dir,
		Arguments: []string{"sync", t.dir, "--repo", string(t.repo), "--server", t.server},
	}
	for _, name := range []string{config.EnvConfigDir, config.EnvStateDir} {
		if value := a.env.Get(name); value != "" {
			path, err := a.env.Abs(value)
			if err != nil {
				return s, asUsage(err)
			}
			s.Variables = append(s.Variables, name+"="+path)
		}
	}
	if value := a.env.Get(config.EnvKeyring); value != "" {
		s.Variables = append(s.Variables, config.EnvKeyring+"="+value)
	}
	for _, v := range t.settings.All() {
		given := v.Source == "--"+string(v.Name) || v.Source == v.Name.Variable()
		switch v.Name {
		case config.Dir, config.Repo, config.Server:
		default:
			if given {
				s.Variables = append(s.Variables, v.Name.Variable()+"="+v.Value)
			}
		}
	}
	if p.manager == service.Launchd {
		s.LogFile = filepath.Join(a.env.Home, "Library", "Logs", "teammem", s.Name()+".log")
	}
	s.Made = service.MadeFor(p.text)
	if p.text == nil {
		s.Made = missing(p.folder)
	}
	return s, nil
}

// missing are the folders that have to be made for a path, outermost first.
func missing(path string) []string {
	var folders []string
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); err == nil || filepath.Dir(at) == at {
			return folders
		}
		folders = append([]string{at}, folders...)
	}
}

// mayInstall checks what a service could not be told by a person later.
func (a *app) mayInstall(t *target) error {
	for _, need := range []func() error{t.needServer, t.needDir, t.needRepo} {
		if err := need(); err != nil {
			return err
		}
	}
	credential, err := t.token()
	if err != nil {
		return err
	}
	if credential.Source == config.EnvToken {
		return &usageError{
			err:  fmt.Errorf("the token is in %s, and a service's file is no place for it", config.EnvToken),
			hint: "unset it and log in (client login), or name a file: --token-file FILE",
		}
	}
	return a.mayJoin(t, project.NewRegistry(t.paths.Projects()))
}

func (a *app) install(ctx context.Context, args []string, dryRun bool) error {
	t, err := a.target(args)
	if err != nil {
		return err
	}
	if err := a.mayInstall(t); err != nil {
		return err
	}
	p, err := a.postOf(t)
	if err != nil {
		return err
	}
	s, err := a.serviceOf(t, p)
	if err != nil {
		return err
	}
	text, err := p.manager.Text(s)
	if err != nil {
		return asUsage(err)
	}
	old := *p
	if p.file == "" || service.IsOurs(p.text) {
		p.file = filepath.Join(p.folder, p.manager.File(s))
	} else {
		return &usageError{err: fmt.Errorf("%s was not written by client install", p.file), hint: "move it away first; it was left as it is"}
	}
	view := serviceView{Manager: p.manager, Name: s.Name(), File: p.file, Dir: t.dir, Installed: old.text != nil, Next: []string{}}
	if old.file == p.file && bytes.Equal(old.text, text) {
		if !a.json {
			a.term.Note(fmt.Sprintf("%s is installed already, and nothing has changed", a.term.Path(p.file)))
		}
		return a.takeUp(ctx, s, p, old, dryRun, view)
	}
	if !a.json {
		a.term.Diff(old.file, p.file, string(old.text), string(text))
	}
	if dryRun {
		return a.tellService(view)
	}
	if !a.term.Ask(fmt.Sprintf("Write %s, and start it?", p.file), false) {
		return &usageError{err: fmt.Errorf("%s was not written", p.file), hint: "answer yes, or give --yes"}
	}
	if err := a.replaceService(ctx, p, old, text); err != nil {
		return err
	}
	view.Installed, view.Changed = true, true
	return a.takeUp(ctx, s, p, old, false, view)
}

// replaceService writes the file. One under another name, of the repo's old name, goes
// first, for two services would sync one directory.
func (a *app) replaceService(ctx context.Context, p *post, old post, text []byte) error {
	if old.file != "" && old.file != p.file {
		if _, err := a.letGo(ctx, &old); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(p.folder, 0o755); err != nil {
		return err
	}
	return replaceFile(p.file, text, 0o600)
}

// takeUp has the manager read and start the service, or says what to type.
func (a *app) takeUp(ctx context.Context, s service.Service, p *post, old post, dryRun bool, view serviceView) error {
	if dryRun {
		return a.tellService(view)
	}
	commands := p.manager.Take(s, p.file, view.Changed && old.file == p.file, os.Getuid())
	if !view.Changed && p.manager == service.Launchd {
		commands = nil // bootstrap refuses what is loaded already
	}
	left, err := a.manage(ctx, p.manager, commands)
	if err != nil {
		return err
	}
	view.Next = append(view.Next, left...)
	if !a.json && len(left) == 0 && view.Changed {
		a.term.Note(s.Name() + " runs, and starts with your session")
		if p.manager == service.Systemd {
			a.term.Note("to have it run while you are not logged in: loginctl enable-linger")
		}
	}
	return a.tellService(view)
}

func (a *app) tellService(view serviceView) error {
	if a.json {
		a.term.Value(view)
		return nil
	}
	if len(view.Next) > 0 {
		a.term.Note("the service manager of your session does not answer; where it runs, type:")
		for _, line := range view.Next {
			a.term.Print("  " + line)
		}
	}
	return nil
}

func (a *app) uninstall(ctx context.Context, args []string, dryRun bool) error {
	t, err := a.target(args)
	if err != nil {
		return err
	}
	if err := t.needDir(); err != nil {
		return err
	}
	p, err := a.postOf(t)
	if err != nil {
		return err
	}
	view := serviceView{Manager: p.manager, File: p.file, Dir: t.dir, Installed: p.file != "", Next: []string{}}
	switch {
	case p.file == "":
		if !a.json {
			a.term.Note("no service is installed for " + a.term.Path(t.dir))
		}
		return a.tellService(view)
	case !service.IsOurs(p.text):
		return &usageError{err: fmt.Errorf("%s was not written by client install", p.file), hint: "it was left as it is"}
	}
	view.Name = strings.TrimSuffix(filepath.Base(p.file), filepath.Ext(p.file))
	if !a.json {
		a.term.Diff(p.file, "", string(p.text), "")
	}
	if dryRun {
		return a.tellService(view)
	}
	if !a.term.Ask(fmt.Sprintf("End it, and remove %s?", p.file), false) {
		return &usageError{err: fmt.Errorf("%s was left as it is", p.file), hint: "answer yes, or give --yes"}
	}
	if view.Next, err = a.letGo(ctx, p); err != nil {
		return err
	}
	view.Installed, view.Changed = false, true
	return a.tellService(view)
}

// letGo ends a service and removes what install added. It gives what is left to type.
func (a *app) letGo(ctx context.Context, p *post) ([]string, error) {
	before, after := p.manager.LetGo(p.file, os.Getuid())
	left, err := a.manage(ctx, p.manager, before)
	if err != nil {
		return nil, err
	}
	gone := []string{p.file}
	if p.manager == service.Systemd {
		// systemctl made it, and may not be there any more to remove it.
		if link := service.Wanted(p.file); isLink(link) {
			gone = append(gone, link)
		}
	} else {
		name := strings.TrimSuffix(filepath.Base(p.file), filepath.Ext(p.file))
		log := filepath.Join(a.env.Home, "Library", "Logs", "teammem", name+".log")
		gone = append(gone, log, log+".1")
	}
	for _, file := range gone {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if p.manager == service.Launchd {
		_ = os.Remove(filepath.Join(a.env.Home, "Library", "Logs", "teammem")) // holds the logs of others, unless it was the last
	} else {
		_ = os.Remove(filepath.Dir(service.Wanted(p.file)))
	}
	made := service.MadeFor(p.text)
	for i := len(made) - 1; i >= 0; i-- {
		_ = os.Remove(made[i]) // only an empty folder goes
	}
	if len(left) > 0 {
		return p.manager.Forget(p.file, os.Getuid()), nil
	}
	_, err = a.manage(ctx, p.manager, after)
	return []string{}, err
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// Package project says which project a directory lies in, which repo its memory
// belongs to, and where the agent keeps that memory on this machine.
//
// The rule, in the order of its questions; every answer is kept with its reason for
// `client where`, and the golden table in testdata holds each case:
//
//  1. The start directory is taken with all symbolic links followed, and so is every
//     path below. Two ways to one place are one project.
//  2. The project is the nearest directory upwards that holds a .git, or is itself a
//     bare repository. GIT_DIR is not looked at: it is set for the children of git
//     hooks and of other tools, and a memory must not depend on who started the
//     agent.
//  3. Its root is the working tree of the main checkout: all work trees of a repo
//     share it, so that removing one loses nothing. A work tree is believed only when
//     the repo points back at it, or a downloaded folder could name the repo of
//     another project. A repo without a main checkout is its own root (a bare one).
//     A submodule and a nested repo are projects of their own. Outside git the
//     directory itself is the root.
//  4. The remote is origin, else the only one there is, else the one that the current
//     branch follows; else none, and --repo has to say.
//  5. The repo is owner/repo for github.com, which is what stock clients use there,
//     and host/owner/repo for every other host, so that two hosts never share one
//     memory by accident. Ports are left out: ssh and https have different ones.
//  6. The memory directory is the one the agent uses: see [MemoryDir].
//
// No git program is run and nothing in a repository is trusted: the package reads
// .git by hand, and never takes a directory, an address or a token from committed
// files. It keeps the enrolments ([Registry]) in the client's state directory.
package project

import (
	"fmt"
	"path/filepath"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
)

// Project is where a directory belongs, and how that is known.
type Project struct {
	Root     string // canonical root; all work trees of a repo share it
	Git      bool
	Worktree string // top of the work tree the directory lies in; "" outside git and in a bare repo
	Remote   string // address without user and password; "" without one
	Repo     api.RepoSlug
	Slug     string // name of the project's folder, byte for byte as the agent makes it
	// MemoryDir is the agent's auto-memory directory, and TeamDir the part of it
	// that a team shares. Both are empty where there is no home directory.
	MemoryDir, TeamDir string
	// Agent says whether the agent's auto memory is switched on here.
	Agent bool
	Why   []Reason
	// Rules are all the rules by which the slug, the memory directory and the switch
	// were looked for, in their order, and what became of each.
	Rules []Rule
}

// Reason is one thing that was found out.
type Reason struct {
	What    string `json:"what"`
	Value   string `json:"value"`
	Because string `json:"because"`
}

// Options change the rule.
type Options struct {
	// SeparateWorktrees gives each git work tree a root of its own.
	SeparateWorktrees bool
	// AgentSettings is the settings file that the agent was started with, "" for
	// none. It stands behind the administrator's and before the project's.
	AgentSettings string
	// TrustSettings is the root of the one project whose committed settings the user
	// trusts to name the memory directory, "" for none.
	TrustSettings string
}

// Find says which project dir lies in. It fails only when dir itself cannot be
// resolved; what else is missing is an empty field and a reason.
func Find(env config.Env, dir string) (Project, error) { return FindWith(env, dir, Options{}) }

// FindWith is [Find] with options.
func FindWith(env config.Env, dir string, opts Options) (Project, error) {
	start, err := env.Abs(dir)
	if err != nil {
		return Project{}, fmt.Errorf("find project: %w", err)
	}
	real, err := filepath.EvalSymlinks(start)
	if err != nil {
		return Project{}, fmt.Errorf("find project: %w", err)
	}
	var p Project
	if real != start {
		p.because("directory", real, "symbolic links followed from "+start)
	} else {
		p.because("directory", real, "where one stands, or --dir")
	}
	checkout, found := findCheckout(real)
	if !found {
		p.Root = real
		p.because("root", real, "outside git, the directory itself")
		p.because("repo", "", "outside git; --repo says which")
	} else {
		p.fromGit(env, checkout, opts)
	}
	p.findMemory(env, real, checkout, opts)
	return p, nil
}

func (p *Project) fromGit(env config.Env, c checkout, opts Options) {
	p.Git, p.Worktree = true, c.top
	p.Root = c.root
	why := c.why
	if opts.SeparateWorktrees && c.top != "" && c.top != c.root {
		p.Root, why = c.top, "work trees are separate by the setting"
	}
	p.because("root", p.Root, why)
	remote, why := findRemote(env, c)
	if remote == "" {
		p.because("remote", "", why)
		p.because("repo", "", "no remote; --repo says which")
		return
	}
	p.Remote = displayRemote(remote)
	p.because("remote", p.Remote, why)
	slug, why, err := RepoOf(remote)
	if err != nil {
		p.because("repo", "", fmt.Sprintf("%v; --repo says which", err))
		return
	}
	p.Repo = slug
	p.because("repo", string(slug), why)
}

func (p *Project) because(what, value, because string) {
	p.Why = append(p.Why, Reason{What: what, Value: value, Because: because})
}

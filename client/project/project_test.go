package project

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammem/client/config"
)

var update = flag.Bool("update", false, "write the golden table anew")

// env is an environment of its own, with a home below root.
func env(root string, pairs ...string) config.Env {
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return config.Env{Getenv: func(name string) string { return vars[name] }, Home: filepath.Join(root, "home"), Dir: root, OS: "linux"}
}

// place is an empty, resolved directory.
func place(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// git runs git in a folder, which it makes. The tests make real repositories; the
// code under test reads them by hand.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here to make repositories with")
	}
	mkdir(t, dir)
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", "-c", "user.name=Dana", "-c", "user.email=dana@acme.example"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// repo makes a repository with one commit and a remote.
func repo(t *testing.T, dir, remote string) {
	t.Helper()
	git(t, dir, "init", "-q")
	write(t, filepath.Join(dir, "sub", "x.txt"), "x\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "x")
	if remote != "" {
		git(t, dir, "remote", "add", "origin", remote)
	}
}

const widgets = "git@github.com:Acme/Widgets.git"

// TestGoldenTable is the rule of this package, case by case (BR-60). Run it with
// -update to see what a change of the rule does to it.
func TestGoldenTable(t *testing.T) {
	root := place(t)
	at := func(elem ...string) string { return filepath.Join(append([]string{root}, elem...)...) }
	repo(t, at("widgets"), widgets)
	git(t, at("widgets"), "worktree", "add", "-q", at("trees", "fix"))
	git(t, at("widgets"), "worktree", "add", "-q", at("widgets", ".claude", "worktrees", "feature"))
	repo(t, at("clone"), "https://github.com/acme/widgets")
	repo(t, at("widgets", "vendor", "nested"), "ssh://git@git.example.com:2222/tools/nested.git")
	repo(t, at("library"), "")
	git(t, at("widgets"), "submodule", "--quiet", "add", at("library"), "library")
	git(t, at("widgets", "library"), "remote", "set-url", "origin", "git@gitlab.example.com:group/sub/library.git")
	git(t, at("widgets", "library"), "worktree", "add", "-q", at("trees", "library"))
	git(t, root, "clone", "-q", "--bare", at("widgets"), at("bare", ".bare"))
	git(t, at("bare", ".bare"), "remote", "set-url", "origin", widgets)
	write(t, at("bare", ".git"), "gitdir: ./.bare\n")
	git(t, at("bare"), "worktree", "add", "-q", at("bare", "one"))
	mkdir(t, at("store"))
	git(t, at("elsewhere"), "init", "-q", "--separate-git-dir", at("store", "elsewhere"))
	git(t, at("empty"), "init", "-q")
	mkdir(t, at("plain", "folder"))
	mkdir(t, at("plain", "hollow", ".git"))
	link(t, at("widgets", "sub"), at("link"))
	link(t, at("plain"), at("plainlink"))
	// A downloaded folder that claims to be a work tree of widgets.
	write(t, at("hostile", ".git"), "gitdir: "+at("widgets", ".git", "worktrees", "fix")+"\n")

	var table strings.Builder
	for _, start := range []string{
		"widgets", "widgets/sub", "link", "trees/fix", "trees/fix/sub", "widgets/.claude/worktrees/feature", "widgets/.git", "clone",
		"widgets/vendor/nested", "library", "widgets/library", "trees/library",
		"bare", "bare/one", "bare/.bare", "elsewhere", "empty",
		"plain", "plain/folder", "plain/hollow", "plainlink/folder", "hostile",
	} {
		p, err := Find(env(root), at(filepath.FromSlash(start)))
		if err != nil {
			t.Fatalf("%s: %v", start, err)
		}
		fmt.Fprintf(&table, "%s\n", start)
		for _, why := range p.Why {
			if why.What == "root" || why.What == "remote" || why.What == "repo" {
				value := strings.ReplaceAll(why.Value, root, "$ROOT")
				fmt.Fprintf(&table, "  %-7s %-49s %s\n", why.What, value, strings.ReplaceAll(why.Because, root, "$ROOT"))
			}
		}
		if want := SlugOf(p.Root); p.Slug != want || p.TeamDir != at("home", ".claude", "projects", want, "memory", "team") {
			t.Errorf("%s: slug %s, team directory %s", start, p.Slug, p.TeamDir)
		}
	}
	golden(t, "projects.txt", table.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		write(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference. Got\n%s", path, got)
	}
}

func TestRemovingAWorktreeLosesNothing(t *testing.T) {
	root := place(t)
	main, tree := filepath.Join(root, "widgets"), filepath.Join(root, "fix")
	repo(t, main, widgets)
	git(t, main, "worktree", "add", "-q", tree)
	before, err := Find(env(root), tree)
	if err != nil {
		t.Fatal(err)
	}
	git(t, main, "worktree", "remove", tree)
	after, err := Find(env(root), main)
	if err != nil || after.TeamDir != before.TeamDir {
		t.Errorf("%s, then %s, %v", before.TeamDir, after.TeamDir, err)
	}
}

func TestWorktreesCanBeSeparate(t *testing.T) {
	root := place(t)
	main, tree := filepath.Join(root, "widgets"), filepath.Join(root, "fix")
	repo(t, main, widgets)
	git(t, main, "worktree", "add", "-q", tree)
	p, err := FindWith(env(root), tree, Options{SeparateWorktrees: true})
	if err != nil || p.Root != tree || p.Repo != "acme/widgets" {
		t.Errorf("root %s, repo %s, %v", p.Root, p.Repo, err)
	}
}

// Git's hooks set GIT_DIR for their children; the memory must not follow it.
func TestGitDirIsNotLookedAt(t *testing.T) {
	root := place(t)
	repo(t, filepath.Join(root, "widgets"), widgets)
	repo(t, filepath.Join(root, "other"), "git@github.com:acme/other")
	p, err := Find(env(root, "GIT_DIR", filepath.Join(root, "other", ".git"), "GIT_WORK_TREE", filepath.Join(root, "other")), filepath.Join(root, "widgets"))
	if err != nil || p.Repo != "acme/widgets" {
		t.Errorf("repo %s, %v", p.Repo, err)
	}
}

func TestARelativeWorktreeLinkIsFollowed(t *testing.T) {
	root := place(t)
	main, tree := filepath.Join(root, "widgets"), filepath.Join(root, "fix")
	repo(t, main, widgets)
	git(t, main, "worktree", "add", "-q", tree)
	write(t, filepath.Join(tree, ".git"), "gitdir: ../widgets/.git/worktrees/fix\n")
	write(t, filepath.Join(main, ".git", "worktrees", "fix", "gitdir"), "../../../../fix/.git\n")
	p, err := Find(env(root), tree)
	if err != nil || p.Root != main {
		t.Errorf("root %s, %v", p.Root, err)
	}
}

func TestAMissingDirectoryIsAnError(t *testing.T) {
	if _, err := Find(env(place(t)), "nowhere"); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v", err)
	}
}

func TestSlug(t *testing.T) {
	for root, want := range map[string]string{
		"/home/dana/widgets": "-home-dana-widgets",
		"/p/my_app":          "-p-my-app",
		"/p/my.app":          "-p-my-app",
		"/p/甲乙/app":          "-p----app",
		"/p/丙丁/app":          "-p----app",
		"/p/café":            "-p-caf-",
		"/p/😀":               "-p---", // two halves in UTF-16
		`C:\Users\dana`:      "C--Users-dana",
		"/":                  "-",
		"/a b/c-d":           "-a-b-c-d",
	} {
		if got := SlugOf(root); got != want {
			t.Errorf("%s: %s, want %s", root, got, want)
		}
	}
}

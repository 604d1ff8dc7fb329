package project

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// checkout is a place in a git repository.
type checkout struct {
	top    string // of the work tree; "" in a bare repository
	gitDir string // of this work tree: HEAD and index
	common string // of the repository: config
	root   string // canonical root
	why    string // why it is the root
}

// findCheckout walks up from a resolved directory.
func findCheckout(dir string) (checkout, bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if c, ok := checkoutAt(at); ok {
			return c, true
		}
		if at == filepath.Dir(at) {
			return checkout{}, false
		}
	}
}

func checkoutAt(top string) (checkout, bool) {
	dotGit := filepath.Join(top, ".git")
	info, err := os.Stat(dotGit) // .git may itself be a link
	switch {
	case err == nil && info.IsDir():
		gitDir, err := filepath.EvalSymlinks(dotGit)
		if err != nil || !isGitDir(gitDir) {
			return checkout{}, false // an empty .git hides nothing, as in git
		}
		return checkout{top: top, gitDir: gitDir, common: gitDir, root: top, why: "holds .git"}, true
	case err == nil && info.Mode().IsRegular():
		return linkedCheckout(top, dotGit)
	case filepath.Base(top) != ".git" && isGitDir(top):
		return checkout{gitDir: top, common: top, root: top, why: "a bare repository"}, true
	}
	return checkout{}, false
}

// linkedCheckout follows a .git file: of a work tree, of a submodule, or of a
// repository that lies elsewhere.
func linkedCheckout(top, dotGit string) (checkout, bool) {
	target, ok := readLink(dotGit, "gitdir: ", top)
	if !ok || !exists(filepath.Join(target, "HEAD")) {
		return checkout{}, false
	}
	c := checkout{top: top, gitDir: target, common: target, root: top}
	common, isWorktree := readLink(filepath.Join(target, "commondir"), "", target)
	if !isWorktree {
		if isBare(target) {
			c.root, c.why = target, "the bare repository that .git names"
			return c, true
		}
		c.why = "holds a .git file: a submodule, or a repository kept elsewhere"
		return c, isGitDir(target)
	}
	if !isGitDir(common) {
		return checkout{}, false
	}
	if err := checkBackLink(dotGit, target, common); err != nil {
		// The remote of a repo that does not know this folder is not ours either.
		c.common, c.why = target, err.Error()
		return c, true
	}
	c.common = common
	c.root, c.why = mainCheckout(common)
	return c, true
}

// checkBackLink holds a work tree against the repo it names. Anybody can write a
// .git file into a folder and have it name a stranger's repository; only that
// repository's owner can make it point back.
func checkBackLink(dotGit, gitDir, common string) error {
	if filepath.Dir(gitDir) != filepath.Join(common, "worktrees") {
		return fmt.Errorf("its own root: .git names a work tree that is not below %s", filepath.Join(common, "worktrees"))
	}
	back, ok := readLink(filepath.Join(gitDir, "gitdir"), "", gitDir)
	if !ok || !sameFile(back, dotGit) {
		return fmt.Errorf("its own root: .git names the repository %s, which does not point back here; after a move, git worktree repair", common)
	}
	return nil
}

// mainCheckout is the working tree that a repository's own directory belongs to.
func mainCheckout(common string) (root, why string) {
	if isBare(common) {
		return common, "the bare repository its work trees share"
	}
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common), "the main checkout; all work trees share it"
	}
	// A submodule's repository lies in its parent's .git and says where it is
	// checked out.
	if tree, ok := readConfig(filepath.Join(common, "config")).last("core", "", "worktree"); ok {
		if !filepath.IsAbs(tree) {
			tree = filepath.Join(common, tree)
		}
		if real, err := filepath.EvalSymlinks(tree); err == nil {
			return real, "the main checkout, as core.worktree says; all work trees share it"
		}
	}
	return common, "the repository its work trees share, whose main checkout is not known"
}

// isGitDir asks what git asks.
func isGitDir(dir string) bool {
	return exists(filepath.Join(dir, "HEAD")) && isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

func isBare(gitDir string) bool {
	bare, ok := readConfig(filepath.Join(gitDir, "config")).last("core", "", "bare")
	return ok && isTrue(bare)
}

// readLink reads a small file that holds one path, relative to dir, and follows it.
func readLink(path, prefix, dir string) (string, bool) {
	content, err := readSmall(path, 64<<10)
	if err != nil {
		return "", false
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), prefix)
	if !ok || target == "" || strings.ContainsRune(target, 0) {
		return "", false
	}
	target = filepath.FromSlash(target)
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	real, err := filepath.EvalSymlinks(target)
	return real, err == nil
}

// readSmall reads a regular file. A larger one than limit is an error: none of the
// files looked at here comes near it.
func readSmall(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return content, err
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

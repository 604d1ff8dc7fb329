package project

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRepoOfARemote(t *testing.T) {
	for remote, want := range map[string]string{
		"git@github.com:Acme/Widgets.git":                   "acme/widgets",
		"https://github.com/acme/widgets":                   "acme/widgets",
		"https://github.com/acme/widgets/":                  "acme/widgets",
		"https://dana:tok@www.github.com/acme/widgets.git/": "acme/widgets",
		"ssh://git@ssh.github.com:443/acme/widgets.git":     "acme/widgets",
		"git://github.com/acme/widgets":                     "acme/widgets",
		"github.com:acme/widgets":                           "acme/widgets",
		"git@gitlab.com:group/sub/repo.git":                 "gitlab.com/group/sub/repo",
		"https://gitlab.com/group/sub/repo.git":             "gitlab.com/group/sub/repo",
		"ssh://git@git.example.com:2222/tools/nested.git":   "git.example.com/tools/nested",
		"https://git.example.com:8443/tools/nested":         "git.example.com/tools/nested",
		"git@[git.example.com:2222]:tools/nested.git":       "git.example.com/tools/nested",
		"[git@git.example.com:2222]:tools/nested.git":       "git.example.com/tools/nested",
		"git@Git.Example.com.:/tools/nested.git":            "git.example.com/tools/nested",
		"ssh://git@gitbox.example/repo.git":                 "gitbox.example/repo",
		"git+ssh://git@gitbox/tools/repo.git":               "gitbox/tools/repo",
		"https://git.example.com/~dana/notes.git":           "git.example.com/~dana/notes",
	} {
		got, why, err := RepoOf(remote)
		if err != nil || string(got) != want || why == "" {
			t.Errorf("%s: %q, %q, %v; want %q", remote, got, why, err, want)
		}
	}
}

func TestRemotesThatNameNoRepo(t *testing.T) {
	for _, remote := range []string{
		"", "/srv/git/widgets.git", "../widgets", "./a:b/c", "/srv/a:b", `C:\src\widgets`, "C:/src/widgets", "file:///srv/git/widgets.git",
		"ext::sh -c x", "codecommit::us-east-1://repo", "https://", "https://github.com/acme", "https://github.com/a/b/c", "gitbox:repo",
		"https://git.example.com/a b/c", "https://git.example.com/../x/y", "https://git.example.com/%2e%2e/x/y", "ssh://git@host:port/x", "git@:x/y",
	} {
		if got, _, err := RepoOf(remote); err == nil {
			t.Errorf("%q: %q", remote, got)
		}
	}
}

func TestNoPasswordOfARemoteIsShown(t *testing.T) {
	root := place(t)
	for _, remote := range []string{
		"https://dana:hunter2@git.example.com/acme/widgets.git",
		"https://dana:hunter2@git.example.com/%zz",
		"https://dana:hunter2@/x",
		"bogus://dana:hunter2@git.example.com/x/y",
	} {
		dir := filepath.Join(root, "r")
		write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
		mkdir(t, filepath.Join(dir, ".git", "objects"))
		mkdir(t, filepath.Join(dir, ".git", "refs"))
		write(t, filepath.Join(dir, ".git", "config"), "[remote \"origin\"]\n\turl = "+remote+"\n")
		p, err := Find(env(root), dir)
		if err != nil {
			t.Fatal(err)
		}
		text := p.Remote
		for _, why := range p.Why {
			text += why.Value + why.Because
		}
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s: shown in %s", remote, text)
		}
	}
}

func TestWhichRemote(t *testing.T) {
	remote := func(name, url string) string { return "[remote \"" + name + "\"]\n\turl = " + url + "\n" }
	fork, up := remote("fork", "git@github.com:dana/widgets"), remote("upstream", widgets)
	for _, c := range []struct{ name, config, head, want, why string }{
		{"origin first", fork + remote("origin", "git@github.com:acme/o") + up, "ref: refs/heads/main\n", "acme/o", "the remote origin"},
		{"the only one", up, "ref: refs/heads/main\n", "acme/widgets", "the only remote, upstream"},
		{"the branch's", fork + up + "[branch \"Fix/1\"]\n\tremote = upstream\n", "ref: refs/heads/Fix/1\n", "acme/widgets", "which the branch Fix/1 follows"},
		{"a branch that follows none", fork + up, "ref: refs/heads/main\n", "", "several remotes (fork, upstream)"},
		{"no branch", fork + up + "[branch \"main\"]\n\tremote = upstream\n", "0123456789012345678901234567890123456789\n", "", "several remotes"},
		{"a branch that follows itself", fork + up + "[branch \"main\"]\n\tremote = .\n", "ref: refs/heads/main\n", "", "several remotes"},
		{"none", "[core]\n\tbare = false\n", "ref: refs/heads/main\n", "", "no remote"},
		{"the first of several addresses", "[remote \"origin\"]\n\turl = " + widgets + "\n\turl = git@github.com:acme/mirror\n\tpushurl = x:y/z\n", "", "acme/widgets", "the remote origin"},
		{"rewritten", remote("origin", "gh:acme/widgets") + "[url \"git@github.com:\"]\n\tinsteadOf = gh:\n[url \"https://wrong.example/\"]\n\tinsteadOf = g\n", "", "acme/widgets", "url.git@github.com:.insteadOf"},
	} {
		root := place(t)
		dir := filepath.Join(root, "r")
		write(t, filepath.Join(dir, ".git", "HEAD"), c.head)
		mkdir(t, filepath.Join(dir, ".git", "objects"))
		mkdir(t, filepath.Join(dir, ".git", "refs"))
		write(t, filepath.Join(dir, ".git", "config"), c.config)
		p, err := Find(env(root), dir)
		if err != nil {
			t.Fatal(err)
		}
		because := ""
		for _, why := range p.Why {
			if why.What == "remote" {
				because = why.Because
			}
		}
		if string(p.Repo) != c.want || !strings.Contains(because, c.why) {
			t.Errorf("%s: %q because %s", c.name, p.Repo, because)
		}
	}
}

func TestThePersonsOwnRewritesHold(t *testing.T) {
	root := place(t)
	repo(t, filepath.Join(root, "r"), "work:acme/widgets")
	write(t, filepath.Join(root, "home", ".gitconfig"), "[url \"ssh://git@github.com/\"]\n  insteadOf = work:\n")
	p, err := Find(env(root), filepath.Join(root, "r"))
	if err != nil || p.Repo != "acme/widgets" {
		t.Errorf("%q, %v", p.Repo, err)
	}
}

func TestGitConfig(t *testing.T) {
	text := "; comment\n[core]\n\tbare = true # yes\n[remote \"o\\\"ri\\\\gin\"] url = \"a b\" ; c\n" +
		"[Remote.Old]\n  URL=x\\\n  y  z \\t\n\tfetch\n[remote \"crlf\"]\r\n\turl = u v \t\r\n[remote \"hash\"]\n url = \"a#b\"c\n[broken\n[remote \"after\"]\nurl = never\n"
	c := parseConfig(text)
	for _, want := range []gitSetting{
		{"core", "", "bare", "true"},
		{"remote", `o"ri\gin`, "url", "a b"},
		{"remote", "old", "url", "x  y  z \t"},
		{"remote", "old", "fetch", "true"},
		{"remote", "crlf", "url", "u v"},
		{"remote", "hash", "url", "a#bc"},
	} {
		if got, ok := c.last(want.section, want.sub, want.name); !ok || got != want.value {
			t.Errorf("%+v: %q, %v", want, got, ok)
		}
	}
	if len(c) != 6 {
		t.Errorf("%d settings: %+v", len(c), c)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("[remote \"origin\"]\n\turl = git@github.com:acme/widgets.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
	f.Add("[a.b]\nc=\"\\\\\\\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range parseConfig(text) {
			if s.section == "" || s.name == "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}

func FuzzRepoOf(f *testing.F) {
	f.Add("git@github.com:acme/widgets.git")
	f.Add("[u@h:1]:x/y")
	f.Add("https://a.example/x/y")
	f.Fuzz(func(t *testing.T, remote string) {
		slug, _, err := RepoOf(remote)
		if err == nil && strings.Count(string(slug), "/") < 1 {
			t.Fatalf("%q: %q", remote, slug)
		}
		displayRemote(remote)
	})
}

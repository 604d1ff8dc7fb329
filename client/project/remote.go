package project

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/config"
)

// findRemote picks the remote and says why. The address is as git would fetch from
// it.
func findRemote(env config.Env, c checkout) (address, why string) {
	settings := readConfig(filepath.Join(c.common, "config"))
	names := settings.subsections("remote", "url")
	name := ""
	switch branch := currentBranch(c.gitDir); {
	case len(names) == 0:
		return "", "the repository has no remote"
	case slices.Contains(names, "origin"):
		name, why = "origin", "the remote origin"
	case len(names) == 1:
		name, why = names[0], fmt.Sprintf("the only remote, %s", names[0])
	default:
		followed, ok := settings.last("branch", branch, "remote")
		if branch == "" || !ok || !slices.Contains(names, followed) {
			return "", fmt.Sprintf("several remotes (%s), none called origin, and the current branch follows none of them", strings.Join(names, ", "))
		}
		name, why = followed, fmt.Sprintf("the remote %s, which the branch %s follows", followed, branch)
	}
	address, _ = settings.first("remote", name, "url")
	if rewritten, base := insteadOf(address, userConfig(env), settings); base != "" {
		return rewritten, why + ", rewritten by url." + displayRemote(base) + ".insteadOf"
	}
	return address, why
}

// currentBranch reads HEAD; empty when it is detached.
func currentBranch(gitDir string) string {
	head, err := readSmall(filepath.Join(gitDir, "HEAD"), 64<<10)
	if err != nil {
		return ""
	}
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

// userConfig is the person's own git configuration, where insteadOf usually stands.
func userConfig(env config.Env) gitConfig {
	if env.Home == "" {
		return nil
	}
	xdg := env.Get("XDG_CONFIG_HOME")
	if !filepath.IsAbs(xdg) {
		xdg = filepath.Join(env.Home, ".config")
	}
	return slices.Concat(readConfig(filepath.Join(xdg, "git", "config")), readConfig(filepath.Join(env.Home, ".gitconfig")))
}

// insteadOf rewrites an address as git does: the longest prefix wins.
func insteadOf(address string, configs ...gitConfig) (rewritten, base string) {
	longest := ""
	for _, settings := range configs {
		for _, s := range settings {
			if s.section == "url" && s.name == "insteadof" && s.value != "" && len(s.value) > len(longest) && strings.HasPrefix(address, s.value) {
				longest, base = s.value, s.sub
			}
		}
	}
	return base + address[len(longest):], base
}

// sameHost are names under which one host is reached for another port or from a
// browser.
var sameHost = map[string]string{
	"www.github.com":       "github.com",
	"ssh.github.com":       "github.com",
	"altssh.gitlab.com":    "gitlab.com",
	"altssh.bitbucket.org": "bitbucket.org",
}

// RepoOf is the repo that a remote's address names, and why it is spelled so. An
// address that names no host (a path, a bundle) has none.
func RepoOf(remote string) (slug api.RepoSlug, why string, err error) {
	host, path, err := splitRemote(remote)
	if err != nil {
		return "", "", err
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if same, ok := sameHost[host]; ok {
		host = same
	}
	path = strings.Trim(path, "/")
	path = strings.TrimSuffix(path, ".git")
	text, why := host+"/"+path, "host and path of the remote"
	switch depth := strings.Count(path, "/"); {
	case host == "github.com" && depth == 1:
		text, why = path, "owner and name at github.com"
	case host == "github.com":
		return "", "", fmt.Errorf("the remote's path %q is not owner and name", path)
	case depth == 0 && !strings.Contains(host, "."):
		// It would read as owner/repo, and could meet one of github.com, where
		// no owner has a dot.
		return "", "", fmt.Errorf("the remote's path %q names no owner", path)
	}
	slug, err = api.ParseRepoSlug(text)
	return slug, why, err
}

// splitRemote takes host and path from an address in one of git's three forms.
func splitRemote(remote string) (host, path string, err error) {
	if scheme, _, ok := strings.Cut(remote, "://"); ok {
		return splitURL(strings.ToLower(scheme), remote)
	}
	if strings.Contains(remote, "::") && !strings.HasPrefix(remote, "[") {
		return "", "", errors.New("the remote is a helper's address")
	}
	// user@host:path, as scp writes it. A slash before the colon, or a drive
	// letter, makes it a path.
	rest := remote
	if at := strings.LastIndexByte(hostPart(remote), '@'); at >= 0 {
		rest = remote[at+1:]
	}
	if inner, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]:"); ok && (strings.HasPrefix(rest, "[") || strings.HasPrefix(remote, "[")) {
		return stripPort(inner[strings.LastIndexByte(inner, '@')+1:]), after, nil
	}
	host, path, ok := strings.Cut(rest, ":")
	if !ok || host == "" || strings.ContainsAny(host, `/\`) || len(host) == 1 {
		return "", "", errors.New("the remote is a path on this machine")
	}
	return host, path, nil
}

// hostPart is what may hold user and host: all before the first slash.
func hostPart(remote string) string {
	before, _, _ := strings.Cut(remote, "/")
	return before
}

func splitURL(scheme, remote string) (host, path string, err error) {
	switch scheme {
	case "https", "http", "ssh", "git", "git+ssh", "ssh+git", "ftp", "ftps":
	case "file":
		return "", "", errors.New("the remote is a path on this machine")
	default:
		return "", "", errors.New("the remote's scheme names no host")
	}
	u, err := url.Parse(remote)
	if err != nil {
		// url.Error repeats the address, and that may hold a password.
		return "", "", errors.New("the remote's address cannot be read")
	}
	if u.Hostname() == "" {
		return "", "", errors.New("the remote names no host")
	}
	return u.Hostname(), u.Path, nil
}

// stripPort takes the port off host:port in git's brackets. An IPv6 address has
// more than one colon.
func stripPort(host string) string {
	if strings.Count(host, ":") == 1 {
		host, _, _ = strings.Cut(host, ":")
	}
	return host
}

// displayRemote is the address without user and password.
func displayRemote(remote string) string {
	scheme, rest, ok := strings.Cut(remote, "://")
	if !ok {
		return remote // user@host:path carries no password
	}
	authority, path, slash := strings.Cut(rest, "/")
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	if slash {
		path = "/" + path
	}
	return scheme + "://" + authority + path
}

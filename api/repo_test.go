package api_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
)

func TestParseRepoSlug(t *testing.T) {
	for in, want := range map[string]api.RepoSlug{
		"acme/widgets":                      "acme/widgets",
		"Acme/Widgets":                      "acme/widgets",
		"acme/widgets.git":                  "acme/widgets",
		"ACME/WIDGETS.GIT":                  "acme/widgets",
		"acme/widgets.git.git":              "acme/widgets",
		"github.com/acme/widgets":           "github.com/acme/widgets",
		"git.acme.example:8443/group/sub/w": "git.acme.example:8443/group/sub/w",
		"a/b/c/d/e/f":                       "a/b/c/d/e/f",
		"a.b-c_d/e~f+g":                     "a.b-c_d/e~f+g",
		"1/2":                               "1/2",
		"local/my.project":                  "local/my.project",
		"~user/repo":                        "~user/repo",
		"o/.github":                         "o/.github",
		"a/" + strings.Repeat("b", 254):     api.RepoSlug("a/" + strings.Repeat("b", 254)),
		strings.Repeat("a/", 15) + "b":      api.RepoSlug(strings.Repeat("a/", 15) + "b"),
	} {
		got, err := api.ParseRepoSlug(in)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
			continue
		}
		if again, err := api.ParseRepoSlug(string(got)); err != nil || again != got {
			t.Errorf("%q is not canonical: it becomes %q, %v", got, again, err)
		}
	}
	for _, in := range []string{
		"", "widgets", "/", "//", "a/", "/b", "a//b", "/a/b", "a/b/", ".git", "a/.git", "./b", "../b", "a/..", "a/.", "a/...", "a/../b", `a\b`, `a/b\c`, "a/b c", " a/b", "a/b\n",
		"a/b\x00", "a/b?c", "a/b#c", "a/b&c", "a/b%2fc", "a/b:c", "a:1/b", "https://github.com/acme/widgets", "git@github.com:acme/widgets", "acme/wídgets", "acme/widgets\u202e", "acme／widgets",
		"a/" + strings.Repeat("b", 255), strings.Repeat("a/", 16) + "b", "\xff/\xfe", "a/b\u212a", // Kelvin is a k in lower case
	} {
		got, err := api.ParseRepoSlug(in)
		e := wantWireError(t, err, api.InvalidRequest, api.ErrorCodeBadRepo)
		if e == nil {
			t.Errorf("%q was taken as %q", in, got)
			continue
		}
		if got != "" || !utf8.ValidString(e.Message) || len(e.Message) > 400 || !strings.Contains(e.Message, "owner/repo") {
			t.Errorf("%q: %q, %q", in, got, e.Message)
		}
	}
}

// FuzzParseRepoSlug: a slug is canonical, and can stand in an address, a path and
// a log line as it is.
func FuzzParseRepoSlug(f *testing.F) {
	for _, seed := range []string{"acme/widgets", "A/B.git", "h:1/a/b", "../a", "a/b/../c", "a%2fb", "\u212a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		slug, err := api.ParseRepoSlug(in)
		if err != nil {
			if e, ok := api.AsError(err); !ok || !utf8.ValidString(e.Message) {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		if again, err := api.ParseRepoSlug(string(slug)); err != nil || again != slug {
			t.Fatalf("%q is taken as %q, and that as %q, %v", in, slug, again, err)
		}
		for _, segment := range strings.Split(string(slug), "/") {
			if strings.Trim(segment, ".") == "" || strings.Trim(segment, "abcdefghijklmnopqrstuvwxyz0123456789.-_~+:") != "" {
				t.Fatalf("%q is taken as %q", in, slug)
			}
		}
	})
}

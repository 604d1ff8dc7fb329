package servertest

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

// Target is a server to hold against the protocol, with tokens for it. The suite
// makes repos of its own, with random names, and leaves them behind.
type Target struct {
	URL    string // without a slash at the end
	Client *http.Client

	// Tokens of one organization, one a role.
	Viewer, Member, Maintainer, Admin string
	// Foreign is the token of a member of another organization.
	Foreign string

	// Quick takes every tenth of the 27,000 hostile keys only.
	Quick bool
}

// Target is the box as the suite's target.
func (s *Server) Target() Target {
	s.t.Helper()
	return Target{
		URL:        s.URL,
		Client:     s.Client(),
		Viewer:     s.Token(api.Viewer),
		Member:     s.Token(api.Member),
		Maintainer: s.Token(api.Maintainer),
		Admin:      s.Token(api.Admin),
		Foreign:    s.TokenOf("foreign", "eve", api.Member),
	}
}

// TargetFromEnvironment reads a target from TEAMMEM_TARGET_URL and
// TEAMMEM_TARGET_VIEWER, _MEMBER, _MAINTAINER, _ADMIN and _FOREIGN. Without the
// first there is none.
func TargetFromEnvironment() (Target, bool) {
	const prefix = "TEAMMEM_TARGET_"
	target := Target{
		URL:        strings.TrimSuffix(os.Getenv(prefix+"URL"), "/"),
		Client:     &http.Client{},
		Viewer:     os.Getenv(prefix + "VIEWER"),
		Member:     os.Getenv(prefix + "MEMBER"),
		Maintainer: os.Getenv(prefix + "MAINTAINER"),
		Admin:      os.Getenv(prefix + "ADMIN"),
		Foreign:    os.Getenv(prefix + "FOREIGN"),
	}
	return target, target.URL != ""
}

// Conformance holds a server against protocol.md, part 1 and sections 2.1 to 2.6
// and 2.8, over HTTP and nothing else. Every answer it provokes is held against
// openapi.yaml as well.
func Conformance(t *testing.T, target Target) {
	w := newWire(t, target)
	groups := []struct {
		name  string
		cases []conformanceCase
	}{
		{"about", aboutCases},
		{"get", getCases},
		{"put", putCases},
		{"tags", tagCases},
		{"keys", keyCases},
		{"limits", limitCases},
		{"bodies", bodyCases},
		{"bases", baseCases},
		{"deletions", deletionCases},
		{"delta", deltaCases},
		{"times", timeCases},
		{"rights", rightsCases},
		{"review", reviewCases},
		{"history", historyCases},
		{"reading", readingCases},
		{"search", searchCases},
		{"live", liveCases},
		{"figures", figureCases},
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { c.run(w.in(t)) })
			}
		})
	}
}

// conformanceCase is one thing the protocol says; its name quotes it.
type conformanceCase struct {
	name string
	run  func(*wire)
}

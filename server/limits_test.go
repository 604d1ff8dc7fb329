package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// onStores are the databases that what a server promises holds on.
var onStores = map[string]func(t testing.TB) []servertest.Option{
	"sqlite": func(testing.TB) []servertest.Option { return nil },
	"postgres": func(t testing.TB) []servertest.Option {
		dsn := pgtest.DSN(t)
		return []servertest.Option{func(_ testing.TB, s *servertest.Server) { s.Config.Database = dsn }}
	},
}

// stranger speaks HTTP to a server and knows nothing but the wire.
type stranger struct {
	t   *testing.T
	box *servertest.Server
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (s stranger) do(method, path, token, body string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.box.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := s.box.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, text}
}

func (s stranger) put(token, repo string, entries map[string]any) reply {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"entries": entries, "baseChecksums": nullFor(entries)})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(http.MethodPut, api.PathTeamMemory+"?repo="+repo, token, string(body))
}

func nullFor(entries map[string]any) map[string]any {
	bases := map[string]any{}
	for key := range entries {
		bases[key] = nil
	}
	return bases
}

func (s stranger) want(r reply, status int) reply {
	s.t.Helper()
	if r.status != status {
		s.t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

// wantRefusal holds a refusal against what an outsider needs of it: which limit, its
// value, and the cure.
func (s stranger) wantRefusal(r reply, status int, details string, words ...string) {
	s.t.Helper()
	s.want(r, status)
	for _, word := range append(words, details) {
		if !bytes.Contains(r.body, []byte(word)) {
			s.t.Errorf("the answer does not say %s: %s", word, r.body)
		}
	}
}

// Each limit of an organization, seen from outside on both stores: what is refused, with
// which words, that the others of the server notice nothing, and that a higher limit
// lets in what was refused.
func TestLimitsOfAnOrganization(t *testing.T) {
	for name, options := range onStores {
		t.Run(name, func(t *testing.T) {
			s := stranger{t, servertest.Start(t, options(t)...)}
			admin := s.box.TokenOf("tight", "root", api.Admin)
			member := s.box.TokenOf("tight", "dana", api.Member)
			other := s.box.TokenOf("free", "eve", api.Member)
			set := func(change string) {
				t.Helper()
				s.want(s.do(http.MethodPatch, api.PathOrganization, admin, change), http.StatusOK)
			}
			one := map[string]any{"a.md": "0123456789"}

			set(`{"maxRepos":1}`)
			s.want(s.put(member, "acme/one", one), http.StatusOK)
			s.wantRefusal(s.put(member, "acme/two", one), http.StatusRequestEntityTooLarge,
				`"error_code":"too_many_repos"`, `"type":"request_too_large"`, `"max_repos":1`, "may have 1 repos", "an admin", "raise the limit")
			s.want(s.do(http.MethodGet, api.PathTeamMemory+"?repo=acme/two", member, ""), http.StatusNotFound)
			s.want(s.put(member, "acme/one", map[string]any{"b.md": "more in a repo that is there"}), http.StatusOK)
			s.want(s.put(other, "acme/two", one), http.StatusOK)
			set(`{"maxRepos":2}`)
			s.want(s.put(member, "acme/two", one), http.StatusOK)

			set(`{"maxBytes":25}`)
			s.wantRefusal(s.put(member, "acme/two", map[string]any{"b.md": "0123456789abcdef"}), http.StatusRequestEntityTooLarge,
				`"error_code":"repo_too_large"`, `"max_bytes":25`, `"received_bytes":26`, "delete some entries", "raise the limit")
			s.want(s.put(member, "acme/two", map[string]any{"b.md": "0123456789abcde"}), http.StatusOK)
			// A repo that is over a limit that was lowered is still read, and made smaller.
			set(`{"maxBytes":5}`)
			s.want(s.do(http.MethodPut, api.PathTeamMemory+"?repo=acme/two", member,
				fmt.Sprintf(`{"entries":{"a.md":"0"},"baseChecksums":{"a.md":%q}}`, api.ChecksumOfString("0123456789"))), http.StatusOK)
			s.want(s.put(other, "acme/two", map[string]any{"big.md": strings.Repeat("x", 1000)}), http.StatusOK)
			set(`{"maxBytes":0,"maxEntries":2}`)

			s.wantRefusal(s.put(member, "acme/two", map[string]any{"c.md": "1"}), http.StatusRequestEntityTooLarge,
				`"error_code":"team_memory_too_many_entries"`, `"max_entries":2`, `"received_entries":3`, "delete some", "raise the limit")
			set(`{"maxEntries":3}`)
			s.want(s.put(member, "acme/two", map[string]any{"c.md": "1"}), http.StatusOK)
		})
	}
}

// Writes a minute are a 429 with a time to wait, of all members together, also of a
// restore; reading goes on.
func TestWritesAMinute(t *testing.T) {
	for name, options := range onStores {
		t.Run(name, func(t *testing.T) {
			s := stranger{t, servertest.Start(t, options(t)...)}
			admin := s.box.TokenOf("tight", "root", api.Admin)
			dana, lee := s.box.TokenOf("tight", "dana", api.Member), s.box.TokenOf("tight", "lee", api.Member)
			other := s.box.TokenOf("free", "eve", api.Member)
			s.want(s.do(http.MethodPatch, api.PathOrganization, admin, `{"writesPerMinute":2}`), http.StatusOK)
			s.want(s.put(dana, "acme/one", map[string]any{"a.md": "1"}), http.StatusOK)
			s.want(s.put(lee, "acme/one", map[string]any{"b.md": "1"}), http.StatusOK)
			for _, r := range []reply{
				s.put(dana, "acme/one", map[string]any{"c.md": "1"}),
				s.do(http.MethodPost, api.PathRestore+"?repo=acme/one", lee, `{"key":"a.md","version":1}`),
			} {
				s.wantRefusal(r, http.StatusTooManyRequests, `"error_code":"too_many_writes"`, `"type":"rate_limit_error"`, `"max_per_minute":2`, "2 times a minute", "Retry-After", "raise the limit")
				if wait, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || wait < 1 || wait > 30 {
					t.Errorf("Retry-After %q, want 1 to 30 s", r.header.Get("Retry-After"))
				}
			}
			s.want(s.do(http.MethodGet, api.PathTeamMemory+"?repo=acme/one", dana, ""), http.StatusOK)
			s.want(s.put(other, "acme/one", map[string]any{"c.md": "1"}), http.StatusOK)
			s.want(s.do(http.MethodPatch, api.PathOrganization, admin, `{"writesPerMinute":0}`), http.StatusOK)
			s.want(s.put(dana, "acme/one", map[string]any{"c.md": "1"}), http.StatusOK)
		})
	}
}

// Every record says how whoever made the change was known and from where: changes of
// a repo in its own chain, changes of the policy in the organization's.
func TestRecordsSayHowAndFromWhere(t *testing.T) {
	for name, options := range onStores {
		t.Run(name, func(t *testing.T) {
			s := stranger{t, servertest.Start(t, options(t)...)}
			admin, member := s.box.TokenOf("tight", "root", api.Admin), s.box.TokenOf("tight", "dana", api.Member)
			s.want(s.put(member, "acme/one", map[string]any{"a.md": "1"}), http.StatusOK)
			one := api.ChecksumOfString("1")
			s.want(s.do(http.MethodPut, api.PathTeamMemory+"?repo=acme/one", member, fmt.Sprintf(`{"entries":{"a.md":"2"},"baseChecksums":{"a.md":%q}}`, one)), http.StatusOK)
			s.want(s.do(http.MethodPost, api.PathRestore+"?repo=acme/one", member, `{"key":"a.md","version":1}`), http.StatusOK)
			policy := s.want(s.do(http.MethodPut, api.PathPolicy, admin, `{"verdicts":{},"review":[{"role":"member","pattern":"r/**","approvals":1}]}`), http.StatusOK)
			s.want(s.do(http.MethodPost, api.PathAccepted, admin, `{"fingerprint":"0123456789abcdef","rule":"github-pat","reason":"an example"}`), http.StatusOK)
			s.want(s.do(http.MethodDelete, api.PathAccepted+"?fingerprint=0123456789abcdef", admin, ""), http.StatusOK)
			held := s.want(s.put(member, "acme/one", map[string]any{"r/x.md": "held"}), http.StatusOK)
			var sent struct {
				Held []struct {
					Proposal string `json:"proposal"`
				} `json:"held"`
			}
			if err := json.Unmarshal(held.body, &sent); err != nil || len(sent.Held) != 1 {
				t.Fatalf("held: %s, %v", held.body, err)
			}
			s.want(s.do(http.MethodPost, strings.Replace(api.PathApprove, "{id}", sent.Held[0].Proposal, 1), admin, fmt.Sprintf(`{"checksum":%q}`, api.ChecksumOfString("held"))), http.StatusOK)

			records := s.want(s.do(http.MethodGet, api.PathAuditExport, admin, ""), http.StatusOK)
			seen := map[string]string{}
			for line := range strings.Lines(string(records.body)) {
				var r api.AuditRecord
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if r.User == "server" || r.User == "operator" {
					continue
				}
				subject := string(r.Subject)
				if !strings.Contains(subject, `"how":"token"`) || !strings.Contains(subject, `"from":"127.0.0.1"`) || r.Token == "" {
					t.Errorf("%s of %s does not say how and from where: %s", r.Action, r.Chain, line)
				}
				seen[r.Action] = r.Chain + " " + subject
			}
			etag := strings.Trim(policy.header.Get("ETag"), `"`)
			for action, want := range map[string]string{
				"push":          `"proposed":[{"key":"r/x.md"`,
				"restore":       `"restored":1,"checksum"`,
				"approve":       `acme/one `,
				"policy.set":    `"checksum":"` + etag,
				"policy.accept": `organization {"how":"token","from":"127.0.0.1","of":"0123456789abcdef","before":{`,
				"policy.forget": `"of":"0123456789abcdef"`,
			} {
				if !strings.Contains(seen[action], want) {
					t.Errorf("the record of %s is %s, want %s in it", action, seen[action], want)
				}
			}
			if restore := seen["restore"]; !strings.Contains(restore, `"before":"`+string(api.ChecksumOfString("2"))+`","after":"`+string(one)+`"`) {
				t.Errorf("the restore's checksums before and after: %s", restore)
			}
		})
	}
}

// A token that no organization knows is told of by the log alone, with its address and
// without the token, and by no organization's audit.
func TestSignInsOfUnknownTokens(t *testing.T) {
	s := stranger{t, servertest.Start(t)}
	admin := s.box.TokenOf("tight", "root", api.Admin)
	guess := "tm_" + strings.Repeat("a", 39) + "b"
	s.want(s.do(http.MethodGet, api.PathWhoAmI, guess, ""), http.StatusUnauthorized)
	records := s.want(s.do(http.MethodGet, api.PathAudit+"?limit=100", admin, ""), http.StatusOK)
	if bytes.Contains(records.body, []byte("refused")) {
		t.Errorf("an organization's audit tells of a token that is nobody's: %s", records.body)
	}
	told := false
	for line := range strings.Lines(s.box.Log()) {
		told = told || strings.Contains(line, "status=401") && strings.Contains(line, "error=token_invalid") && strings.Contains(line, "from=127.0.0.1")
	}
	if !told || strings.Contains(s.box.Log(), guess) {
		t.Errorf("the log: %s", s.box.Log())
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// ask calls the server's API as a stranger's program would, and wants success: ask
// USER METHOD PATH [FILE].
func ask(ts *testscript.TestScript, box *servertest.Server, args []string) {
	var body []byte
	if len(args) > 3 {
		body = []byte(ts.ReadFile(args[3]))
	}
	answer(ts, box, args[0], args[1], args[2], body)
}

func answer(ts *testscript.TestScript, box *servertest.Server, user, method, path string, body []byte) []byte {
	req, err := http.NewRequest(method, box.URL+path, bytes.NewReader(body))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(user+".token")))
	resp, err := box.Client().Do(req)
	ts.Check(err)
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("%s %s: %s %s", method, path, resp.Status, said)
	}
	return said
}

// review decides about the open proposal of a key: review USER approve KEY, or review
// USER reject KEY REASON.
func review(ts *testscript.TestScript, box *servertest.Server, args []string) {
	user, verb, key := args[0], args[1], api.Key(args[2])
	var list api.ProposalList
	query := url.Values{"state": {"open"}, "repo": {"acme/widgets"}}
	ts.Check(json.Unmarshal(answer(ts, box, user, http.MethodGet, api.PathProposals+"?"+query.Encode(), nil), &list))
	for _, p := range list.Proposals {
		if p.Key != key {
			continue
		}
		verdict := map[string]any{"checksum": p.Checksum}
		if verb == "reject" {
			verdict = map[string]any{"reason": args[3]}
		}
		body, err := json.Marshal(verdict)
		ts.Check(err)
		answer(ts, box, user, http.MethodPost, api.PathProposals+"/"+p.ID+"/"+verb, body)
		return
	}
	ts.Fatalf("nothing open for %s", key)
}

package api_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

// A full answer of a server of ours, and the fields a stock server sends.
const (
	stockAnswer = `{"organizationId":"org_1","repo":"acme/widgets","version":7,"lastModified":"2026-11-30T12:00:00.000Z",` +
		`"checksum":"` + string(someSum) + `","content":{"entries":{"a.md":"A"},"entryChecksums":{"a.md":"` + string(someSum) + `"}}}`
	fullAnswer = `{"organizationId":"org_1","repo":"Acme/Widgets.git","version":7,"epoch":"e1","lastModified":"2026-11-30T12:00:00.000Z",` +
		`"checksum":"` + string(someSum) + `","partial":true,"content":{"entries":{"a.md":"A"},"entryChecksums":{"a.md":"` + string(someSum) + `"},` +
		`"entryModified":{"a.md":"2026-11-01T00:00:00Z","b.md":"once"}},"deleted":{"c.md":"` + string(someSum) + `"},"redacted":["` + string(someSum) + `"]}`
	hashesAnswer = `{"organizationId":"org_1","repo":"acme/widgets","version":7,"lastModified":"2026-11-30T12:00:00.000Z",` +
		`"checksum":"` + string(someSum) + `","content":{},"entryChecksums":{"a.md":"` + string(someSum) + `"}}`
)

func TestDecodeMemory(t *testing.T) {
	m, err := api.DecodeMemory([]byte(fullAnswer))
	if err != nil {
		t.Fatal(err)
	}
	modified, _ := api.ParseTime("2026-11-30T12:00:00Z")
	entryModified, _ := api.ParseTime("2026-11-01T00:00:00Z")
	want := api.Memory{
		OrganizationID: "org_1", Repo: "acme/widgets", Version: 7, Epoch: "e1", LastModified: modified, Checksum: someSum, Partial: true,
		Content: api.Content{
			Entries:        map[api.Key]string{"a.md": "A"},
			EntryChecksums: map[api.Key]api.Checksum{"a.md": someSum},
			EntryModified:  map[api.Key]api.Time{"a.md": entryModified},
		},
		Deleted:  map[api.Key]api.Checksum{"c.md": someSum},
		Redacted: []api.Checksum{someSum},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	written, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := api.DecodeMemory(written); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("written and read again: %+v, %v", again, err)
	}
}

// A reader needs nothing that a stock server does not send, and not even all of
// that.
func TestDecodeMemoryIsLenientWhereItMayBe(t *testing.T) {
	for name, change := range map[string][2]string{
		"as it is":          {"", ""},
		"no entryChecksums": {`,"entryChecksums":{"a.md":"` + string(someSum) + `"}`, ""},
		"null extensions":   {`"content":`, `"deleted":null,"epoch":null,"partial":null,"entryChecksums":null,"content":`},
		"odd time":          {"2026-11-30T12:00:00.000Z", "last Tuesday"},
		"time without zone": {"2026-11-30T12:00:00.000Z", "2026-11-30T12:00:00"},
		"unknown fields":    {`"content":`, `"x":[{"y":null}],"content":`},
		"hostile keys":      {`"a.md":"A"`, `"../../etc/passwd":"A","":"B"`},
	} {
		text := strings.Replace(stockAnswer, change[0], change[1], 1)
		if _, err := api.DecodeMemory([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BR-17: what is not a whole answer is an error, never an empty memory.
func TestDecodeMemoryRefuses(t *testing.T) {
	cases := map[string]string{
		"nothing":            ``,
		"HTML":               `<!doctype html><title>Sign in</title>`,
		"empty object":       `{}`,
		"empty list":         `[]`,
		"bare entries":       `{"entries":[]}`,
		"null":               `null`,
		"our error":          `{"error":{"type":"not_found_error","message":"m","details":{}}}`,
		"hashes":             hashesAnswer,
		"trailing":           stockAnswer + "x",
		"entries a list":     strings.Replace(stockAnswer, `{"a.md":"A"}`, `[]`, 1),
		"entries null":       strings.Replace(stockAnswer, `{"a.md":"A"}`, `null`, 1),
		"entry null":         strings.Replace(stockAnswer, `"A"`, `null`, 1),
		"entry a number":     strings.Replace(stockAnswer, `"A"`, `1`, 1),
		"entry twice":        strings.Replace(stockAnswer, `"a.md":"A"`, `"a.md":"A","a.md":"B"`, 1),
		"content null":       strings.Replace(stockAnswer, `{"entries":{"a.md":"A"},"entryChecksums":{"a.md":"`+string(someSum)+`"}}`, `null`, 1),
		"version text":       strings.Replace(stockAnswer, `:7`, `:"7"`, 1),
		"version negative":   strings.Replace(stockAnswer, `:7`, `:-7`, 1),
		"version broken":     strings.Replace(stockAnswer, `:7`, `:7.5`, 1),
		"version huge":       strings.Replace(stockAnswer, `:7`, `:9223372036854775808`, 1),
		"checksum not one":   strings.Replace(stockAnswer, `"checksum":"`+string(someSum), `"checksum":"abc`, 1),
		"checksum of entry":  strings.Replace(stockAnswer, `"a.md":"`+string(someSum), `"a.md":"abc`, 1),
		"repo not one":       strings.Replace(stockAnswer, `acme/widgets`, `widgets`, 1),
		"lastModified null":  strings.Replace(stockAnswer, `"2026-11-30T12:00:00.000Z"`, `null`, 1),
		"partial not a bool": strings.Replace(fullAnswer, `"partial":true`, `"partial":"yes"`, 1),
		"deleted a list":     strings.Replace(fullAnswer, `"deleted":{"c.md":"`+string(someSum)+`"}`, `"deleted":["c.md"]`, 1),
		"deleted no sum":     strings.Replace(fullAnswer, `"deleted":{"c.md":"`+string(someSum)+`"}`, `"deleted":{"c.md":null}`, 1),
	}
	for _, field := range []string{"organizationId", "repo", "version", "lastModified", "checksum", "content"} {
		cases["no "+field] = strings.Replace(stockAnswer, `"`+field+`"`, `"x`+field+`"`, 1)
	}
	for cut := range len(stockAnswer) {
		cases["cut at "+stockAnswer[:cut]] = stockAnswer[:cut]
	}
	for name, text := range cases {
		m, err := api.DecodeMemory([]byte(text))
		e, ok := api.AsError(err)
		if !ok || e.Code != api.Internal || e.Details.ErrorCode == "" {
			t.Errorf("%s: got %+v, %v", name, m, err)
			continue
		}
		if !reflect.DeepEqual(m, api.Memory{}) {
			t.Errorf("%s: an error and a memory: %+v", name, m)
		}
	}
}

func TestDecodeHashes(t *testing.T) {
	under := strings.Replace(hashesAnswer, `"content":{},"entryChecksums":{"a.md":"`+string(someSum)+`"}`, `"content":{"entryChecksums":{"a.md":"`+string(someSum)+`"}}`, 1)
	both := strings.Replace(under, `"content":`, `"entryChecksums":{"a.md":"`+string(someSum)+`"},"content":`, 1)
	for name, text := range map[string]string{"top": hashesAnswer, "under content": under, "both": both} {
		m, err := api.DecodeHashes([]byte(text))
		if err != nil || m.Content.EntryChecksums["a.md"] != someSum {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	for name, text := range map[string]string{
		"neither": strings.Replace(hashesAnswer, `"entryChecksums"`, `"x"`, 1), "empty": `{}`, "html": `<p>`,
		"differ": strings.Replace(both, string(someSum)+`"},"content"`, string(api.ChecksumOfString("other"))+`"},"content"`, 1),
	} {
		if m, err := api.DecodeHashes([]byte(text)); err == nil {
			t.Errorf("%s was taken: %+v", name, m)
		}
	}
}

func TestDecodePushResult(t *testing.T) {
	at, _ := api.ParseTime("2026-11-30T12:00:00Z")
	want := api.PushResult{
		OrganizationID: "org_1", Repo: "acme/widgets", Version: 8, Epoch: "e1", LastModified: at, Checksum: someSum, Changed: true,
		Held: []api.Held{{Key: "a", Proposal: "prop_1", State: api.ProposalOpen, Rule: "r", Class: api.ClassHiddenText, Line: 2, Reason: "why"}},
	}
	written, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := api.DecodePushResult(written); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, field := range []string{"organizationId", "repo", "version", "lastModified", "checksum"} {
		text := strings.Replace(string(written), `"`+field+`"`, `"x"`, 1)
		if got, err := api.DecodePushResult([]byte(text)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("without %s: %+v, %v", field, got, err)
		}
	}
}

func TestDecodeWellKnownAndWhoAmI(t *testing.T) {
	known := api.WellKnown{Server: "teammem", Version: "1", Limits: api.DefaultLimits, Extensions: []string{api.ExtensionSince}}
	known.Limits.EntryBytes, known.Limits.BodyBytes = 1000, 1<<33
	written, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := api.DecodeWellKnown(written); err != nil || !reflect.DeepEqual(got, known) {
		t.Errorf("got %+v, %v; want %+v", got, err, known)
	}
	if got, err := api.DecodeWellKnown([]byte(`{"server":"teammem","version":"1"}`)); err != nil || got.Limits != api.DefaultLimits {
		t.Errorf("without limits: %+v, %v", got, err)
	}
	for _, text := range []string{`{}`, `{"server":"teammem","version":"1","limits":{"entryBytes":0}}`, `{"server":"teammem","version":"1","limits":{"entryBytes":"1"}}`} {
		if got, err := api.DecodeWellKnown([]byte(text)); err == nil {
			t.Errorf("%s was taken: %+v", text, got)
		}
	}

	expires := api.NewTime(time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, who := range []api.WhoAmI{
		{OrganizationID: "org_1", Organization: "acme", User: "dana", Role: api.Member, TokenID: "tok_1"},
		{OrganizationID: "org_1", Organization: "acme", User: "dana", Role: api.Member, TokenID: "tok_1", Expires: &expires},
	} {
		written, err := json.Marshal(who)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := api.DecodeWhoAmI(written); err != nil || !reflect.DeepEqual(got, who) {
			t.Errorf("got %+v, %v; want %+v", got, err, who)
		}
	}
}

func FuzzDecodeMemory(f *testing.F) {
	for _, seed := range []string{stockAnswer, fullAnswer, hashesAnswer, `{}`, `<html>`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := api.DecodeMemory(text); err == nil {
			if m.Content.Entries == nil || m.Checksum == "" || m.Repo == "" || m.Version < 0 {
				t.Fatalf("%q was taken as %+v", text, m)
			}
			if _, err := json.Marshal(m); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if m, err := api.DecodeHashes(text); err == nil && m.Content.EntryChecksums == nil {
			t.Fatalf("%q was taken as hashes %+v", text, m)
		}
		if e := api.DecodeError(http.StatusBadGateway, http.Header{}, text); e.Code == "" || e.Message == "" {
			t.Fatalf("%q: %+v", text, e)
		}
	})
}

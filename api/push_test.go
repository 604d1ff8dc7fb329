package api_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

const someSum = api.Checksum("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")

func TestDecodePushTakes(t *testing.T) {
	sum := someSum
	at, err := api.ParseTime("2026-11-30T12:00:00.123456+02:00")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body string
		want api.Push
	}{
		"a stock client's": {
			`{"entries":{"MEMORY.md":"- [x](x.md)\n"}}`,
			api.Push{Entries: map[api.Key]string{"MEMORY.md": "- [x](x.md)\n"}},
		},
		"everything": {
			`{"entries":{"a.md":"A","b.md":""},"deletions":["c.md"],"baseChecksums":{"a.md":"` + string(sum) + `","b.md":null},"modified":{"a.md":"2026-11-30T12:00:00.123456+02:00"}}`,
			api.Push{
				Entries: map[api.Key]string{"a.md": "A", "b.md": ""}, Deletions: []api.Key{"c.md"},
				BaseChecksums: map[api.Key]*api.Checksum{"a.md": &sum, "b.md": nil}, Modified: map[api.Key]api.Time{"a.md": at},
			},
		},
		"deletions alone": {`{"deletions":["c.md"]}`, api.Push{Deletions: []api.Key{"c.md"}}},
		"null is absent":  {`{"entries":null,"deletions":["c.md"],"baseChecksums":null,"modified":null}`, api.Push{Deletions: []api.Key{"c.md"}}},
		"no entries":      {`{"entries":{}}`, api.Push{Entries: map[api.Key]string{}}},
		"unknown fields":  {`{"x":[{"entries":1}],"Entries":{"b.md":7},"ENTRIES":0,"entries":{"a.md":"A"}}`, api.Push{Entries: map[api.Key]string{"a.md": "A"}}},
		// Keys are the ledger's to judge.
		"keys as sent":   {`{"entries":{"../a":"A","":"B"}}`, api.Push{Entries: map[api.Key]string{"../a": "A", "": "B"}}},
		"keys are exact": {`{"entries":{"a.md":"A","A.md":"B"}}`, api.Push{Entries: map[api.Key]string{"a.md": "A", "A.md": "B"}}},
		"bytes are kept": {`{"entries":{"a":"\ufeffe\u0301\r\n\u0000"}}`, api.Push{Entries: map[api.Key]string{"a": "\ufeffe\u0301\r\n\x00"}}},
	} {
		got, err := api.DecodePush([]byte(c.body))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestDecodePushRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		body      string
		errorCode string
		place     string
		key       api.Key
	}{
		"nothing":                {``, api.ErrorCodeBadJSON, "", ""},
		"not JSON":               {`entries`, api.ErrorCodeBadJSON, "", ""},
		"cut short":              {`{"entries":{"a.md":"tex`, api.ErrorCodeBadJSON, "/entries/a.md", "a.md"},
		"trailing":               {`{"entries":{}}{}`, api.ErrorCodeBadJSON, "", ""},
		"an array":               {`[]`, api.ErrorCodeBadBody, "", ""},
		"null":                   {`null`, api.ErrorCodeBadBody, "", ""},
		"a string":               {`"entries"`, api.ErrorCodeBadBody, "", ""},
		"empty":                  {`{}`, api.ErrorCodeBadBody, "", ""},
		"only nulls":             {`{"entries":null,"deletions":null}`, api.ErrorCodeBadBody, "", ""},
		"other case":             {`{"Entries":{"a.md":"A"}}`, api.ErrorCodeBadBody, "", ""},
		"entries an array":       {`{"entries":["a.md"]}`, api.ErrorCodeBadBody, "/entries", ""},
		"entry null":             {`{"entries":{"a.md":null}}`, api.ErrorCodeBadBody, "/entries/a.md", "a.md"},
		"entry a number":         {`{"entries":{"d/a.md":12}}`, api.ErrorCodeBadBody, "/entries/d~1a.md", "d/a.md"},
		"entry an object":        {`{"entries":{"a.md":{"text":"A"}}}`, api.ErrorCodeBadBody, "/entries/a.md", "a.md"},
		"entry no JSON":          {`{"entries":{"a.md":[1,}}}`, api.ErrorCodeBadJSON, "/entries/a.md/1", "a.md"},
		"entry twice":            {`{"entries":{"a.md":"A","b":"","a.md":"A"}}`, api.ErrorCodeBadJSON, "/entries/a.md", "a.md"},
		"entries twice":          {`{"entries":{"a.md":"A"},"entries":{}}`, api.ErrorCodeBadJSON, "/entries", ""},
		"ignored, twice":         {`{"x":{"y":1,"y":2},"entries":{}}`, api.ErrorCodeBadJSON, "/x/y", ""},
		"bad UTF-8":              {"{\"entries\":{\"a.md\":\"\xff\"}}", api.ErrorCodeBadJSON, "/entries/a.md", "a.md"},
		"bad UTF-8 in a key":     {"{\"entries\":{\"a\xff.md\":\"A\"}}", api.ErrorCodeBadJSON, "/entries/a\uFFFD.md", "a\uFFFD.md"},
		"lone surrogate":         {`{"entries":{"a.md":"\ud800"}}`, api.ErrorCodeBadJSON, "/entries/a.md", "a.md"},
		"deletions an object":    {`{"deletions":{"a.md":true}}`, api.ErrorCodeBadBody, "/deletions", ""},
		"deletion null":          {`{"deletions":["a.md",null]}`, api.ErrorCodeBadBody, "/deletions/1", ""},
		"deletion twice":         {`{"deletions":["a.md","b.md","a.md"]}`, api.ErrorCodeBadBody, "/deletions/2", "a.md"},
		"base not a checksum":    {`{"entries":{},"baseChecksums":{"a.md":"abc"}}`, api.ErrorCodeBadBody, "/baseChecksums/a.md", "a.md"},
		"base in capitals":       {`{"entries":{},"baseChecksums":{"a.md":"` + strings.ToUpper(string(someSum)) + `"}}`, api.ErrorCodeBadBody, "/baseChecksums/a.md", "a.md"},
		"base a boolean":         {`{"entries":{},"baseChecksums":{"a.md":false}}`, api.ErrorCodeBadBody, "/baseChecksums/a.md", "a.md"},
		"base almost null":       {`{"entries":{},"baseChecksums":{"a.md":nul}}`, api.ErrorCodeBadJSON, "/baseChecksums/a.md", "a.md"},
		"base a list":            {`{"entries":{},"baseChecksums":[]}`, api.ErrorCodeBadBody, "/baseChecksums", ""},
		"modified not a time":    {`{"entries":{},"modified":{"a.md":"yesterday"}}`, api.ErrorCodeBadBody, "/modified/a.md", "a.md"},
		"modified a number":      {`{"entries":{},"modified":{"a.md":1764500000}}`, api.ErrorCodeBadBody, "/modified/a.md", "a.md"},
		"modified null":          {`{"entries":{},"modified":{"a.md":null}}`, api.ErrorCodeBadBody, "/modified/a.md", "a.md"},
		"modified without zone":  {`{"entries":{},"modified":{"a.md":"2026-11-30T12:00:00"}}`, api.ErrorCodeBadBody, "/modified/a.md", "a.md"},
		"modified, no such date": {`{"entries":{},"modified":{"a.md":"2026-02-30T12:00:00Z"}}`, api.ErrorCodeBadBody, "/modified/a.md", "a.md"},
	} {
		push, err := api.DecodePush([]byte(c.body))
		e := wantWireError(t, err, api.InvalidRequest, c.errorCode)
		if e == nil {
			t.Errorf("%s: %s gave %+v", name, c.body, push)
			continue
		}
		if e.Details.Place != c.place || e.Details.Key != c.key {
			t.Errorf("%s: place %q, key %q; want %q, %q", name, e.Details.Place, e.Details.Key, c.place, c.key)
		}
		if c.key != "" && !strings.Contains(e.Message, strings.ReplaceAll(string(c.key), "/", "~1")) {
			t.Errorf("%s: the message does not name the key: %s", name, e.Message)
		}
	}
}

// A body of nothing but names must not take more than a small multiple of its
// size.
func TestDecodePushIsBoundedByItsBody(t *testing.T) {
	body := []byte(`{"entries":{},"x":[` + strings.Repeat(`0,`, 1<<20) + `0]}`)
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := api.DecodePush(body); err != nil {
			t.Fatal(err)
		}
	})
	// Numbers that nobody asked for are spelled out one by one and forgotten.
	if allocated > 1<<21 {
		t.Errorf("%v allocations for a body of %d bytes", allocated, len(body))
	}
}

// FuzzDecodePush: what is taken, encoding/json reads alike, and it survives being
// written and read again.
func FuzzDecodePush(f *testing.F) {
	for _, seed := range []string{
		`{"entries":{"a.md":"A"},"deletions":["b.md"],"baseChecksums":{"a.md":null,"b.md":"` + string(someSum) + `"},"modified":{"a.md":"2026-11-30T12:00:00Z"}}`,
		`{"deletions":[]}`, `{"entries":null}`, `{"Entries":{}}`, `{"entries":{"":""}}`, `{"entries":{"a":1}}`, "{\"entries\":{\"\xff\":\"\"}}",
		`{"deletions":["a","a"]}`, `{"entries":{},"modified":{"a":"0001-01-01T00:00:00Z"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		push, err := api.DecodePush(body)
		if err != nil {
			e, ok := api.AsError(err)
			if !ok || e.Code != api.InvalidRequest || e.Details.ErrorCode == "" {
				t.Fatalf("%q: %#v", body, err)
			}
			if _, err := json.Marshal(e.Body()); err != nil {
				t.Fatalf("%q: the error cannot be sent: %v", body, err)
			}
			return
		}
		written, err := json.Marshal(push)
		if err != nil {
			t.Fatalf("%q: cannot be written: %v", body, err)
		}
		again, err := api.DecodePush(written)
		if err != nil && len(push.Entries)+len(push.Deletions) > 0 {
			t.Fatalf("%q, written as %q: %v", body, written, err)
		}
		if err == nil && !equalPush(again, push) {
			t.Fatalf("%q: %+v became %+v", body, push, again)
		}
	})
}

// equalPush compares what two bodies ask for; absent and empty are the same.
func equalPush(a, b api.Push) bool {
	same := len(a.Entries) == len(b.Entries) && len(a.Deletions) == len(b.Deletions) &&
		len(a.BaseChecksums) == len(b.BaseChecksums) && len(a.Modified) == len(b.Modified)
	for key, text := range a.Entries {
		other, ok := b.Entries[key]
		same = same && ok && other == text
	}
	for i, key := range a.Deletions {
		same = same && key == b.Deletions[i]
	}
	for key, base := range a.BaseChecksums {
		other, ok := b.BaseChecksums[key]
		same = same && ok && (base == nil) == (other == nil) && (base == nil || *base == *other)
	}
	for key, at := range a.Modified {
		same = same && at.Equal(b.Modified[key].Time)
	}
	return same
}

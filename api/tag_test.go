package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
)

// BR-35 and protocol 1.5: what proxies make of our tag still matches it.
func TestParseTagsReadsDamagedTags(t *testing.T) {
	tag := someSum.ETag()
	digits := strings.TrimPrefix(string(someSum), api.ChecksumPrefix)
	for _, lines := range [][]string{
		{tag},
		{" " + tag + "\t"},
		{string(someSum)},
		{digits},
		{`"` + digits + `"`},
		{"W/" + tag},
		{"w/" + tag},
		{`"W/` + string(someSum) + `"`},
		{"W/" + string(someSum)},
		{`W/"W/` + digits + `"`},
		{`"` + string(someSum) + `-gzip"`},
		{`"` + string(someSum) + `--gzip"`},
		{`"` + string(someSum) + `;gzip"`},
		{`W/"` + string(someSum) + `-gzip"`},
		{tag + "-gzip"},
		{tag + ";gzip"},
		{string(someSum) + "-gzip"},
		{`"` + digits + `-br"`},
		{`"` + digits + `-zstd"`},
		{strings.ToUpper(tag)},
		{`"` + strings.ToUpper(digits) + `-GZIP"`},
		{`"other", ` + tag},
		{tag + `,"other"`},
		{`"a,b",` + tag},
		{`"other"`, tag},
		{`W/"x",W/"y", W/` + tag},
		{"*"},
		{" * "},
	} {
		tags, err := api.ParseTags(lines)
		if err != nil || !tags.Sent || !tags.Match(someSum) {
			t.Errorf("%q: %+v, %v; want a match", lines, tags, err)
			continue
		}
		if other := api.ChecksumOfString("other"); !tags.Any && tags.Match(other) {
			t.Errorf("%q matches another state too", lines)
		}
		if tags.Any && !slices.Equal(lines, []string{"*"}) && !slices.Equal(lines, []string{" * "}) {
			t.Errorf("%q is taken for *", lines)
		}
	}
}

// A tag of somebody else's, or a piece of ours, is read and never matches.
func TestParseTagsNeverMatchesStrangers(t *testing.T) {
	digits := strings.TrimPrefix(string(someSum), api.ChecksumPrefix)
	for _, line := range []string{
		`""`, `"x"`, `W/"x"`, `"*"`, `"` + digits[:63] + `"`, `"` + digits + `0"`, `"sha512:` + digits + `"`, `"` + digits + `-lzma"`, `"` + digits + `gzip"`,
		`"` + digits + `-"`, `"x` + digits + `"`, `"sha256:sha256:` + digits + `"`, `"ü"`, `"a", "b"`, `"` + string(api.ChecksumOfString("other")) + `"`,
	} {
		tags, err := api.ParseTags([]string{line})
		if err != nil || !tags.Sent || tags.Match(someSum) || tags.Any {
			t.Errorf("%s: %+v, %v; want it read, without a match", line, tags, err)
		}
	}
	if tags, err := api.ParseTags(nil); err != nil || tags.Sent || tags.Match(someSum) {
		t.Errorf("no header: %+v, %v", tags, err)
	}
	if tags, _ := api.ParseTags([]string{someSum.ETag()}); tags.Match("") {
		t.Error("a tag matches a repo without memory")
	}
}

func TestParseTagsRefuses(t *testing.T) {
	tag := someSum.ETag()
	for _, lines := range [][]string{
		{""},
		{" "},
		{"x"},
		{"abc-gzip"},
		{string(someSum)[:70]},
		{`"`},
		{`"abc`},
		{`abc"`},
		{tag + "x"},
		{tag + " " + tag},
		{`"a" "b"`},
		{"W/"},
		{`W/W/` + tag},
		{tag + ","},
		{"," + tag},
		{tag, ""},
		{"*", tag},
		{tag + ", *"},
		{"*,*"},
		{"**"},
		{`"a b"`},
		{"\"a\x00\""},
		{"\"a\x7f\""},
		{"W /" + tag},
		{"null"},
		{"12"},
	} {
		tags, err := api.ParseTags(lines)
		wantWireError(t, err, api.InvalidRequest, api.ErrorCodeBadPrecond)
		if tags.Match(someSum) || tags.Sent {
			t.Errorf("%q: an error and tags: %+v", lines, tags)
		}
	}
}

// FuzzParseTags: nothing matches but what spells out the checksum's digits, or *.
func FuzzParseTags(f *testing.F) {
	for _, seed := range []string{someSum.ETag(), "W/" + someSum.ETag(), string(someSum) + "-gzip", `"x", ` + someSum.ETag(), "*", `"`, ",", `"a,b"`} {
		f.Add(seed, "")
		f.Add(seed, seed)
	}
	digits := strings.TrimPrefix(string(someSum), api.ChecksumPrefix)
	f.Fuzz(func(t *testing.T, a, b string) {
		lines := []string{a}
		if b != "" {
			lines = append(lines, b)
		}
		tags, err := api.ParseTags(lines)
		if err != nil {
			if tags.Sent || tags.Match(someSum) {
				t.Fatalf("%q: an error and tags", lines)
			}
			return
		}
		both := strings.ToLower(a + "\n" + b)
		if tags.Match(someSum) && !strings.Contains(both, digits) && strings.Trim(a, " \t") != "*" {
			t.Fatalf("%q matches", lines)
		}
		for _, sum := range tags.List {
			if _, err := api.ParseChecksum(string(sum)); err != nil {
				t.Fatalf("%q gives the tag %q", lines, sum)
			}
			if !strings.Contains(both, strings.TrimPrefix(string(sum), api.ChecksumPrefix)) {
				t.Fatalf("%q gives the tag %q", lines, sum)
			}
		}
	})
}

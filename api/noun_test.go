package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
)

func TestChecksum(t *testing.T) {
	// The sum of no bytes, from FIPS 180-4's test vectors.
	if got := api.ChecksumOf(nil); got != someSum {
		t.Errorf("got %s, want %s", got, someSum)
	}
	for _, text := range []string{"", "abc", "a\r\nb", "\ufeffx", "e\u0301", strings.Repeat("x", 1<<16)} {
		if a, b := api.ChecksumOf([]byte(text)), api.ChecksumOfString(text); a != b {
			t.Errorf("%.10q: %s by bytes, %s by string", text, a, b)
		}
	}
	if api.ChecksumOfString("\u00e9") == api.ChecksumOfString("e\u0301") {
		t.Error("contents are normalised before they are summed")
	}
	sum, err := api.ParseChecksum(string(someSum))
	if err != nil || api.ChecksumFromSum(sum.Sum()) != someSum || sum.Short() != "e3b0c442" || sum.ETag() != `"`+string(someSum)+`"` {
		t.Errorf("%s, %v: sum %x, short %s, tag %s", sum, err, sum.Sum(), sum.Short(), sum.ETag())
	}
	for _, bad := range []string{"", "sha256:", string(someSum)[7:], string(someSum) + "0", string(someSum)[:70], strings.ToUpper(string(someSum)), "md5:" + string(someSum)[7:], someSum.ETag(), " " + string(someSum), "sha256:" + strings.Repeat("g", 64)} {
		if got, err := api.ParseChecksum(bad); err == nil || got != "" {
			t.Errorf("%q was taken as %q", bad, got)
		}
	}
	if sum := api.Checksum("short"); sum.Short() != "short" || sum.Sum() != [32]byte{} {
		t.Errorf("of what is no checksum: %q, %x", sum.Short(), sum.Sum())
	}
}

func TestTime(t *testing.T) {
	for in, want := range map[string]string{
		"2026-11-30T12:04:09Z":                "2026-11-30T12:04:09.000Z",
		"2026-11-30T12:04:09.5Z":              "2026-11-30T12:04:09.500Z",
		"2026-11-30T12:04:09.123456789Z":      "2026-11-30T12:04:09.123Z",
		"2026-11-30T12:04:09.9999+02:00":      "2026-11-30T10:04:09.999Z",
		"2026-01-01T00:30:00.000-01:00":       "2026-01-01T01:30:00.000Z",
		"1970-01-01T00:00:00Z":                "1970-01-01T00:00:00.000Z",
		"0001-01-01T00:00:00Z":                "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999999999-00:00": "9999-12-31T23:59:59.999Z",
	} {
		got, err := api.ParseTime(in)
		if err != nil || got.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
			continue
		}
		written, err := json.Marshal(got)
		if err != nil || string(written) != `"`+want+`"` {
			t.Errorf("%s is written %s, %v", in, written, err)
		}
		var again api.Time
		if err := json.Unmarshal([]byte(`"`+in+`"`), &again); err != nil || again != got {
			t.Errorf("%s is read as %s, %v", in, again, err)
		}
		byKey, err := json.Marshal(map[string]api.Time{"k": got})
		if err != nil || string(byKey) != `{"k":"`+want+`"}` {
			t.Errorf("in a map: %s, %v", byKey, err)
		}
	}
	for _, bad := range []string{"", "yesterday", "2026-11-30", "2026-11-30 12:04:09Z", "2026-11-30T12:04:09", "2026-13-30T12:04:09Z", "2026-11-31T12:04:09Z", "1764500000"} {
		if got, err := api.ParseTime(bad); err == nil {
			t.Errorf("%q was taken as %s", bad, got)
		}
	}
	for _, bad := range []string{`12`, `null`, `"x"`, `{}`, `""`} {
		var got api.Time
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s was taken as %s", bad, got)
		}
	}
	local := time.Date(2026, 11, 30, 12, 0, 0, 1_999_999, time.FixedZone("x", 3600))
	if got := api.NewTime(local).String(); got != "2026-11-30T11:00:00.001Z" {
		t.Errorf("a local time is written %s", got)
	}
}

// Each role may do what the one before it may; nobody and nonsense may nothing.
func TestRoles(t *testing.T) {
	type row struct{ public, known, read, write bool }
	for role, want := range map[api.Role]row{
		"":             {public: true},
		"root":         {public: true},
		"ADMIN":        {public: true},
		api.Viewer:     {true, true, true, false},
		api.Member:     {true, true, true, true},
		api.Maintainer: {true, true, true, true},
		api.Admin:      {true, true, true, true},
	} {
		got := row{role.May(api.Public), role.May(api.Known), role.May(api.Read), role.May(api.Write)}
		if got != want {
			t.Errorf("%q: %+v, want %+v", role, got, want)
		}
		for _, right := range []api.Right{"", "owns", "WRITE"} {
			if role.May(right) {
				t.Errorf("%q may %q", role, right)
			}
		}
	}
	for _, role := range api.Roles {
		if got, err := api.ParseRole(string(role)); err != nil || got != role {
			t.Errorf("%s: %s, %v", role, got, err)
		}
	}
	for _, bad := range []string{"", "Admin", "admin ", "owner"} {
		if got, err := api.ParseRole(bad); err == nil || !strings.Contains(err.Error(), "viewer") {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}

// Only what the table says is open is open, and reading never writes.
func TestRoutes(t *testing.T) {
	open := map[string]bool{api.PathOpenAPI: true, api.PathWellKnown: true, api.PathHealth: true, api.PathReady: true}
	for _, route := range api.Routes {
		if (route.Right == api.Public) != open[route.Pattern] {
			t.Errorf("%s %s has the right %s", route.Method, route.Pattern, route.Right)
		}
		// Everybody signs in and out, tokens of one's own are made with any role, and whoever
		// reads says how their client is.
		own := route.Pattern == api.PathTokens || route.Pattern == api.PathSession || route.Pattern == api.PathClients
		if reads := api.Viewer.May(route.Right); !own && (route.Method == http.MethodGet && !reads && route.Right != api.Administer || route.Method != http.MethodGet && reads) {
			t.Errorf("%s %s has the right %s", route.Method, route.Pattern, route.Right)
		}
		if !api.Admin.May(route.Right) {
			t.Errorf("nobody may %s %s", route.Method, route.Pattern)
		}
	}
}

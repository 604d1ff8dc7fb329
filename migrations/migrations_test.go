package migrations

import (
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// narrows are what a server of the version before would trip over.
var narrows = regexp.MustCompile(`(?i)\b(DROP\s+(TABLE|COLUMN|DEFAULT)|RENAME\s|SET\s+NOT\s+NULL|ALTER\s+COLUMN\s+\w+\s+(SET\s+DATA\s+)?TYPE|ADD\s+CONSTRAINT)`)

// added is a new column. A server of the version before does not know to fill it in.
var added = regexp.MustCompile(`(?i)\bADD\s+COLUMN\s+[^,;]*`)

// firstRule is the first migration that the rule is about; servers before it were
// replaced all at once.
const firstRule = 11

// contracting are the migrations that take away what no server needs any more: what was
// no longer written or read by the release before. Each says which one that was.
var contracting = map[string]string{}

// comment is what stands after -- on a line.
var comment = regexp.MustCompile(`--[^\n]*`)

// broken says what of a migration servers of the version before cannot live with.
func broken(text string) string {
	text = comment.ReplaceAllString(text, "")
	if found := narrows.FindString(text); found != "" {
		return found
	}
	for _, found := range added.FindAllString(text, -1) {
		if upper := strings.ToUpper(found); strings.Contains(upper, "NOT NULL") && !strings.Contains(upper, "DEFAULT") {
			return found
		}
	}
	return ""
}

// TestServersOfBeforeGoOn: a migration only adds, so that servers of the version before
// go on while those of the new one come up beside them.
func TestServersOfBeforeGoOn(t *testing.T) {
	looked := 0
	for _, folder := range []string{Postgres, SQLite} {
		paths, err := fs.Glob(FS, folder+"/*.up.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range paths {
			number, _, _ := strings.Cut(path.Base(file), "_")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			text, err := fs.ReadFile(FS, file)
			if err != nil {
				t.Fatal(err)
			}
			if n < firstRule || contracting[file] != "" {
				continue
			}
			looked++
			if what := broken(string(text)); what != "" {
				t.Errorf("%s: servers of the version before trip over %q: add now, and take away a release later (docs/operate.md)", file, what)
			}
		}
	}
	if looked == 0 {
		t.Error("no migration was looked at")
	}
}

func TestBrokenFindsWhatIsPlanted(t *testing.T) {
	for text, bad := range map[string]bool{
		"CREATE TABLE a (b text NOT NULL);":                          false,
		"ALTER TABLE a ADD COLUMN b text;":                           false,
		"ALTER TABLE a ADD COLUMN b bigint NOT NULL DEFAULT 0;":      false,
		"-- DROP TABLE would be too early\nCREATE INDEX i ON a (b);": false,
		"ALTER TABLE a ADD COLUMN b bigint NOT NULL;":                true,
		"ALTER TABLE a DROP COLUMN b;":                               true,
		"ALTER TABLE a RENAME COLUMN b TO c;":                        true,
		"ALTER TABLE a ALTER COLUMN b TYPE bigint;":                  true,
		"drop table a;": true,
	} {
		if got := broken(text) != ""; got != bad {
			t.Errorf("%s: %v, want %v", text, got, bad)
		}
	}
}

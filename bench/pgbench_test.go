package bench

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// inlineTables are what one would write first: texts stand where they belong, and
// Postgres packs them.
const inlineTables = `
CREATE TABLE inline_entries (repo_id bigint, key text COLLATE "C", fold text COLLATE "C" NOT NULL, deleted boolean NOT NULL,
	checksum bytea NOT NULL, size integer NOT NULL, modified timestamptz, version bigint NOT NULL, content text, PRIMARY KEY (repo_id, key));
CREATE UNIQUE INDEX inline_live ON inline_entries (repo_id, fold) WHERE NOT deleted;
CREATE TABLE inline_history (repo_id bigint, version bigint, key text COLLATE "C", deleted boolean NOT NULL,
	checksum bytea NOT NULL, previous bytea, size integer NOT NULL, modified timestamptz, content text, PRIMARY KEY (repo_id, version, key));
CREATE INDEX inline_history_of_key ON inline_history (repo_id, key, version);
INSERT INTO inline_entries SELECT repo_id, key, fold, deleted, checksum, size, modified, version, '' FROM entries`

// copyOf makes a copy of a database at the same server. Nobody may be connected.
func copyOf(b *testing.B, dsn string) string {
	b.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		b.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	admin := u.String()
	execute(b, admin, "CREATE DATABASE "+name+"_copy TEMPLATE "+name)
	b.Cleanup(func() { execute(b, admin, "DROP DATABASE IF EXISTS "+name+"_copy WITH (FORCE)") })
	u.Path = "/" + name + "_copy"
	return u.String()
}

func makeInlineTables(b *testing.B, dsn string) {
	b.Helper()
	for statement := range strings.SplitSeq(inlineTables, ";") {
		execute(b, dsn, statement)
	}
}

func execute(b *testing.B, dsn, statement string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		b.Fatalf("%.60s: %v", statement, err)
	}
}

// putOf is a PUT of so many entries to one of so many repos.
type putOf struct{ entries, repos int }

// The arrays of a PUT as SQL expressions. Contents' checksums are made from a random
// number, so that each content is a new one; the contents themselves come from
// pgbench's variables, as bytes that a client sends.
func (p putOf) keys() string {
	return p.array("text", `'notes/topic-' || lpad(:key%d::text, 6, '0') || '.md'`)
}
func (p putOf) folderAndKeys() string { return `('{notes}'::text[] || ` + p.keys() + `)` }
func (p putOf) sums() string {
	return p.array("bytea", `sha256(convert_to(:stamp::text || '-%d', 'UTF8'))`)
}
func (p putOf) data() string    { return p.array("bytea", `:data%d::bytea`) }
func (p putOf) texts() string   { return p.array("text", `:text%d::text`) }
func (p putOf) sizes() string   { return p.array("integer", strconv.Itoa(entrySize)+` + 0 * %d`) }
func (p putOf) codings() string { return p.array("smallint", `1 + 0 * %d`) }
func (p putOf) no() string      { return p.array("boolean", `%d < 0`) }
func (p putOf) now() string     { return p.array("timestamptz", `now() + %d * interval '1 ms'`) }

// array is an SQL array of expressions, with their number in place of %d.
func (p putOf) array(of, expression string) string {
	parts := make([]string, p.entries)
	for i := range parts {
		parts[i] = fmt.Sprintf(expression, i)
	}
	return "ARRAY[" + strings.Join(parts, ", ") + "]::" + of + "[]"
}

// variables begin a script: which repo, which keys, which contents.
func (p putOf) variables() string {
	var s strings.Builder
	fmt.Fprintf(&s, "\\set repo random(0, %d)\n\\set stamp random(1, 9000000000000000000)\n", p.repos-1)
	for i := range p.entries {
		fmt.Fprintf(&s, "\\set key%d random(0, %d) * %d + %d\n", i, standing/p.entries-1, p.entries, i)
	}
	return s.String()
}

const (
	slugOf  = `('acme/repo-' || :repo::text)`
	repoOf  = `:r_id`
	nextOf  = `(:r_version::bigint + 1)`
	checkOf = `sha256(convert_to(:stamp::text, 'UTF8'))`
)

// own is a PUT by the product's statements, one after the other. Which contents must
// not come back is asked only where lockHead says that there are any, and here are none.
func (p putOf) own(s statements) string {
	return p.variables() + strings.Join([]string{
		s["beginWrite"],
		s.with("setWrite", `'60000'`, "1", ":org::integer"),
		s.with("lockHead", ":org", slugOf) + ` \gset r_` + "\n" + s.with("selectState", ":org", slugOf, p.keys(), p.folderAndKeys(), p.keys()),
		s.with("insertBodies", ":org", p.sums(), p.sizes(), p.codings(), p.data()),
		s.with("upsertEntries", repoOf, nextOf, p.keys(), p.keys(), p.no(), p.sums(), p.sizes(), p.now()),
		s.with("insertHistory", repoOf, nextOf, p.keys(), p.no(), p.sums(), p.sums(), p.sizes(), p.now()),
	}, ";\n") + ";\n" + ending(s)
}

// ending are the rows that a version has one of.
func ending(s statements) string {
	return strings.Join([]string{
		s.with("insertVersion", repoOf, nextOf, "now()", "1", "1", "'bench'", checkOf),
		s.with("insertAudit", repoOf, nextOf, "now()", "'push'", "'dana'", "'tok_0123456789abcdef'", "'bench'", ":subject", checkOf, checkOf),
		s.with("updateHead", repoOf, nextOf, checkOf, strconv.Itoa(standing), "2048000", "now()", ":set::bytea", checkOf, "0", "0"),
		s["commit"],
	}, ";\n") + ";\n"
}

// inline is the same with the texts in both tables and no bodies.
func (p putOf) inline(s statements) string {
	inline := statements{}
	for _, name := range []string{"selectState", "upsertEntries", "insertHistory"} {
		text := strings.NewReplacer(
			"FROM entries", "FROM inline_entries", "INTO entries", "INTO inline_entries", "INTO history", "INTO inline_history",
			"size, modified)", "size, modified, content)", "timestamptz[])", "timestamptz[], $9::text[])",
			"modified = excluded.modified", "modified = excluded.modified, content = excluded.content",
		).Replace(s[name])
		inline[name] = text
	}
	return p.variables() + strings.Join([]string{
		s["beginWrite"],
		s.with("setWrite", `'5000'`, "1", ":org::integer"),
		s.with("lockHead", ":org", slugOf) + ` \gset r_` + "\n" + inline.with("selectState", ":org", slugOf, p.keys(), p.folderAndKeys(), p.keys()),
		inline.with("upsertEntries", repoOf, nextOf, p.keys(), p.keys(), p.no(), p.sums(), p.sizes(), p.now(), p.texts()),
		inline.with("insertHistory", repoOf, nextOf, p.keys(), p.no(), p.sums(), p.sums(), p.sizes(), p.now(), p.texts()),
	}, ";\n") + ";\n" + ending(s)
}

func writeScript(b *testing.B, script func(statements) string) string {
	b.Helper()
	own, err := readStatements("postgres")
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "script.sql")
	if err := os.WriteFile(path, []byte(script(own)), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

var tps = regexp.MustCompile(`tps = ([\d.]+)`)

// pgbench is one turn of the peer: as many clients as the product has writers, each
// statement prepared once a connection.
func pgbench(b *testing.B, dsn, script string) round {
	b.Helper()
	arguments := []string{
		"-n", "-M", "prepared", "-c", strconv.Itoa(writers), "-j", "2", "-T", strconv.Itoa(int(writeTime.Seconds())), "-f", script,
		"-D", "org=2", "-D", "set=" + bytea(make([]byte, 2048)), "-D", "subject=" + subject(),
	}
	for i := range perPut {
		text := words(uint64(i), entrySize)
		packed := store.Pack(api.ChecksumOf([]byte(text)), []byte(text))
		arguments = append(arguments, "-D", fmt.Sprintf("data%d=%s", i, bytea(packed.Data)), "-D", fmt.Sprintf("text%d=%s", i, text))
	}
	said := output(b, exec.Command("pgbench", append(arguments, dsn)...))
	found := tps.FindStringSubmatch(said)
	if found == nil {
		b.Fatalf("pgbench says %s", said)
	}
	rate, _ := strconv.ParseFloat(found[1], 64)
	return round{rate: rate}
}

func bytea(data []byte) string { return `\x` + hex.EncodeToString(data) }

// subject is what an audit record of such a PUT says.
func subject() string {
	p := audit.Push{Checksum: api.ChecksumOf(nil)}
	for i := range perPut {
		p.Keys = append(p.Keys, audit.KeyChange{Key: api.Key(topic(i)), Before: api.ChecksumOf(nil), After: api.ChecksumOf(nil)})
	}
	return string(p.Subject())
}

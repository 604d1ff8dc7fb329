package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	writeRounds  = 9
	writeTime    = 3 * time.Second // a turn
	writers      = 32
	writtenRepos = 100
	standing     = 500 // entries in each of the repos
	perPut       = 10
	entrySize    = 4096
)

// BenchmarkPutPostgres pushes ten entries of 4 KB from 32 writers to 100 repos, over
// HTTP, to a Postgres that flushes. The peer is pgbench, which runs the product's own
// statements on a copy of the database, at the same server.
func BenchmarkPutPostgres(b *testing.B) {
	needs(b, "pgbench")
	ours := filled(b, openPostgres(b), writtenRepos)
	copied := copyOf(b, ours.dsn)
	makeInlineTables(b, copied)
	ours.restart(b)
	ten := putOf{entries: perPut, repos: writtenRepos}
	script := writeScript(b, ten.own)
	b.Run("of=own-statements", func(b *testing.B) {
		theirRounds, ourRounds := turns(b, writeRounds,
			func() round { return pgbench(b, copied, script) },
			func() round { return pushed(b, ours) })
		compare(b, 0.85, theirRounds, ourRounds)
	})
	// What the schema is worth: the same by inline text that Postgres compresses.
	inline := writeScript(b, ten.inline)
	b.Run("own-statements-of=inline-text", func(b *testing.B) {
		inlineRounds, ownRounds := turns(b, writeRounds,
			func() round { return pgbench(b, copied, inline) },
			func() round { return pgbench(b, copied, script) })
		compare(b, 1, inlineRounds, ownRounds)
	})
}

// BenchmarkPutSQLite is the same on SQLite. The peer is a bare loop that runs the
// product's own statements on a copy of the file, through the same driver.
func BenchmarkPutSQLite(b *testing.B) {
	ours := filled(b, openDatabases[0].open(b), writtenRepos)
	copied := filepath.Join(b.TempDir(), "copy.db")
	copyFile(b, ours.path(), copied)
	ours.restart(b)
	theirRounds, ourRounds := turns(b, writeRounds,
		func() round {
			said := output(b, peer("sqlite", copied, fmt.Sprint(ours.org), writeTime.String()))
			return scanned(b, said)
		},
		func() round { return pushed(b, ours) })
	compare(b, 0.8, theirRounds, ourRounds)
}

// scanned reads what a peer says of itself: pushes a second, and seconds of
// processor time a push.
func scanned(b *testing.B, said string) (r round) {
	b.Helper()
	if _, err := fmt.Sscan(said, &r.rate, &r.cpu); err != nil {
		b.Fatalf("the peer says %q: %v", said, err)
	}
	return r
}

func openPostgres(b *testing.B) database {
	b.Helper()
	return openDatabases[1].open(b)
}

// filled serves a database, fills the repos that are written to, and stops serving,
// so that the database can be copied.
func filled(b *testing.B, d database, repos int) *product {
	b.Helper()
	ours := serve(b, d)
	for n := range repos {
		ours.fill(b, writtenRepo(n), standing)
	}
	ours.stop()
	return ours
}

func writtenRepo(n int) string { return fmt.Sprintf("acme/repo-%d", n) }

func copyFile(b *testing.B, from, to string) {
	b.Helper()
	source, err := os.Open(from)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	target, err := os.Create(to)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		b.Fatal(err)
	}
	if err := target.Close(); err != nil {
		b.Fatal(err)
	}
}

// pushed is one turn of the product.
func pushed(b *testing.B, p *product) round {
	b.Helper()
	return p.measured(func() (float64, time.Duration) {
		var done atomic.Int64
		var group errgroup.Group
		begun := time.Now()
		for range writers {
			group.Go(func() error {
				body := newPush()
				for time.Since(begun) < writeTime {
					repo := writtenRepo(rand.IntN(writtenRepos))
					if err := p.put(repo, body.next(standing), "*"); err != nil {
						return err
					}
					done.Add(1)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
		return float64(done.Load()), time.Since(begun)
	})
}

// push is the body of a PUT of ten entries of 4 KB. It is made once and changed in
// place, so that making it costs the benchmark next to nothing.
type push struct {
	body   []byte
	keys   [perPut]int // where in body a key's number stands, of six digits
	stamps [perPut]int // where stand 16 digits that make a content a new one
}

const (
	keyDigits   = 6
	stampDigits = 16
)

func newPush() *push {
	p := &push{}
	body := []byte(`{"entries":{`)
	for i := range perPut {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `"notes/topic-`...)
		p.keys[i] = len(body)
		body = fmt.Appendf(body, `%0*d.md":"`, keyDigits, 0)
		p.stamps[i] = len(body)
		body = fmt.Appendf(body, `%0*x%s"`, stampDigits, 0, words(uint64(i), entrySize-stampDigits))
	}
	p.body = append(body, `}}`...)
	return p
}

// next gives the body new contents, under keys of a repo of so many entries.
func (p *push) next(entries int) []byte {
	for i := range perPut {
		number := rand.IntN(entries/perPut)*perPut + i
		copy(p.body[p.keys[i]:], fmt.Sprintf("%0*d", keyDigits, number))
		copy(p.body[p.stamps[i]:], fmt.Sprintf("%0*x", stampDigits, rand.Uint64()))
	}
	return p.body
}

// words are so many bytes of words, so that they pack as notes do.
func words(seed uint64, bytes int) string {
	random := rand.New(rand.NewPCG(seed, 7))
	var text strings.Builder
	for text.Len() < bytes {
		text.WriteString(syllables[random.IntN(len(syllables))])
		text.WriteString(syllables[random.IntN(len(syllables))])
		text.WriteByte(' ')
	}
	return text.String()[:bytes]
}

var syllables = strings.Fields(`ab ac ad al an ar as at ba be bi bo ca ce co da de di do ed el em en er es et fa fe fi fo ga ge go
ha he hi ho in ir is it ka ke ki la le li lo ma me mi mo na ne ni no on or os pa pe pi po ra re ri ro sa se si so ta te ti to un ur us va ve vi wa we`)

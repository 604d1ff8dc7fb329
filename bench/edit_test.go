package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammem/api"
)

// BenchmarkPutOneRepo edits one entry of 4 KB a PUT, from 32 writers in one repo, each
// with keys of its own and the checksum that it edits from, to a Postgres that
// flushes. The peer is pgbench, which runs the product's own statements for one entry on
// one repo of a copy of the database, at the same server.
func BenchmarkPutOneRepo(b *testing.B) {
	needs(b, "pgbench")
	ours := filled(b, openPostgres(b), 1)
	copied := copyOf(b, ours.dsn)
	ours.restart(b)
	one := putOf{entries: 1, repos: 1}
	script := writeScript(b, one.own)
	crowd := newEditors(one)
	theirRounds, ourRounds := turns(b, writeRounds,
		func() round { return pgbench(b, copied, script) },
		func() round { return ours.measured(func() (float64, time.Duration) { return crowd.edit(b, ours) }) })
	compare(b, 2, theirRounds, ourRounds)
}

// editors are writers who remember what they wrote.
type editors []*editor

// keysEach is how many keys of a repo a writer edits, which nobody else does.
const keysEach = standing / writers

func newEditors(p putOf) editors {
	all := make(editors, writers)
	for n := range all {
		all[n] = &editor{putOf: p, first: n * keysEach, stand: map[place]api.Checksum{}}
		for i := range p.entries {
			all[n].texts = append(all[n].texts, []byte(words(uint64(n*perPut+i), entrySize)))
		}
	}
	return all
}

// edit is one turn, at servers in turn.
func (all editors) edit(b *testing.B, servers ...*product) (pushes float64, took time.Duration) {
	b.Helper()
	var done atomic.Int64
	var group errgroup.Group
	begun := time.Now()
	for n, e := range all {
		group.Go(func() error {
			for time.Since(begun) < writeTime {
				if err := e.push(servers[n%len(servers)]); err != nil {
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
}

// place is a key of a repo, both by number.
type place struct{ repo, key int }

type editor struct {
	putOf
	first int // of its keys
	texts [][]byte
	stand map[place]api.Checksum // what it wrote; elsewhere stands what the repo was filled with
	body  bytes.Buffer
}

// push edits so many keys of some repo, each from what stands.
func (e *editor) push(server *product) error {
	repo := rand.IntN(e.repos)
	keys := rand.Perm(keysEach)[:e.entries]
	sums := make([]api.Checksum, e.entries)
	e.body.Reset()
	e.body.WriteString(`{"entries":{`)
	for i, key := range keys {
		copy(e.texts[i], fmt.Sprintf("%0*x", stampDigits, rand.Uint64()))
		sums[i] = api.ChecksumOf(e.texts[i])
		fmt.Fprintf(&e.body, `%s%q:"%s"`, comma(i), topic(e.first+key), e.texts[i])
	}
	e.body.WriteString(`},"baseChecksums":{`)
	for i, key := range keys {
		base, wrote := e.stand[place{repo, key}]
		if !wrote {
			base = api.ChecksumOfString(strconv.Itoa((e.first + key) % 100))
		}
		fmt.Fprintf(&e.body, `%s%q:%q`, comma(i), topic(e.first+key), base)
	}
	e.body.WriteString(`}}`)
	if err := server.put(writtenRepo(repo), e.body.Bytes(), ""); err != nil {
		return err
	}
	for i, key := range keys {
		e.stand[place{repo, key}] = sums[i]
	}
	return nil
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

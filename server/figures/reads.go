package figures

import (
	"context"
	"maps"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

const (
	// readsEvery is how many writes of figures there are to one of reads: once a minute.
	readsEvery = 12
	// mostReads bounds the entries that wait for one write; more are not counted.
	mostReads = 65_536
	// readsAtOnce is how many are written in one transaction.
	readsAtOnce = 500
	// mostServed bounds the views that are counted as a whole before their entries are.
	mostServed = 64
)

type read struct {
	repo store.RepoID
	key  api.Key
}

// served is a view that was served as it is, several times.
type served struct {
	repo  store.RepoID
	rows  []store.Row
	times int64
}

// Read counts texts that were served. It never waits. Rows that come again, the same ones
// in the same place, cost no more than one; nobody may change them.
func (d *Desk) Read(repo store.RepoID, rows ...store.Row) {
	if len(rows) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	first := &rows[0] // of all rows that are held, only these begin there
	if of := d.served[first]; of != nil && len(of.rows) == len(rows) {
		of.times++
		return
	}
	if len(d.served) == mostServed || d.served[first] != nil {
		d.countServed()
	}
	d.served[first] = &served{repo, rows, 1}
}

// countServed counts the entries of the views that were served.
func (d *Desk) countServed() {
	for first, of := range d.served {
		delete(d.served, first)
		for i := range of.rows {
			d.addReads(store.Reads{Repo: of.repo, Key: of.rows[i].Key, Count: of.times})
		}
	}
}

func (d *Desk) addReads(r store.Reads) {
	at := read{r.Repo, r.Key}
	if before, known := d.reads[at]; known || len(d.reads) < mostReads {
		d.reads[at] = before + r.Count
	}
}

// Reads says how often the texts of entries were served, written or not.
func (d *Desk) Reads(ctx context.Context, repo store.RepoID, keys []api.Key) (map[api.Key]int64, error) {
	d.noting.RLock()
	defer d.noting.RUnlock()
	found, err := d.store.Reads(ctx, repo, keys)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.countServed()
	for _, key := range keys {
		if n := d.reads[read{repo, key}]; n > 0 {
			found[key] += n
		}
	}
	return found, nil
}

// writeReads writes what waits, in an order that servers share. What could not be
// written waits on.
func (d *Desk) writeReads(ctx context.Context) {
	d.noting.Lock()
	defer d.noting.Unlock()
	d.mu.Lock()
	d.countServed()
	waiting := d.reads
	d.reads = map[read]int64{}
	d.mu.Unlock()
	all := make([]store.Reads, 0, len(waiting))
	for at, n := range waiting {
		all = append(all, store.Reads{Repo: at.repo, Key: at.key, Count: n})
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	for batch := range slices.Chunk(all, readsAtOnce) {
		err := d.store.NoteReads(ctx, batch)
		if err == nil {
			for _, r := range batch {
				delete(waiting, read{r.Repo, r.Key})
			}
			continue
		}
		d.log.WarnContext(ctx, "what was read is noted late", "entries", len(waiting), "error", err)
		break
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for at, n := range maps.All(waiting) {
		d.addReads(store.Reads{Repo: at.repo, Key: at.key, Count: n})
	}
}

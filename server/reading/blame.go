package reading

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// What of a history a blame looks at: lines that are older are said to be.
const (
	blameVersions = 200
	blameBytes    = 16 << 20
)

// Change is who made a version of an entry, and when.
type Change struct {
	Version api.Version
	At      time.Time
	User    string
	Client  string
}

// Line is one line of an entry and the change that it came with.
type Line struct {
	Number int
	Text   string // with its end
	Change
	Older bool // it came with this change or before: what is older was not looked at
}

// Revision is a text of an entry and the change that made it so.
type Revision struct {
	Change
	Text string // empty where the entry was deleted
}

// Blame says for each line of the last of some revisions, the oldest first, with which
// it came. Where more is set the first is not the entry's first.
func Blame(revisions []Revision, more bool) []Line {
	var lines []Line
	before := ""
	for i, r := range revisions {
		fresh := Line{Change: r.Change, Older: i == 0 && more}
		lines = carry(lines, before, r.Text, fresh)
		before = r.Text
	}
	for i := range lines {
		lines[i].Number = i + 1
	}
	return lines
}

// carry takes over the lines that both texts have; those that are new are fresh.
func carry(lines []Line, before, after string, fresh Line) []Line {
	all := make([]Line, 0, len(lines))
	old, at := 0, 0 // the line and the offset in before that come next
	add := func(text string) {
		for line := range strings.Lines(text) {
			made := fresh
			made.Text = line
			all = append(all, made)
		}
	}
	pass := func(to int, keep bool) {
		for at < to {
			next := to
			if n := strings.IndexByte(before[at:to], '\n'); n >= 0 {
				next = at + n + 1
			}
			if keep {
				all = append(all, lines[old])
			}
			old, at = old+1, next
		}
	}
	for _, e := range udiff.Lines(before, after) {
		pass(e.Start, true)
		pass(e.End, false)
		add(e.New)
	}
	pass(len(before), true)
	return all
}

// Blame says who wrote each line of an entry as it stands. The error is
// [api.NotFound] where there is none. Texts that were withdrawn are passed over: their
// lines came with the next change that has them.
func (d *Desk) Blame(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, key api.Key) ([]Line, error) {
	past, err := d.ledger.History(ctx, caller, repo, key, 0, blameVersions+1)
	if err != nil {
		return nil, err
	}
	if len(past) == 0 || past[0].Deleted {
		return nil, noEntry(key)
	}
	more := len(past) > blameVersions
	past = past[:min(len(past), blameVersions)]
	size := 0
	for i, p := range past {
		if size += p.Size; i > 0 && size > blameBytes {
			past, more = past[:i], true
			break
		}
	}
	// What was before the first may have gone by retention.
	more = more || past[len(past)-1].Previous != ""
	slices.Reverse(past)
	revisions, err := d.revisions(ctx, caller, past)
	return Blame(revisions, more), err
}

// revisions reads the texts of changes, but those that are gone.
func (d *Desk) revisions(ctx context.Context, caller ledger.Caller, past []store.Past) ([]Revision, error) {
	var all []Revision
	for i, p := range past {
		r := Revision{Change: Change{p.Version, p.At, p.UserName, p.Client}}
		if !p.Deleted {
			err := d.ledger.Bodies(ctx, caller, []store.Row{{Key: p.Key, Checksum: p.Checksum}}, func(_ store.Row, content []byte) error {
				r.Text = string(content)
				return ctx.Err()
			})
			if api.CodeOf(err) == api.NotFound && i < len(past)-1 {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		all = append(all, r)
	}
	return all, nil
}

func noEntry(key api.Key) error {
	return &api.Error{
		Code: api.NotFound, Message: "there is no entry " + string(key),
		Details: api.Details{ErrorCode: api.ErrorCodeNoEntry, Key: key},
	}
}

package carry

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/archive"
	"github.com/teammem/teammem/client/remote"
)

// ErrEmpty says that a repo has no memory to export.
var ErrEmpty = errors.New("the repo has no memory yet")

// Taken is a repo as it was taken out of a server.
type Taken struct {
	archive.Manifest
	texts map[api.Key]string
}

// Text is the text of an entry.
func (t *Taken) Text(key api.Key) (string, error) {
	text, ok := t.texts[key]
	if !ok {
		return "", fmt.Errorf("there is no entry %q", key)
	}
	return text, nil
}

// Export reads a repo. With history its changes are written to it, oldest first, and
// the manifest says what they are. Exported and By are the caller's to say.
func Export(ctx context.Context, server Server, at string, repo api.RepoSlug, history io.Writer, progress Progress) (*Taken, error) {
	answer, err := server.Get(ctx, repo, remote.Query{})
	switch {
	case err != nil:
		return nil, err
	case answer.NoMemory:
		return nil, ErrEmpty
	}
	m := answer.Memory
	t := &Taken{texts: m.Content.Entries, Manifest: archive.Manifest{
		Server: at, OrgID: m.OrganizationID, Repo: m.Repo, Version: m.Version, Epoch: m.Epoch, Checksum: m.Checksum,
		Entries: []archive.Entry{},
	}}
	for _, key := range api.SortedKeys(m.Content.Entries) {
		text := m.Content.Entries[key]
		sum := api.ChecksumOfString(text)
		if told, ok := m.Content.EntryChecksums[key]; ok && told != sum {
			return nil, api.Errorf(api.Internal, "the server's text of %q does not have the checksum that it names", key)
		}
		t.Entries = append(t.Entries, archive.Entry{Key: key, Checksum: sum, Bytes: len(text), Modified: m.Content.EntryModified[key]})
	}
	changes, err := t.changes(ctx, server, history != nil, progress)
	if err != nil || history == nil {
		return t, err
	}
	return t, t.writeHistory(ctx, server, changes, history, progress)
}

// changes reads the history up to the version that was taken, newest first, and notes
// who wrote each entry. Unless all of it is wanted it ends where every entry's author is
// known.
func (t *Taken) changes(ctx context.Context, server Server, all bool, progress Progress) (changes []api.HistoryChange, err error) {
	wanted := make(map[api.Key]*archive.Entry, len(t.Entries))
	for i := range t.Entries {
		wanted[t.Entries[i].Key] = &t.Entries[i]
	}
	for cursor, more := "", true; more && (all || len(wanted) > 0); more = cursor != "" {
		page, err := server.History(ctx, t.Repo, "", api.MaxPage, cursor)
		if err != nil {
			return nil, fmt.Errorf("read the history: %w", err)
		}
		for _, c := range page.Changes {
			if c.Version > t.Version {
				continue // it came while we read
			}
			if e := wanted[c.Key]; e != nil {
				delete(wanted, c.Key)
				if c.Checksum == e.Checksum && !c.Deleted {
					e.Version, e.At, e.User, e.Client = c.Version, c.At, c.User, c.Client
				}
			}
			if all {
				changes = append(changes, c)
			}
		}
		cursor = page.NextCursor
		progress("listing", len(changes), 0)
	}
	return changes, nil
}

// writeHistory writes the changes with their texts, the oldest first.
func (t *Taken) writeHistory(ctx context.Context, server Server, changes []api.HistoryChange, to io.Writer, progress Progress) error {
	slices.Reverse(changes)
	counted := &counter{hash: sha256.New()}
	out := bufio.NewWriterSize(io.MultiWriter(to, counted), 1<<16)
	line := json.NewEncoder(out)
	line.SetEscapeHTML(false)
	for i, c := range changes {
		past := api.EntryAt{HistoryChange: c}
		if !c.Deleted && c.Redacted == nil {
			var err error
			if past, err = server.Entry(ctx, t.Repo, c.Key, c.Version); err != nil {
				return fmt.Errorf("read %s as of version %d: %w", c.Key, c.Version, err)
			}
			past.HistoryChange = c
		}
		if err := line.Encode(past); err != nil {
			return fmt.Errorf("write the history: %w", err)
		}
		progress("reading", i+1, len(changes))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	t.History = &archive.History{Changes: len(changes), Bytes: counted.n, Checksum: api.ChecksumFromSum([sha256.Size]byte(counted.hash.Sum(nil)))}
	return nil
}

type counter struct {
	hash hash.Hash
	n    int64
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.hash.Write(b)
}

package syncer

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/remote"
)

// fetch asks the server what it has, or remembers it when mode is Edits. news is
// false when that is what it had before. Who never heard of it, or has forgotten,
// asks in any case: a file that looks new may be one that was deleted there.
func (s *Syncer) fetch(ctx context.Context, mode Mode) (t *there, news bool, err error) {
	if mode == Edits && s.agreed.Version > 0 {
		return s.remembered(), false, nil
	}
	answer, err := s.server.Get(ctx, s.opts.Repo, remote.Query{Since: s.agreed.Version, IfNoneMatch: s.agreed.Checksum})
	switch {
	case err != nil:
		return nil, false, err
	case answer.NotModified && s.agreed.Checksum != "":
		return s.remembered(), false, nil
	case answer.NotModified:
		return nil, false, &remote.Stranger{What: "says that nothing changed since a state it was not asked about"}
	case answer.NoMemory:
		t, err = s.fetchedNothing()
		return t, s.agreed.Version > 0, err
	}
	t, err = s.fetched(ctx, answer.Memory)
	return t, true, err
}

// fetchedNothing believes that a repo has no memory yet only while we know of
// none either.
func (s *Syncer) fetchedNothing() (*there, error) {
	if s.agreed.Version > 0 && !s.opts.Accept {
		return nil, &Halt{
			Why:  fmt.Sprintf("the server says that %s has no memory, but version %d of it was synced here", s.opts.Repo, s.agreed.Version),
			Hint: "is it the right server and organization? to push everything there anew: client sync --once --accept",
		}
	}
	t := s.remembered()
	t.heard, t.restored = true, s.agreed.Version > 0
	t.version, t.checksum, t.epoch = 0, "", ""
	clear(t.live)
	clear(t.deleted)
	return t, nil
}

// fetched checks an answer against what is known and turns it into the whole
// state of the server.
func (s *Syncer) fetched(ctx context.Context, m api.Memory) (*there, error) {
	if err := s.checkIdentity(m); err != nil {
		return nil, err
	}
	restored := m.Version < s.agreed.Version || s.agreed.Epoch != "" && m.Epoch != s.agreed.Epoch
	if restored {
		if !s.opts.Accept {
			return nil, s.restoredHalt(m)
		}
	}
	// Version numbers of another life mean nothing.
	if m.Partial && (restored || s.unburies(m.Deleted)) {
		answer, err := s.server.Get(ctx, s.opts.Repo, remote.Query{})
		if err != nil {
			return nil, err
		}
		return s.fetched(ctx, answer.Memory)
	}
	t := s.remembered()
	t.displaceTwins(m.Content.Entries)
	if !m.Partial {
		clear(t.live)
		clear(t.deleted)
	}
	for key, d := range t.displaced {
		delete(t.live, key)
		t.deleted[key] = d.sum
	}
	t.version, t.epoch, t.checksum, t.heard, t.restored = m.Version, m.Epoch, m.Checksum, true, restored
	for _, key := range api.SortedKeys(m.Content.Entries) {
		s.fetchedEntry(t, m, key)
	}
	t.redacted = make(map[api.Checksum]bool, len(m.Redacted))
	for _, sum := range m.Redacted {
		t.redacted[sum] = true
	}
	for key, sum := range m.Deleted {
		if _, err := api.ParseKey(string(key)); err == nil {
			delete(t.live, key)
			t.deleted[key] = sum
		}
	}
	return t, nil
}

func (s *Syncer) checkIdentity(m api.Memory) error {
	if s.agreed.OrganizationID != "" && m.OrganizationID != s.agreed.OrganizationID {
		return &Halt{
			Why:  "the server answers for another organization than the one this directory was synced with",
			Hint: "is the token the right one? client whoami shows whose it is",
		}
	}
	if m.Repo != "" {
		if slug, err := api.ParseRepoSlug(string(m.Repo)); err != nil || slug != s.opts.Repo {
			return &remote.Stranger{What: fmt.Sprintf("answers for %q, though it was asked for %s", m.Repo, s.opts.Repo)}
		}
	}
	return nil
}

func (s *Syncer) restoredHalt(m api.Memory) error {
	return &Halt{
		Why: fmt.Sprintf("the server was restored from a backup, or is another one: it is at version %d, version %d was synced here",
			m.Version, s.agreed.Version),
		Hint: "your files are untouched; to push what is newer here: client sync --once --accept",
	}
}

// unburies reports whether a deletion may bring an older tombstone to light that was
// never heard of here: that of another spelling, which a file here has. While the twin
// was live that tombstone was void, and what changed since does not name it. Believed
// to be new, such a file would bring a deleted text back.
func (s *Syncer) unburies(gone map[api.Key]api.Checksum) bool {
	spelled := make(map[string]api.Key, len(gone))
	for key := range gone {
		spelled[key.Fold()] = key
	}
	if len(spelled) == 0 {
		return false
	}
	for key, entry := range s.agreed.Entries {
		twin, ok := spelled[key.Fold()]
		_, named := gone[key]
		if ok && twin != key && !named && entry.File.Checksum != "" && entry.Base == "" && s.agreed.Tombstones[key] == "" {
			return true
		}
	}
	return false
}

// displaceTwins deletes the other spellings of what has come. A server holds one of
// them, and it names no tombstone that a live twin makes void (protocol 1.7), so that
// this is the only word of it. It is called on what is remembered.
func (t *there) displaceTwins(came map[api.Key]string) {
	spelled := make(map[string]api.Key, len(came))
	for key := range came {
		spelled[key.Fold()] = key
	}
	for key, sum := range t.live {
		if twin, ok := spelled[key.Fold()]; ok && twin != key {
			t.displaced[key] = displaced{sum: sum, by: twin}
		}
	}
}

// displaced is a key whose place another spelling has taken.
type displaced struct {
	sum api.Checksum // what it held, as far as we know
	by  api.Key
}

// fetchedEntry takes one entry over, or skips it and says why. What cannot be
// verified is never written.
func (s *Syncer) fetchedEntry(t *there, m api.Memory, key api.Key) {
	text := m.Content.Entries[key]
	sum := api.ChecksumOfString(text)
	skip := func(why string) {
		if sum := s.agreed.Entries[key].Remote; sum != "" {
			t.live[key] = sum
		} else {
			delete(t.live, key)
		}
		s.once(Event{Kind: EventSkipped, Keys: []api.Key{key}, Text: why}, string(sum))
	}
	if _, err := api.ParseKey(string(key)); err != nil {
		skip("from the server, is left out: " + err.Error())
		return
	}
	switch claimed, ok := m.Content.EntryChecksums[key]; {
	case ok && claimed != sum:
		t.foul = true
		skip("from the server, is left out: its text does not have the checksum the server names; it is asked for again")
		return
	case len(text) > s.opts.Limits.EntryBytes:
		skip(fmt.Sprintf("from the server, is left out: %d bytes, more than the %d an entry may have", len(text), s.opts.Limits.EntryBytes))
		return
	case !utf8.ValidString(text):
		skip("from the server, is left out: not valid UTF-8")
		return
	case key.HasDotSegment():
		skip("is at the server but not written here: its name begins with a dot")
		return
	}
	delete(t.deleted, key)
	t.live[key] = sum
	t.texts[key] = text
	if at, ok := m.Content.EntryModified[key]; ok {
		t.modified[key] = at
	}
}

// text finds the bytes of a live entry: in the answer, in memory, or else by
// asking for the whole set, once.
func (s *Syncer) text(ctx context.Context, t *there, key api.Key) ([]byte, error) {
	sum := t.live[key]
	if text, ok := t.texts[key]; ok && api.ChecksumOfString(text) == sum {
		return []byte(text), nil
	}
	if text, ok := s.memory.Text(sum); ok {
		return text, nil
	}
	answer, err := s.server.Get(ctx, s.opts.Repo, remote.Query{})
	if err != nil {
		return nil, err
	}
	for k, text := range answer.Memory.Content.Entries {
		if t.live[k] == api.ChecksumOfString(text) {
			t.texts[k] = text
			if at, ok := answer.Memory.Content.EntryModified[k]; ok {
				t.modified[k] = at
			}
		}
	}
	if text, ok := t.texts[key]; ok {
		return []byte(text), nil
	}
	// It changed between the two answers.
	return nil, errStale
}

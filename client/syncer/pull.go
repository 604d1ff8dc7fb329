package syncer

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/merge"
	"github.com/teammem/teammem/client/state"
)

// pull carries out the part of a plan that changes this side. What cannot be
// carried out is told and left for the next round; the version that we claim to
// have seen then stays behind, so that the server tells it again.
func (s *Syncer) pull(ctx context.Context, plan []Action, here *here, there *there, report *Report) error {
	complete := !there.foul
	var restored []api.Key
	for i, a := range plan {
		done, err := s.pullOne(ctx, a, here, there, report)
		if err != nil {
			s.tellPulled(report, restored)
			if there.heard {
				s.doubt()
			}
			return errors.Join(err, s.save())
		}
		complete = complete && done
		if a.Kind == Pull && done && a.Local == "" && a.Base == a.Remote {
			restored = append(restored, a.Key)
		}
		s.opts.Progress("pulling", i+1, len(plan))
	}
	s.tellPulled(report, restored)
	complete = s.redact(there) && complete
	if there.restored {
		s.offer(plan, there)
	}
	s.saw(here, there, complete)
	return s.save()
}

func (s *Syncer) tellPulled(report *Report, restored []api.Key) {
	if len(restored) > 0 {
		s.tell(Event{
			Kind: EventRestored, Keys: restored, Text: "deleted here by hand, came back from the server",
			Hint: "to delete for everyone: client rm",
		})
	}
	came := make(map[api.Key]bool, len(restored))
	for _, key := range restored {
		came[key] = true
	}
	var pulled []api.Key
	for _, key := range report.Downloaded {
		if !came[key] {
			pulled = append(pulled, key)
		}
	}
	s.tellKeys(EventPulled, pulled)
	s.tellKeys(EventRemoved, report.Removed)
}

func (s *Syncer) tellKeys(kind EventKind, keys []api.Key) {
	if len(keys) > 0 {
		s.tell(Event{Kind: kind, Keys: keys})
	}
}

// offer notes that what is newer here than at a restored server is an edit of what
// that has. An offer that is cut short goes on as an ordinary push then; otherwise
// the next round would take the older texts for a team-mate's changes.
func (s *Syncer) offer(plan []Action, there *there) {
	for _, a := range plan {
		switch {
		case a.Kind == Push && a.Base == "":
			s.dropped(a.Key, there)
		case a.Kind == Push:
			entry := s.agreed.Entries[a.Key]
			entry.Base = a.Base
			s.setEntry(a.Key, entry)
		case a.Kind == Conflict && s.agreed.Entries[a.Key].Base != a.Remote:
			// Not settled yet. What was agreed in another life would make lines
			// that were never in this one look as if a team-mate had removed them.
			entry := s.agreed.Entries[a.Key]
			entry.Base = ""
			s.setEntry(a.Key, entry)
		}
	}
}

// saw notes what the server has. Only a round that carried everything out moves
// the version.
func (s *Syncer) saw(here *here, there *there, complete bool) {
	for key, sum := range there.deleted {
		if _, arrived := here.files[there.displaced[key].by]; there.displaced[key].by != "" && !arrived {
			continue // a rename that could not be carried out yet, edits and all
		}
		// An edit outlives the deletion of what it was made from, and is from
		// here on a new entry.
		if file, ok := here.files[key]; ok && file.Checksum != sum && s.agreed.Tombstones[key] != sum {
			s.dropped(key, there)
		}
	}
	for key, sum := range there.live {
		if entry := s.agreed.Entries[key]; entry.Remote != sum {
			entry.Remote = sum
			s.setEntry(key, entry)
		}
	}
	for key, entry := range s.agreed.Entries {
		// A deletion that could not be carried out here is as if it had not been
		// heard of yet.
		gone := there.deleted[key]
		waits := gone != "" && s.agreed.Tombstones[key] != gone && !complete
		if _, ok := there.live[key]; !ok && !waits && entry.Remote != "" {
			entry.Remote = ""
			s.setEntry(key, entry)
		}
	}
	switch {
	case there.heard && !complete:
		s.doubt()
	case there.heard:
		s.unsure = false
	}
	if complete && (s.agreed.Version != there.version || s.agreed.Epoch != there.epoch || s.agreed.Checksum != there.checksum) {
		s.agreed.Version, s.agreed.Epoch, s.agreed.Checksum = there.version, there.epoch, there.checksum
		s.dirty = true
	}
}

// pullOne carries out one action. done is false for what could not be done now.
func (s *Syncer) pullOne(ctx context.Context, a Action, here *here, there *there, report *Report) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	switch a.Kind {
	case Agree:
		s.rememberFile(a.Key, a.Local)
		s.agree(a.Key, a.Local)
	case Forget, Settle:
		s.dropped(a.Key, there)
	case Pull:
		return s.pullText(ctx, a, here, there, report)
	case Remove:
		return s.removeFile(a, here, there, report), nil
	case Redact:
		return s.redactFile(ctx, a, here, there, report)
	case Rename:
		return s.rename(ctx, a, here, there, report)
	case Conflict:
		return s.conflict(ctx, a, here, there, report)
	case Blocked:
		s.once(Event{
			Kind: EventSkipped, Keys: []api.Key{a.Key},
			Text: "has news at the server, but the file here cannot be replaced: " + here.blocked[a.Key].Detail,
		}, string(a.Remote))
		return a.Remote != "", nil
	}
	return true, nil
}

// dropped notes that neither side has the key any longer.
func (s *Syncer) dropped(key api.Key, there *there) {
	entry := s.agreed.Entries[key]
	entry.Base, entry.Remote = "", ""
	s.setEntry(key, entry)
	if sum := there.deleted[key]; sum != "" {
		s.agreed.Tombstones[key] = sum
	}
}

// rememberFile keeps the text that both sides agree on as the base of a later
// merge. Without it that merge is only less clever.
func (s *Syncer) rememberFile(key api.Key, sum api.Checksum) {
	if _, ok := s.memory.Text(sum); ok {
		return
	}
	if text, err := s.dir.Read(key, s.opts.Limits.EntryBytes); err == nil && api.ChecksumOf(text) == sum {
		s.remember(sum, text)
	}
}

func (s *Syncer) remember(sum api.Checksum, text []byte) {
	if err := s.memory.PutText(sum, text); err != nil {
		s.log.Warn("base text not kept; a later merge of it may ask a person", "checksum", sum.Short(), "error", err)
	}
}

func (s *Syncer) pullText(ctx context.Context, a Action, here *here, there *there, report *Report) (bool, error) {
	text, err := s.text(ctx, there, a.Key)
	if err != nil {
		return false, err
	}
	if done := s.write(a.Key, text, there.modified[a.Key].Time, here, report); !done {
		return false, nil
	}
	s.agree(a.Key, a.Remote)
	s.remember(a.Remote, text)
	report.Downloaded = append(report.Downloaded, a.Key)
	return true, nil
}

// write puts a text into a file, on what the round found there.
func (s *Syncer) write(key api.Key, text []byte, modified time.Time, here *here, report *Report) (done bool) {
	var expect *memdir.File
	if file, ok := here.files[key]; ok {
		expect = &file
	}
	file, err := s.dir.Write(s.now(), key, text, modified, expect)
	if err != nil {
		s.failed(key, err, report)
		return false
	}
	here.files[key] = file
	s.sawFile(file)
	report.Changed = true
	return true
}

// failed tells why a file could not be changed. A file that changed meanwhile is
// no failure: the next round sees it as it is then.
func (s *Syncer) failed(key api.Key, err error, report *Report) {
	var changed *memdir.ChangedError
	if errors.As(err, &changed) {
		report.Pending = true
		return
	}
	report.Failed = append(report.Failed, key)
	s.once(Event{Kind: EventFailed, Keys: []api.Key{key}, Text: err.Error(), Hint: "the file is as it was; it is tried again"}, err.Error())
}

func (s *Syncer) removeFile(a Action, here *here, there *there, report *Report) (done bool) {
	if !s.trash(a.Key, here, report) {
		return false
	}
	s.dropped(a.Key, there)
	report.Removed = append(report.Removed, a.Key)
	return true
}

// trash moves a file's bytes to the trash.
func (s *Syncer) trash(key api.Key, here *here, report *Report) (done bool) {
	file := here.files[key]
	text, err := s.dir.Read(key, s.opts.Limits.EntryBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && api.ChecksumOf(text) != file.Checksum:
		report.Pending = true
		return false
	case err != nil:
		s.failed(key, err, report)
		return false
	}
	trashed := state.Trashed{Key: key, At: s.now(), Checksum: file.Checksum, Modified: time.Unix(0, file.Fingerprint.MTime)}
	if _, err = s.memory.Trash(trashed, text); err == nil {
		err = s.dir.Remove(key, file)
	}
	if err != nil {
		s.failed(key, err, report)
		return false
	}
	delete(here.files, key)
	entry := s.agreed.Entries[key]
	entry.File = memdir.File{}
	s.setEntry(key, entry)
	report.Changed = true
	return true
}

// rename carries out both halves of a change of spelling, the writing one first.
// Edits under the old spelling are treated as a conflict of the new one.
func (s *Syncer) rename(ctx context.Context, a Action, here *here, there *there, report *Report) (bool, error) {
	theirs, err := s.text(ctx, there, a.Key)
	if err != nil {
		return false, err
	}
	text := theirs
	if a.Local != a.Base && a.Local != a.Remote {
		mine, ok := s.readMine(a.From, a.Local, report)
		if !ok {
			return false, nil
		}
		if text, _, ok = s.reconcile(a, mine, theirs, report); !ok {
			return false, nil
		}
	}
	if !s.write(a.Key, text, there.modified[a.Key].Time, here, report) {
		return false, nil
	}
	s.agree(a.Key, a.Remote)
	s.remember(a.Remote, theirs)
	report.Downloaded = append(report.Downloaded, a.Key)
	if !s.trash(a.From, here, report) {
		return false, nil
	}
	s.dropped(a.From, there)
	return true, nil
}

// conflict brings two texts of one key together.
func (s *Syncer) conflict(ctx context.Context, a Action, here *here, there *there, report *Report) (bool, error) {
	theirs, err := s.text(ctx, there, a.Key)
	if err != nil {
		return false, err
	}
	mine, ok := s.readMine(a.Key, a.Local, report)
	if !ok {
		return false, nil
	}
	text, clean, ok := s.reconcile(a, mine, theirs, report)
	if !ok {
		return false, nil
	}
	if !bytes.Equal(text, mine) {
		modified := there.modified[a.Key].Time
		if !bytes.Equal(text, theirs) {
			modified = time.Time{} // the merged text is of now
		}
		if !s.write(a.Key, text, modified, here, report) {
			return false, nil
		}
	}
	// From here on ours is an edit of theirs, or equal to it.
	s.agree(a.Key, a.Remote)
	s.remember(a.Remote, theirs)
	if clean {
		report.Merged = append(report.Merged, a.Key)
		s.tell(Event{Kind: EventMerged, Keys: []api.Key{a.Key}, Text: "with a team-mate's change"})
	}
	return true, nil
}

func (s *Syncer) readMine(key api.Key, sum api.Checksum, report *Report) ([]byte, bool) {
	mine, err := s.dir.Read(key, s.opts.Limits.EntryBytes)
	if err != nil || api.ChecksumOf(mine) != sum {
		report.Pending = true
		return nil, false
	}
	return mine, true
}

// reconcile gives the text that shall stand in the file: the merge of both where
// it is clean, else theirs, and then ours is in the keep before it returns. When
// it cannot be kept, ok is false and the file must stay as it is.
func (s *Syncer) reconcile(a Action, mine, theirs []byte, report *Report) (text []byte, clean, ok bool) {
	base, known := s.memory.Text(a.Base)
	switch {
	case !known:
		base = nil
	case base == nil:
		base = []byte{} // known, and empty
	}
	result := merge.Merge(a.Key, base, mine, theirs)
	if result.Clean && len(result.Text) <= s.opts.Limits.EntryBytes {
		return result.Text, true, true
	}
	kept, err := s.memory.Keep(state.Kept{
		Key: a.Key, At: s.now(), Base: a.Base, Mine: a.Local, Theirs: a.Remote, Reason: result.Reason,
	}, mine)
	if err != nil {
		s.failed(a.Key, err, report)
		return nil, false, false
	}
	report.Conflicts = append(report.Conflicts, a.Key)
	s.tellConflict(kept, "a team-mate changed the same lines; theirs is in place, yours is kept")
	return theirs, false, true
}

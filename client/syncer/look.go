package syncer

import (
	"context"
	"fmt"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/state"
)

// here is the directory as the round found it and, while the round changes it, as
// it is.
type here struct {
	files   map[api.Key]memdir.File
	blocked map[api.Key]memdir.Left
	// nameless are held for their names, under what of these can be told.
	nameless map[api.Key]bool
	// rests: all is as it was agreed on, and nothing is to be done. files is empty then.
	rests bool
}

// look scans the directory and notes in the state what it saw, so that the next
// look need not read it again.
func (s *Syncer) look(ctx context.Context, there *there) (*here, error) {
	listing, err := s.dir.Scan(ctx, s.now(), s.opts.Limits.EntryBytes, func(key api.Key) (memdir.File, bool) {
		file := s.agreed.Entries[key].File
		return file, file.Checksum != ""
	})
	if err != nil {
		return nil, fmt.Errorf("scan directory: %w", err)
	}
	h := &here{blocked: map[api.Key]memdir.Left{}, nameless: map[api.Key]bool{}}
	if h.rests = s.rests(listing, there); h.rests {
		s.tellLeft(listing.Left)
		return h, nil
	}
	h.files = make(map[api.Key]memdir.File, len(listing.Files))
	listing.Files = s.withoutSecretNames(listing.Files, there, h)
	s.respell(listing.Files, there, h.blocked)
	for _, file := range listing.Files {
		h.files[file.Key] = file
		s.sawFile(file)
	}
	for _, left := range listing.Left {
		if left.Key != "" {
			h.blocked[left.Key] = left
		}
	}
	s.tellLeft(listing.Left)
	for key, entry := range s.agreed.Entries {
		if _, ok := h.files[key]; ok {
			continue
		}
		if left := listing.Obscured(key); left != nil {
			// It lies in a folder that cannot be read: neither here nor gone.
			h.blocked[key] = *left
			continue
		}
		if entry.File.Checksum != "" {
			entry.File = memdir.File{}
			s.setEntry(key, entry)
		}
	}
	for key := range s.agreed.Refused {
		if _, ok := h.files[key]; !ok && !h.nameless[key] {
			delete(s.agreed.Refused, key)
			s.dirty = true
		}
	}
	return h, nil
}

// rests reports whether nothing is to be done, which is so in most rounds: the server
// has no news, each file is as both sides agreed on and each entry has its file. It
// costs no memory, where a plan of a large directory takes megabytes.
func (s *Syncer) rests(listing memdir.Listing, there *there) bool {
	if there.heard || there.restored || len(s.agreed.Refused) > 0 || len(listing.Files) != len(s.agreed.Entries) {
		return false
	}
	if slices.ContainsFunc(listing.Left, func(left memdir.Left) bool { return left.Key != "" }) {
		return false
	}
	return !slices.ContainsFunc(listing.Files, func(file memdir.File) bool {
		return s.agreed.Entries[file.Key] != state.Entry{Base: file.Checksum, Remote: file.Checksum, File: file}
	})
}

// tellLeft tells once of each file that is not synced.
func (s *Syncer) tellLeft(left []memdir.Left) {
	for _, l := range left {
		if !l.Quiet {
			name, _ := guard.Name(s.guard.Judge, l.Name)
			s.once(Event{Kind: EventSkipped, Keys: []api.Key{api.Key(name)}, Text: l.Detail}, string(l.Reason))
		}
	}
}

func (s *Syncer) sawFile(file memdir.File) {
	entry := s.agreed.Entries[file.Key]
	if entry.File != file {
		entry.File = file
		s.setEntry(file.Key, entry)
	}
}

package syncer

import (
	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
	"github.com/teammem/teammem/client/state"
)

// respell gives files the keys that both sides know them by. A file system that
// folds letter case or Unicode forms may list a name in another spelling than the
// one it was written under. Taken literally that would be a file nobody knows,
// beside one that is gone, and in the end a new spelling for everyone. There the
// server's spelling holds, then the one last agreed on; a file system that tells
// the spellings apart is never treated so.
//
// Of keys at the server that are one file here only one can be here; the others are
// noted as blocked.
func (s *Syncer) respell(files []memdir.File, there *there, blocked map[api.Key]memdir.Left) {
	if s.opts.Same == nil {
		return
	}
	unlisted := s.unlisted(files, there)
	if len(unlisted) == 0 {
		return
	}
	for i := range files {
		listed := files[i].Key
		names := []api.Key{listed}
		for _, key := range unlisted[listed.Fold()] {
			if s.opts.Same(listed, key) {
				names = append(names, key)
			}
		}
		if len(names) == 1 {
			continue
		}
		key := s.bestName(names, there)
		files[i].Key = key
		for _, other := range names {
			if other == key {
				continue
			}
			if there.live[other] != "" {
				blocked[other] = memdir.Left{
					Name: string(other), Key: other, Reason: memdir.ReasonFile,
					Detail: "is one file with " + string(key) + " on this file system, which does not tell their names apart",
				}
				continue
			}
			s.moveEntry(other, key)
		}
	}
}

// unlisted are the keys that the server or the agreement knows and that no file
// has for a name, by what spellings have in common.
func (s *Syncer) unlisted(files []memdir.File, there *there) map[string][]api.Key {
	listed := make(map[api.Key]bool, len(files))
	for _, file := range files {
		listed[file.Key] = true
	}
	known := make(map[api.Key]bool)
	for key := range there.live {
		if !listed[key] {
			known[key] = true
		}
	}
	for key, entry := range s.agreed.Entries {
		if !listed[key] && entry.Base != "" {
			known[key] = true
		}
	}
	all := make(map[string][]api.Key, len(known))
	for _, key := range api.SortedKeys(known) {
		all[key.Fold()] = append(all[key.Fold()], key)
	}
	return all
}

// bestName is the name that both sides know a file by: live at the server and
// agreed on, else live, else agreed on, else as it is listed.
func (s *Syncer) bestName(names []api.Key, there *there) (best api.Key) {
	most := -1
	for _, key := range names {
		worth := 0
		if there.live[key] != "" {
			worth += 2
		}
		if s.agreed.Entries[key].Base != "" {
			worth++
		}
		if worth > most {
			best, most = key, worth
		}
	}
	return best
}

// moveEntry takes what was agreed on under one spelling over to another.
func (s *Syncer) moveEntry(from, to api.Key) {
	old := s.agreed.Entries[from]
	if old.Base == "" {
		return
	}
	if entry := s.agreed.Entries[to]; entry.Base == "" {
		entry.Base = old.Base
		s.setEntry(to, entry)
	}
	s.setEntry(from, state.Entry{})
}

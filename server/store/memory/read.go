package memory

import (
	"context"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

type readRef struct {
	repo store.RepoID
	key  api.Key
}

// NoteReads adds how often texts were served.
func (s *Store) NoteReads(ctx context.Context, all []store.Reads) error {
	return s.write(ctx, func(next *state) error {
		for _, r := range all {
			ref := readRef{r.Repo, r.Key}
			before, _ := next.figures.reads.get(ref)
			next.figures.reads = next.figures.reads.with(ref, before+r.Count)
		}
		return nil
	})
}

// Reads says how often texts were served, of those that were.
func (s *Store) Reads(ctx context.Context, repo store.RepoID, keys []api.Key) (map[api.Key]int64, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	found := map[api.Key]int64{}
	for _, key := range keys {
		if n, ok := now.figures.reads.get(readRef{repo, key}); ok {
			found[key] = n
		}
	}
	return found, nil
}

package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/search"
	"github.com/teammem/teammem/server/store"
)

const (
	// indexAtOnce is how many texts are added to the index in one transaction. It is
	// what a PUT may have to wait for on a store with one writer.
	indexAtOnce = 64
	// indexForSearch is how many a search adds before it answers without the rest, which
	// whoever follows the commits adds.
	indexForSearch = 256
)

// Index adds what was written to the index, in the repos admitted (nil: in all of the
// organization), of at most so many texts. It reports whether it is complete.
// Whoever finds the index being added to waits for their turn; another server that
// adds to the same repo at the same time does no harm.
func (l *Ledger) Index(ctx context.Context, caller Caller, admitted func(api.RepoSlug) bool, most int) (complete bool, err error) {
	select {
	case l.indexing <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-l.indexing }()
	for {
		lags, err := l.store.SearchLags(ctx, caller.Org)
		if err != nil {
			return false, l.explain(ctx, caller, "", "look how far the index is", err)
		}
		if admitted != nil {
			lags = slices.DeleteFunc(lags, func(lag store.SearchLag) bool { return !admitted(lag.Slug) })
		}
		if len(lags) == 0 || most <= 0 {
			return len(lags) == 0, nil
		}
		for _, lag := range lags {
			n, err := l.indexRepo(ctx, caller, lag, most)
			if err != nil {
				return false, err
			}
			if most -= n; most <= 0 {
				break
			}
		}
	}
}

// indexRepo adds what a repo lacks, and says of how many texts it was.
func (l *Ledger) indexRepo(ctx context.Context, caller Caller, lag store.SearchLag, most int) (added int, err error) {
	ref := store.RepoRef{Org: caller.Org, Slug: lag.Slug}
	for place := lag.Place; added < most && place.Version <= lag.Head; {
		atOnce := min(indexAtOnce, most-added)
		held, err := l.store.Holders(ctx, ref, store.HolderQuery{Version: place.Version, Key: place.Key, Limit: atOnce})
		if err != nil {
			return added, l.explain(ctx, caller, lag.Slug, "look through the history", err)
		}
		docs, err := l.documents(ctx, caller, lag.Slug, held)
		if err != nil {
			return added, err
		}
		to := store.SearchPlace{Version: lag.Head + 1}
		switch last := len(held) - 1; {
		case len(held) == atOnce:
			to = store.SearchPlace{Version: held[last].Version, Key: held[last].Key}
		case last >= 0 && held[last].Version > lag.Head: // written meanwhile
			to.Version = held[last].Version + 1
		}
		switch err := l.store.AddSearchDocs(ctx, ref, place, to, docs); {
		case errors.Is(err, store.ErrExists), errors.Is(err, store.ErrNotFound):
			return added + 1, nil // somebody else went on, or renamed the repo: it is looked at anew
		case err != nil:
			return added, l.explain(ctx, caller, lag.Slug, "add to the index", err)
		}
		place, added = to, added+len(held)
	}
	return added, nil
}

// documents takes texts apart. One that is damaged has no words; the alarm says so.
func (l *Ledger) documents(ctx context.Context, caller Caller, repo api.RepoSlug, held []store.Holder) ([]store.SearchDoc, error) {
	texts := map[api.Checksum][]byte{}
	var sums []api.Checksum
	for _, h := range held {
		if _, ok := texts[h.Checksum]; !ok {
			texts[h.Checksum] = nil
			sums = append(sums, h.Checksum)
		}
	}
	keep := func(sum api.Checksum, content []byte) error {
		texts[sum] = slices.Clone(content)
		return nil
	}
	if err := l.soundTexts(ctx, caller, repo, sums, keep); err != nil {
		return nil, err
	}
	docs := make([]store.SearchDoc, 0, len(held))
	for _, h := range held {
		if content := texts[h.Checksum]; content != nil {
			docs = append(docs, search.Document(h.Key, h.Version, h.Checksum, content))
		}
	}
	return docs, nil
}

// soundTexts reads texts and passes over those that are damaged, or were withdrawn just
// now. keep may be given a text twice.
func (l *Ledger) soundTexts(ctx context.Context, caller Caller, repo api.RepoSlug, sums []api.Checksum, keep func(api.Checksum, []byte) error) error {
	err := l.store.Bodies(ctx, caller.Org, sums, keep)
	if !errors.Is(err, store.ErrCorrupt) {
		return l.explainAny(ctx, caller, repo, "read the texts", err)
	}
	gone, err := l.Redactions(ctx, caller, sums)
	if err != nil {
		return err
	}
	for _, sum := range sums {
		if _, withdrawn := gone[sum]; withdrawn {
			continue
		}
		err := l.store.Bodies(ctx, caller.Org, []api.Checksum{sum}, keep)
		explained := l.explainAny(ctx, caller, repo, "read a text", err) // with the alarm that damage is
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			return explained
		}
	}
	return nil
}

// explainAny is explain for what may be no error.
func (l *Ledger) explainAny(ctx context.Context, caller Caller, repo api.RepoSlug, doing string, err error) error {
	if err == nil {
		return nil
	}
	return l.explain(ctx, caller, repo, doing, err)
}

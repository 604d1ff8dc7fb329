package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/teammem/teammem/server/store"
)

// figures is what a store keeps of what happened, and of clients.
type figures struct {
	hours   tree[hourRef, store.Counts]
	clients tree[clientRef, store.Client]
	reads   tree[readRef, int64]
}

type hourRef struct {
	org  store.OrgID
	hour int64 // milliseconds
	repo store.RepoID
}

type clientRef struct {
	org  store.OrgID
	user store.UserID
	uid  string
}

func newFigures() figures {
	return figures{
		hours: newTree[hourRef, store.Counts](func(a, b hourRef) int {
			return cmp.Or(cmp.Compare(a.org, b.org), cmp.Compare(a.hour, b.hour), cmp.Compare(a.repo, b.repo))
		}),
		clients: newTree[clientRef, store.Client](func(a, b clientRef) int {
			return cmp.Or(cmp.Compare(a.org, b.org), cmp.Compare(a.user, b.user), cmp.Compare(a.uid, b.uid))
		}),
		reads: newTree[readRef, int64](func(a, b readRef) int { return cmp.Or(cmp.Compare(a.repo, b.repo), cmp.Compare(a.key, b.key)) }),
	}
}

// NoteFigures adds what happened.
func (s *Store) NoteFigures(ctx context.Context, all []store.Figure) error {
	return s.write(ctx, func(next *state) error {
		for _, f := range all {
			r, _ := next.repos.get(store.RepoRef{Org: f.Org, Slug: f.Slug})
			ref := hourRef{f.Org, f.Hour.UnixMilli(), r.head.ID}
			counts, _ := next.figures.hours.get(ref)
			counts.Add(f.Counts)
			next.figures.hours = next.figures.hours.with(ref, counts)
		}
		return nil
	})
}

// Figures lists what happened from an hour on, in the order of time and repo.
func (s *Store) Figures(ctx context.Context, org store.OrgID, from time.Time) (all []store.Figure, err error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	for ref, counts := range now.figures.hours.from(hourRef{org: org, hour: from.UnixMilli()}) {
		if ref.org != org {
			break
		}
		f := store.Figure{Org: org, Hour: time.UnixMilli(ref.hour).UTC(), Counts: counts}
		for at, r := range now.repos.all() {
			if ref.repo != 0 && r.head.ID == ref.repo {
				f.Slug = at.Slug
			}
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b store.Figure) int { return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.Slug, b.Slug)) })
	return all, nil
}

// DropFigures takes away what is older.
func (s *Store) DropFigures(ctx context.Context, before time.Time) error {
	return s.write(ctx, func(next *state) error {
		kept := newFigures().hours
		for ref, counts := range next.figures.hours.all() {
			if ref.hour >= before.UnixMilli() {
				kept = kept.with(ref, counts)
			}
		}
		next.figures.hours = kept
		return nil
	})
}

// NoteClients notes what clients said of themselves; of too many of one user those that
// were heard of last stay.
func (s *Store) NoteClients(ctx context.Context, all []store.Client) error {
	return s.write(ctx, func(next *state) error {
		for _, c := range all {
			ref := clientRef{c.Org, c.User, c.UID}
			c.Seen, c.UserName = kept(c.Seen), ""
			if before, known := next.figures.clients.get(ref); !known || !c.Seen.Before(before.Seen) {
				next.figures.clients = next.figures.clients.with(ref, c)
			}
		}
		next.keepClients(func(c store.Client, place int) bool { return place < store.MostDirectories })
		return nil
	})
}

// keepClients keeps those for which keep holds; place is theirs among the user's, the
// one that was heard of last first.
func (s *state) keepClients(keep func(c store.Client, place int) bool) {
	fresh, place := newFigures().clients, map[clientRef]int{}
	for _, c := range s.directoriesOf(0, 0) {
		of := clientRef{org: c.Org, user: c.User}
		if keep(c, place[of]) {
			fresh = fresh.with(clientRef{c.Org, c.User, c.UID}, c)
		}
		place[of]++
	}
	s.figures.clients = fresh
}

// directoriesOf lists clients of an organization and a user, 0 for all.
func (s *state) directoriesOf(org store.OrgID, user store.UserID) (all []store.Client) {
	for ref, c := range s.figures.clients.all() {
		if (org == 0 || ref.org == org) && (user == 0 || ref.user == user) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b store.Client) int { return b.Seen.Compare(a.Seen) })
	return all
}

// Clients lists an organization's clients, or one user's.
func (s *Store) Clients(ctx context.Context, org store.OrgID, user store.UserID) ([]store.Client, error) {
	now, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	all := now.directoriesOf(org, user)
	for i := range all {
		all[i].UserName, _ = now.names.get(nameRef{org, all[i].User})
	}
	return all, nil
}

// DropClients takes away those of whom nothing was heard since.
func (s *Store) DropClients(ctx context.Context, before time.Time) error {
	return s.write(ctx, func(next *state) error {
		next.keepClients(func(c store.Client, _ int) bool { return !c.Seen.Before(before) })
		return nil
	})
}

// Storage is how many bytes an organization's contents take, packed.
func (s *Store) Storage(ctx context.Context, org store.OrgID) (bytes int64, err error) {
	now, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	for ref, body := range now.bodies.from(bodyRef{org: org}) {
		if ref.org != org {
			break
		}
		if body != nil {
			bytes += int64(len(body.Data))
		}
	}
	return bytes, nil
}

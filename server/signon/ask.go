package signon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammem/server/auth/provider"
	"github.com/teammem/teammem/server/store"
)

// question is one to a session's provider. Whoever needs its answer waits for done.
type question struct {
	done chan struct{}
	err  error
}

// renew sees to it that the word of a session's provider is as fresh as it has to be:
// groups that were left are left here, and a sign-in that the provider ended is
// [ErrNoSession]. A provider that does not answer ends nothing.
func (d *Desk) renew(ctx context.Context, secret string, s store.Session, word Word) error {
	if s.Renewal == "" || d.fresh(s, word) {
		return nil
	}
	if d.providers.By(s.Issuer) == nil {
		return nil
	}
	wait := time.NewTimer(2 * askWithin)
	defer wait.Stop()
	// A question that began before this request came may have been answered before,
	// too: its answer is waited for, and the next is the one that counts.
	for late := false; ; late = true {
		q, mine := d.question(s.Hash)
		if mine {
			// Begun, it is brought to its end, whether or not the browser waits for it:
			// else what renews the sign-in next would be lost.
			q.err = d.ask(context.WithoutCancel(ctx), secret, s.Hash, word)
			d.answered(s.Hash, q)
			return q.err
		}
		select {
		case <-q.done:
		case <-wait.C:
			return nil // as with a provider that does not answer
		case <-ctx.Done():
			return ctx.Err()
		}
		if late || word == Lately || errors.Is(q.err, ErrNoSession) {
			return q.err
		}
	}
}

// fresh reports whether the last answer about a session will do.
func (d *Desk) fresh(s store.Session, word Word) bool {
	return word == AnyAge || word == Lately && d.now().Sub(s.Asked).Abs() < d.cfg.Recheck
}

// question is the one about a session that is under way on this server, or a new one,
// which is the caller's to ask.
func (d *Desk) question(hash [32]byte) (q *question, mine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q, ok := d.questions[hash]; ok {
		return q, false
	}
	q = &question{done: make(chan struct{})}
	d.questions[hash] = q
	return q, true
}

func (d *Desk) answered(hash [32]byte, q *question) {
	d.mu.Lock()
	delete(d.questions, hash)
	delete(d.found, hash)
	d.mu.Unlock()
	close(q.done)
}

// ask asks a session's provider, or learns of an answer to a question that another
// server began meanwhile: what renews a sign-in is taken once. It goes by what the
// store says and by no clock, since those of two servers differ.
func (d *Desk) ask(ctx context.Context, secret string, hash [32]byte, word Word) error {
	first, err := d.current(ctx, hash)
	if err != nil {
		return err
	}
	look, end := time.NewTicker(lookEvery), time.NewTimer(3*askWithin)
	defer look.Stop()
	defer end.Stop()
	since := time.Now() // that the question of another server was seen
	for s := first; ; {
		if d.fresh(s, word) || s.Asking.IsZero() && s.Asked != first.Asked && s.Asked != first.Asking {
			return nil // the latter: asked and answered since
		}
		// The server that asked would have had its answer by then: it has gone.
		if s.Asking.IsZero() || time.Since(since) > d.gone {
			mine, err := d.askMyself(ctx, secret, s)
			if mine || err != nil {
				return err
			}
		}
		select {
		case <-look.C:
		case <-end.C:
			return nil // as with a provider that does not answer
		}
		before := s.Asking
		if s, err = d.current(ctx, hash); err != nil {
			return err
		}
		if s.Asking != before {
			since = time.Now()
		}
	}
}

// current is a session as it stands in the store, or [ErrNoSession].
func (d *Desk) current(ctx context.Context, hash [32]byte) (store.Session, error) {
	s, err := d.store.Session(ctx, hash)
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.Ended.IsZero() {
		return s, ErrNoSession
	}
	if err != nil {
		return s, fmt.Errorf("find the session: %w", err)
	}
	return s, nil
}

// askMyself asks a session's provider, unless another server is quicker.
func (d *Desk) askMyself(ctx context.Context, secret string, s store.Session) (mine bool, err error) {
	p := d.providers.By(s.Issuer)
	by, ok := unseal(secret, s)
	if p == nil || !ok || d.isAway(s.Issuer) {
		return true, nil
	}
	asking := store.Asks{Asked: s.Asked, Asking: after(d.now(), s.Asks)}
	mine, err = d.store.RenewSession(ctx, s.Hash, s.Asks, asking, s.Renewal)
	if err != nil || !mine {
		return mine, err
	}
	// What is left of a sign-in that somebody else ended meanwhile is nobody's.
	settle := func(asked time.Time, by vouched) error {
		if _, err := d.store.RenewSession(ctx, s.Hash, asking, store.Asks{Asked: asked}, by.seal(secret)); err != nil {
			return fmt.Errorf("keep what renews a session: %w", err)
		}
		return nil
	}
	asked, stop := context.WithTimeout(ctx, askWithin)
	defer stop()
	claims, next, err := p.Renew(asked, by.Subject, by.Renewal)
	if next != "" {
		by.Renewal = next // of what followed it may have failed all the same
	}
	var refusal *provider.Refusal
	switch {
	case errors.As(err, &refusal):
		d.log.Info("a browser is signed out, as the identity provider ended its sign-in", "issuer", s.Issuer, "why", refusal.Reason)
		if err := d.end(ctx, secret); err != nil {
			return true, err
		}
		return true, ErrNoSession
	case err != nil:
		d.log.Warn("the identity provider was asked about somebody who is signed in, and did not answer", "issuer", s.Issuer)
		d.wentAway(s.Issuer)
		return true, settle(s.Asked, by)
	}
	// The groups first: whoever finds the answer noted goes by them.
	if err := d.taken(ctx, s.User, claims); err != nil {
		return true, errors.Join(err, settle(s.Asked, by))
	}
	return true, settle(asking.Asking, by)
}

// taken takes over what a provider says of somebody's groups.
func (d *Desk) taken(ctx context.Context, user store.UserID, claims provider.Claims) error {
	in, err := d.store.Memberships(ctx, user)
	if err != nil {
		return fmt.Errorf("find the memberships: %w", err)
	}
	return d.regroup(ctx, in, user, claims, From{How: "provider"})
}

// after is a time that neither of the questions before began at, cut to what is kept.
func after(now time.Time, before store.Asks) time.Time {
	for _, t := range []time.Time{before.Asked, before.Asking} {
		if !now.Truncate(time.Millisecond).After(t) {
			now = t.Add(time.Millisecond)
		}
	}
	return now.UTC().Truncate(time.Millisecond)
}

func (d *Desk) isAway(issuer string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now().Before(d.away[issuer])
}

func (d *Desk) wentAway(issuer string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away[issuer] = d.now().Add(away)
}

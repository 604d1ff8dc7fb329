package auth

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// isForeign tells a provider's token from ours: three parts, the first of which is
// a JSON object in base64. None of ours begins so.
func isForeign(secret string) bool {
	return strings.HasPrefix(secret, "eyJ") && strings.Count(secret, ".") == 2
}

// foreign is the caller that a provider's token speaks for.
func (a *Auth) foreign(ctx context.Context, secret string, hash [32]byte, given Credentials) (Caller, error) {
	now := a.now()
	ref := otherRef{hash, given.Organization}
	if caller, ok := a.others.get(ref, now); ok {
		return caller, nil
	}
	credential := credentialAccount(hash)
	if !a.others.knows(hash) {
		if err := a.door.Check(given.From, credential); err != nil {
			return Caller{}, err
		}
	}
	known := a.others.generation()
	user, err := a.cfg.Foreign.Bearer(ctx, secret)
	if err != nil {
		if e, ok := api.AsError(err); ok && e.Code == api.Authentication {
			a.others.drop(hash)
			a.door.Failed(given.From, credential)
			a.refusedForeign(ctx, user, given, e, func(m store.Membership) bool { return m.Removed.IsZero() })
		}
		return Caller{}, err
	}
	caller, err := a.CallerOf(ctx, user, ByProvider, given.Organization)
	if err != nil {
		if e, ok := api.AsError(err); ok && e.Code == api.Permission {
			a.refusedForeign(ctx, user, given, e, func(m store.Membership) bool {
				return !m.Removed.IsZero() && (given.Organization == "" || given.Organization == m.OrgName || given.Organization == m.OrgUID)
			})
		}
		return Caller{}, err
	}
	a.others.put(ref, caller, now, known)
	return caller, nil
}

// refusedForeign tells the organizations concerned that somebody whom they know was
// refused: those that somebody is in whose token was signed out, and the one that
// took them out. It is told on the way, so what the store does not answer is left.
func (a *Auth) refusedForeign(ctx context.Context, user store.UserID, given Credentials, why *api.Error, concerned func(store.Membership) bool) {
	if a.cfg.Refused == nil || user == 0 {
		return
	}
	all, err := a.tokens.Memberships(ctx, user)
	if err != nil {
		return
	}
	for _, m := range all {
		if concerned(m) {
			a.Refused(Refusal{Org: m.Org, User: m.Name, How: ByProvider, Why: why.Details.ErrorCode, From: addressOf(given.From)})
		}
	}
}

// foundOthers remembers for [FoundFor] whom providers' tokens speak for, in the
// organization that the request named.
type foundOthers struct {
	mu    sync.RWMutex
	by    map[otherRef]foundOther
	good  map[[32]byte]bool // those that were good once
	round uint64
}

type otherRef struct {
	hash         [32]byte
	organization string
}

type foundOther struct {
	caller Caller
	until  time.Time
}

func newFoundOthers() *foundOthers {
	return &foundOthers{by: map[otherRef]foundOther{}, good: map[[32]byte]bool{}}
}

func (f *foundOthers) get(ref otherRef, now time.Time) (Caller, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	found, ok := f.by[ref]
	return found.caller, ok && now.Before(found.until)
}

func (f *foundOthers) knows(hash [32]byte) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.good[hash]
}

func (f *foundOthers) generation() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.round
}

// put remembers a caller, unless something was forgotten since round: then it may
// be of before.
func (f *foundOthers) put(ref otherRef, caller Caller, now time.Time, round uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.round != round {
		return
	}
	if len(f.by) >= maxFound {
		clear(f.by)
	}
	if len(f.good) >= maxFound {
		clear(f.good)
	}
	f.by[ref], f.good[ref.hash] = foundOther{caller: caller, until: now.Add(FoundFor)}, true
}

func (f *foundOthers) drop(hash [32]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.good, hash)
}

func (f *foundOthers) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.by)
	f.round++
}

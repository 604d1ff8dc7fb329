package ledger

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// policyAge is how long a policy that was read is taken for the one in force. It
// bounds how long another server, or a command beside this one, can have changed
// it unnoticed.
const policyAge = time.Second

// mostPolicies bounds what is remembered of organizations.
const mostPolicies = 4096

// inForce is the policy of one organization as it was read.
type inForce struct {
	policy  api.OrgPolicy
	scanner *scan.Scanner // with the organization's fingerprint key; nil without one
	until   time.Time

	redacted bool // any content of the organization was withdrawn
}

// policies remembers policies for as long as [policyAge].
type policies struct {
	mu   sync.Mutex
	read map[store.OrgID]*inForce
}

func (p *policies) get(org store.OrgID, now time.Time) *inForce {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.read[org]; found != nil && now.Before(found.until) {
		return found
	}
	return nil
}

func (p *policies) put(org store.OrgID, found *inForce) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read == nil || len(p.read) >= mostPolicies {
		p.read = map[store.OrgID]*inForce{}
	}
	p.read[org] = found
}

func (p *policies) forget(org store.OrgID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.read, org)
}

// inForce gives the policy of the caller's organization, at most a second old.
func (l *Ledger) inForce(ctx context.Context, caller Caller) (*inForce, error) {
	now := l.now()
	if found := l.policies.get(caller.Org, now); found != nil {
		return found, nil
	}
	return l.readPolicy(ctx, caller, now)
}

// readPolicy reads it from the store.
func (l *Ledger) readPolicy(ctx context.Context, caller Caller, now time.Time) (*inForce, error) {
	stored, err := l.store.Policy(ctx, caller.Org)
	if err != nil {
		return nil, l.explain(ctx, caller, "", "read the policy", err)
	}
	policy, err := shownPolicy(caller.OrgUID, stored)
	if err != nil {
		return nil, l.explain(ctx, caller, "", "read the policy", err)
	}
	found := &inForce{policy: policy, until: now.Add(policyAge), redacted: stored.Redacted}
	if l.scanner != nil {
		found.scanner = l.scanner.Keyed(stored.FingerprintKey[:])
	}
	l.policies.put(caller.Org, found)
	return found, nil
}

// shownPolicy is a stored policy as members are told it.
func shownPolicy(org string, stored store.Policy) (api.OrgPolicy, error) {
	shown := api.OrgPolicy{
		OrganizationID: org, Version: stored.Version, ChangedBy: stored.User,
		FingerprintKey: hex.EncodeToString(stored.FingerprintKey[:]),
	}
	if stored.Version > 0 {
		policy, err := api.DecodePolicy(stored.Document)
		if err != nil {
			return shown, fmt.Errorf("policy %d: %w", stored.Version, errors.Join(store.ErrCorrupt, err))
		}
		at := api.NewTime(stored.At)
		shown.Policy, shown.Changed = policy, &at
	}
	shown.Policy = shown.Complete()
	return shown, nil
}

// Policy is the policy of the caller's organization.
func (l *Ledger) Policy(ctx context.Context, caller Caller) (api.OrgPolicy, error) {
	found, err := l.inForce(ctx, caller)
	if err != nil {
		return api.OrgPolicy{}, err
	}
	return found.policy, nil
}

// MayPropose reports whether a review rule lets a role propose that may not write.
func (l *Ledger) MayPropose(ctx context.Context, caller Caller) (bool, error) {
	found, err := l.inForce(ctx, caller)
	return err == nil && found.policy.MayPropose(caller.Role), err
}

// SetPolicy puts another policy in force and gives it. It must name the one it was
// made from, in ifMatch or by its version, unless none was ever set: two who change
// it at once must not undo each other's work unseen.
func (l *Ledger) SetPolicy(ctx context.Context, caller Caller, change api.PolicyChange, ifMatch api.Tags) (api.OrgPolicy, error) {
	return l.changePolicy(ctx, caller, audit.ActionPolicy, "", func(now api.OrgPolicy) (api.Policy, error) {
		based := change.Version != nil && *change.Version == now.Version
		switch {
		case ifMatch.Sent && !ifMatch.Match(now.Tag()), change.Version != nil && !based:
			return api.Policy{}, stalePolicy("the policy has changed since the one that this change was made from; get it again and change that", now)
		case !ifMatch.Sent && !based && now.Version > 0:
			return api.Policy{}, stalePolicy("name the policy that this change was made from, by its version in the body or its ETag in If-Match", now)
		}
		next := change.Policy
		next.Accepted = l.keptAcceptances(caller, now.Policy, change)
		return next, nil
	})
}

// keptAcceptances are those of a change: who and when stay with what stood before.
func (l *Ledger) keptAcceptances(caller Caller, now api.Policy, change api.PolicyChange) []api.Acceptance {
	if change.KeepsAccepted {
		return now.Accepted
	}
	before := map[string]api.Acceptance{}
	for _, a := range now.Accepted {
		before[a.Fingerprint] = a
	}
	all := make([]api.Acceptance, 0, len(change.Accepted))
	for _, a := range change.Accepted {
		a.User, a.At = caller.UserName, api.NewTime(l.now())
		if b, stood := before[a.Fingerprint]; stood && b.Reason == a.Reason {
			a.User, a.At = b.User, b.At
		}
		all = append(all, a)
	}
	return all
}

// AcceptFinding lets a value through from now on.
func (l *Ledger) AcceptFinding(ctx context.Context, caller Caller, accept api.Acceptance) (api.OrgPolicy, error) {
	accept.User, accept.At = caller.UserName, api.NewTime(l.now())
	return l.changePolicy(ctx, caller, audit.ActionAccept, accept.Fingerprint, func(now api.OrgPolicy) (api.Policy, error) {
		next := now.WithAccepted(accept)
		if len(next.Accepted) > api.MaxAccepted {
			return next, &api.Error{
				Code: api.RequestTooLarge, Message: fmt.Sprintf("the policy accepts %d values already; take some out first", api.MaxAccepted),
				Details: api.Details{ErrorCode: api.ErrorCodePolicyTooLarge},
			}
		}
		return next, nil
	})
}

// ForgetFinding takes an accepted value out again. One that is not there makes no
// difference.
func (l *Ledger) ForgetFinding(ctx context.Context, caller Caller, fingerprint string) (api.OrgPolicy, error) {
	return l.changePolicy(ctx, caller, audit.ActionForgetAccept, fingerprint, func(now api.OrgPolicy) (api.Policy, error) {
		without, found := now.WithoutAccepted(fingerprint)
		if !found {
			return without, errSamePolicy
		}
		return without, nil
	})
}

// errSamePolicy says that a change changes nothing.
var errSamePolicy = errors.New("the policy stays as it is")

// changePolicy stores what change makes of the policy in force, together with its
// record in the organization's chain: the action, and the accepted value that it is
// about. Whoever is slower than another change is asked again.
func (l *Ledger) changePolicy(ctx context.Context, caller Caller, action, of string, change func(api.OrgPolicy) (api.Policy, error)) (api.OrgPolicy, error) {
	const attempts = 5
	for range attempts {
		now, err := l.readPolicy(ctx, caller, l.now())
		if err != nil {
			return api.OrgPolicy{}, err
		}
		next, err := change(now.policy)
		if errors.Is(err, errSamePolicy) {
			return now.policy, nil
		}
		if err != nil {
			return api.OrgPolicy{}, err
		}
		err = l.storePolicy(ctx, caller, now.policy, next, action, of)
		if errors.Is(err, store.ErrExists) {
			continue
		}
		if err != nil {
			return api.OrgPolicy{}, l.explain(ctx, caller, "", "set the policy", err)
		}
		changed, err := l.readPolicy(ctx, caller, l.now())
		if err != nil {
			return api.OrgPolicy{}, err
		}
		return changed.policy, nil
	}
	return api.OrgPolicy{}, l.explain(ctx, caller, "", "set the policy", store.ErrBusy)
}

// storePolicy puts next in force after now. [store.ErrExists] when somebody was
// faster.
func (l *Ledger) storePolicy(ctx context.Context, caller Caller, now api.OrgPolicy, next api.Policy, action, of string) error {
	next = next.Complete()
	document, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the policy: %w", err)
	}
	at := l.now()
	after := api.OrgPolicy{Version: now.Version + 1, Policy: next}
	deed := audit.Deed{How: caller.How, From: caller.From, Of: of, Before: policySays(now), After: policySays(after)}
	record := audit.Record{At: at, Action: action, User: caller.UserName, TokenUID: caller.TokenUID, Client: caller.Client, Subject: deed.Subject()}
	policy := store.Policy{Version: after.Version, Document: document, At: at, User: caller.UserName, TokenUID: caller.TokenUID}
	_, err = l.store.Administer(ctx, caller.Org, store.About{}, func(store.OrgState) (*store.OrgChange, error) {
		return &store.OrgChange{Policy: &policy, Audit: record}, nil
	})
	return err
}

// policySays is a policy as a record names it: by its version, by the checksum that
// is also its ETag, and by how much it rules. Its text is kept with the policy.
func policySays(p api.OrgPolicy) map[string]any {
	return map[string]any{"version": p.Version, "checksum": p.Tag(), "accepted": len(p.Accepted), "review": len(p.Review)}
}

func stalePolicy(why string, now api.OrgPolicy) *api.Error {
	return &api.Error{Code: api.Conflict, Message: why, Details: api.Details{
		ErrorCode: api.ErrorCodePolicyConflict, Version: &now.Version, Checksum: now.Tag(),
	}}
}

package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// Policy gives an organization's policy to whoever runs the server.
func Policy(ctx context.Context, log *slog.Logger, s store.Store, org store.Organization) (api.OrgPolicy, error) {
	return operator(log, s, time.Now).Policy(ctx, operatorIn(org))
}

// SetPolicy reads a policy and puts it in force, as an admin would. Servers that run
// take it up within a second. A document that names a version was made from that
// one, and is refused when another stands; one that names none replaces whatever
// stands.
func SetPolicy(ctx context.Context, log *slog.Logger, s store.Store, org store.Organization, document []byte, now func() time.Time) (api.OrgPolicy, error) {
	change, err := api.DecodePolicyChange(document)
	if err != nil {
		return api.OrgPolicy{}, err
	}
	rules, caller := operator(log, s, now), operatorIn(org)
	if change.Version == nil {
		stands, err := rules.Policy(ctx, caller)
		if err != nil {
			return api.OrgPolicy{}, fmt.Errorf("read the policy that stands: %w", err)
		}
		change.Version = &stands.Version
	}
	return rules.SetPolicy(ctx, caller, change, api.Tags{})
}

// operator is a ledger for what the operator does without a server.
func operator(log *slog.Logger, s store.Store, now func() time.Time) *ledger.Ledger {
	return ledger.New(log, s, now, api.DefaultLimits, nil, nil)
}

// operatorIn is whoever runs the server, as the records of an organization name him.
func operatorIn(org store.Organization) ledger.Caller {
	return ledger.Caller{Org: org.ID, OrgUID: org.UID, UserName: "(operator)", Role: api.Admin, Client: "server", How: "command"}
}

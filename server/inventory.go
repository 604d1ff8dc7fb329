package server

import (
	"context"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/figures"
	"github.com/teammem/teammem/server/metrics"
	"github.com/teammem/teammem/server/store"
)

// endingSoon is for how long before its end a token counts as ending.
const endingSoon = 7 * 24 * time.Hour

// inventory asks the database what Prometheus is told of organizations and clients.
func (s *Server) inventory(ctx context.Context, now time.Time) (metrics.Inventory, error) {
	var all metrics.Inventory
	orgs, err := s.store.Organizations(ctx)
	if err != nil {
		return all, err
	}
	for _, org := range orgs {
		one, clients, err := s.inventoryOf(ctx, org, now)
		if err != nil {
			return all, err
		}
		all.Organizations, all.Clients = append(all.Organizations, one), append(all.Clients, clients...)
	}
	return all, nil
}

func (s *Server) inventoryOf(ctx context.Context, org store.Organization, now time.Time) (one metrics.Organization, clients []metrics.Client, err error) {
	repos, err := s.store.Repos(ctx, org.ID)
	if err != nil {
		return one, nil, err
	}
	stats, err := s.figures.Stats(ctx, org.ID, repos, true, figures.Ranges[0])
	if err != nil {
		return one, nil, err
	}
	head, _, err := s.store.AuditEnds(ctx, org.ID)
	if err != nil {
		return one, nil, err
	}
	one = metrics.Organization{
		Name: org.Name, Repositories: len(repos), Entries: stats.Entries, People: stats.People, Versions: stats.Versions,
		Bytes: stats.Bytes, Storage: stats.Storage, Proposals: stats.Open, AuditRecords: head.Seq,
	}
	if !stats.Oldest.IsZero() {
		one.OldestProposal = now.Sub(stats.Oldest)
	}
	if v, ok := s.keeper.Verified(org.ID); ok {
		one.AuditBroken = v.Broken != nil
	}
	tokens, err := s.store.Tokens(ctx, org.ID)
	if err != nil {
		return one, nil, err
	}
	for _, t := range tokens {
		if left := t.Expires.Sub(now); t.Revoked.IsZero() && !t.Expires.IsZero() && left > 0 && left < endingSoon {
			one.TokensEnding++
		}
	}
	known, err := s.figures.Clients(ctx, org.ID, 0, repos, func(api.RepoSlug) bool { return true })
	inStep := map[api.RepoSlug]bool{} // of repos whose clients run
	for _, c := range known {
		client := metrics.Client{
			Version: c.Version, Running: c.State == api.ClientRunning, Troubled: c.Trouble != "", Silent: now.Sub(c.Seen),
			Lag: int64(c.Lag), Pending: c.Pending, Kept: c.Kept, Held: c.Held,
		}
		clients = append(clients, client)
		if c.Online {
			inStep[c.Repo] = inStep[c.Repo] || c.Lag == 0
		}
	}
	for _, is := range inStep {
		if !is {
			one.Quiet++
		}
	}
	return one, clients, err
}

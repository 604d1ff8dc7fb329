package organization

import (
	"context"
	"time"

	"github.com/teammem/teammem/server/audit"
	"github.com/teammem/teammem/server/store"
)

// cutOf is what of its history an organization does not keep.
func cutOf(org store.Organization, now time.Time) store.Cut {
	cut := store.Cut{Keep: org.HistoryKeep}
	if org.HistoryDays > 0 {
		cut.Before = now.AddDate(0, 0, -org.HistoryDays)
	}
	if org.TrashDays > 0 {
		cut.Deleted = now.AddDate(0, 0, -org.TrashDays)
	}
	return cut
}

// Vacuum takes away what of its history an organization does not keep, and contents that
// nothing refers to any more; with dryRun it says what would go. What went is a record of
// the chain.
func (r *Rules) Vacuum(ctx context.Context, by By, org store.Organization, dryRun bool) (store.Vacuumed, error) {
	cut := cutOf(org, r.now())
	cut.DryRun = dryRun
	done, err := r.store.Vacuum(ctx, org.ID, cut)
	if dryRun || done.Changes+done.Contents == 0 {
		return done, err
	}
	// Also what went before an error went.
	says := audit.Deed{After: map[string]any{
		"changes": done.Changes, "contents": done.Contents, "bytes": done.Bytes,
		"historyDays": org.HistoryDays, "historyKeep": org.HistoryKeep, "trashDays": org.TrashDays,
	}}
	if recorded := r.Record(context.WithoutCancel(ctx), by, audit.ActionVacuum, says); err == nil {
		err = recorded
	}
	return done, err
}

// Vacuum takes away what organizations do not keep. Those that keep everything are left
// alone.
func (k *Keeper) Vacuum(ctx context.Context) {
	orgs, err := k.rules.store.Organizations(ctx)
	if err != nil && ctx.Err() == nil {
		k.log.Warn("old texts stay for now", "error", err)
	}
	for _, org := range orgs {
		if cutOf(org, k.rules.now()).Nothing() {
			continue
		}
		by := By{Org: org.ID, User: "server", How: "server"}
		done, err := k.rules.Vacuum(ctx, by, org, false)
		if err != nil && ctx.Err() == nil {
			k.log.Warn("old texts stay for now", "organization", org.Name, "error", err)
		}
		if done.Changes+done.Contents > 0 {
			k.log.Info("old texts went, as the organization wants it", "organization", org.Name, "changes", done.Changes, "contents", done.Contents, "bytes", done.Bytes)
		}
	}
}

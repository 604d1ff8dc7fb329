package organization

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// Page gives a page of the records of several chains that a query asks for, newest
// first, and the cursor of the next; an empty one is the end.
func (r *Rules) Page(ctx context.Context, org store.OrgID, chains []Chain, q store.AuditQuery, cursor string) ([]Entry, string, error) {
	from, err := parsePlace(cursor)
	if err != nil {
		return nil, "", err
	}
	limit := q.Limit
	q.Limit++ // one more shows whether there is another page
	var found []Entry
	for _, chain := range chains {
		one, err := r.Find(ctx, org, []Chain{chain}, from.narrow(q, int64(chain.ID)))
		if err != nil {
			return nil, "", err
		}
		found = append(found, one...)
	}
	slices.SortStableFunc(found, func(a, b Entry) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Chain.ID, b.Chain.ID), cmp.Compare(b.Seq, a.Seq))
	})
	if len(found) <= limit {
		return found, "", nil
	}
	last := found[limit-1]
	return found[:limit], foundPlace{At: last.At.UnixMilli(), Chain: int64(last.Chain.ID), Seq: last.Seq}.String(), nil
}

// foundPlace is the last record of a page: its time, and of several at one time its
// chain and number.
type foundPlace struct{ At, Chain, Seq int64 }

func (p foundPlace) String() string { return fmt.Sprintf("%d.%d.%d", p.At, p.Chain, p.Seq) }

func parsePlace(text string) (p foundPlace, err error) {
	if text == "" {
		return p, nil
	}
	if n, err := fmt.Sscanf(text, "%d.%d.%d", &p.At, &p.Chain, &p.Seq); err != nil || n != 3 || p.String() != text {
		return p, refuse(api.InvalidRequest, api.ErrorCodeBadQuery, "the cursor is not one of an earlier answer")
	}
	return p, nil
}

// narrow is the query for what follows the place in a chain.
func (p foundPlace) narrow(q store.AuditQuery, chain int64) store.AuditQuery {
	if p.Seq == 0 {
		return q
	}
	upTo := time.UnixMilli(p.At).UTC()
	switch {
	case chain == p.Chain:
		q.Before = p.Seq
	case chain < p.Chain:
		upTo = upTo.Add(-time.Millisecond)
	}
	if q.To.IsZero() || upTo.Before(q.To) {
		q.To = upTo
	}
	return q
}

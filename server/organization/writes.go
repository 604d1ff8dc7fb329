package organization

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// writeLimits bounds the writes a minute of organizations that have such a limit, of
// all their members together, and of all servers that share what they count.
type writeLimits struct {
	mu    sync.Mutex
	byOrg map[store.OrgID]writeLimit
	tell  func(org store.OrgID) // of each write of an organization with a limit; nil: nobody
}

type writeLimit struct {
	most    int
	limiter *rate.Limiter
}

func newWriteLimits() *writeLimits { return &writeLimits{byOrg: map[store.OrgID]writeLimit{}} }

// AdmitWrite lets somebody write once, or says when they may. most is how often a minute
// the organization may; 0 is any number. On this server the API and the pages have one
// count.
func (r *Rules) AdmitWrite(org store.OrgID, most int) error {
	if most <= 0 {
		return nil
	}
	now := r.now()
	r.writes.mu.Lock()
	limit := r.writes.byOrg[org]
	if limit.most != most {
		limit = writeLimit{most: most, limiter: rate.NewLimiter(rate.Every(time.Minute/time.Duration(most)), most)}
		r.writes.byOrg[org] = limit
	}
	r.writes.mu.Unlock()
	ticket := limit.limiter.ReserveN(now, 1)
	wait := ticket.DelayFrom(now)
	if wait <= 0 {
		if r.writes.tell != nil {
			r.writes.tell(org)
		}
		return nil
	}
	ticket.CancelAt(now)
	return &api.Error{
		Code:       api.RateLimit,
		Message:    fmt.Sprintf("the organization may write %d times a minute and has done so: wait as long as Retry-After says; an admin of the organization can raise the limit", most),
		Details:    api.Details{ErrorCode: api.ErrorCodeTooManyWrites, MaxPerMinute: most},
		RetryAfter: wait,
	}
}

// ShareWrites has tell called with each write of an organization that has a limit. It is
// called before the first one.
func (r *Rules) ShareWrites(tell func(org store.OrgID)) { r.writes.tell = tell }

// WrittenElsewhere takes so many writes that other servers let in from what the
// organization may here.
func (r *Rules) WrittenElsewhere(org store.OrgID, count int) {
	r.writes.mu.Lock()
	limit := r.writes.byOrg[org]
	r.writes.mu.Unlock()
	if limit.limiter != nil && count > 0 {
		limit.limiter.ReserveN(r.now(), min(count, limit.most))
	}
}

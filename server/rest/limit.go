package rest

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// writeLimits bounds the writes a minute of organizations that have such a limit, of
// all their members together, on this server.
type writeLimits struct {
	mu    sync.Mutex
	byOrg map[store.OrgID]writeLimit
}

type writeLimit struct {
	most    int
	limiter *rate.Limiter
}

func newWriteLimits() *writeLimits { return &writeLimits{byOrg: map[store.OrgID]writeLimit{}} }

// admit lets a call write, or says when it may.
func (w *writeLimits) admit(c *call) error {
	most := c.who.Limits.WritesPerMinute
	if c.route.Right != api.Write || most <= 0 {
		return nil
	}
	w.mu.Lock()
	limit := w.byOrg[c.who.Org]
	if limit.most != most {
		limit = writeLimit{most: most, limiter: rate.NewLimiter(rate.Every(time.Minute/time.Duration(most)), most)}
		w.byOrg[c.who.Org] = limit
	}
	w.mu.Unlock()
	ticket := limit.limiter.ReserveN(c.start, 1)
	wait := ticket.DelayFrom(c.start)
	if wait <= 0 {
		return nil
	}
	ticket.CancelAt(c.start)
	return &api.Error{
		Code:       api.RateLimit,
		Message:    fmt.Sprintf("the organization may write %d times a minute and has done so: wait as long as Retry-After says; an admin of the organization can raise the limit", most),
		Details:    api.Details{ErrorCode: api.ErrorCodeTooManyWrites, MaxPerMinute: most},
		RetryAfter: wait,
	}
}

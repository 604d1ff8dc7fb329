package store

import (
	"context"
	"sync"
	"time"

	"github.com/teammem/teammem/api"
)

// epochAge is how long a read epoch is taken for current. It bounds how long a
// server can go on under a database that was restored beneath it.
const epochAge = time.Second

// EpochCache answers [Store.Epoch] without a query for every request.
type EpochCache struct {
	mu    sync.Mutex
	epoch api.Epoch
	until time.Time
}

// Get gives the epoch, asking read when the last answer has grown old. Callers
// that come while one reads wait for its answer.
func (c *EpochCache) Get(ctx context.Context, read func(context.Context) (api.Epoch, error)) (api.Epoch, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.epoch, nil
	}
	epoch, err := read(ctx)
	if err != nil {
		return "", err
	}
	c.epoch, c.until = epoch, time.Now().Add(epochAge)
	return epoch, nil
}

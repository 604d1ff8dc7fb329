package remote

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/teammem/teammem/api"
)

// longestPause caps the pauses between tries, as the stock client does. A server
// that asks for more is left alone: the caller gets its error with the time.
const longestPause = 32 * time.Second

// call tries a request until it is answered for good, the tries are used up, or
// ctx ends. The pauses double from Options.Pause, each with up to a quarter of
// random spread, and are never shorter than the server's Retry-After.
func (c *Client) call(ctx context.Context, r request, read func(status int, body []byte) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = c.opts.Pause
	pauses.Multiplier = 2
	pauses.RandomizationFactor = 0.25
	pauses.MaxInterval = longestPause
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last = c.once(ctx, r, read)
		switch {
		case last == nil:
			return struct{}{}, nil
		case !passing(last):
			return struct{}{}, backoff.Permanent(last)
		}
		if e, ok := api.AsError(last); ok && e.RetryAfter > 0 {
			if e.RetryAfter > longestPause {
				return struct{}{}, backoff.Permanent(last)
			}
			return struct{}{}, &backoff.RetryAfterError{Duration: e.RetryAfter}
		}
		return struct{}{}, last
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(uint(c.opts.Tries)), backoff.WithMaxElapsedTime(0))
	if err != nil && last != nil {
		// The library wraps what it was given; callers want the answer itself.
		return last
	}
	return err
}

// passing reports whether a fault may pass by itself.
func passing(err error) bool {
	var u *Unreachable
	if errors.As(err, &u) {
		return !u.certificate()
	}
	e, ok := api.AsError(err)
	return ok && e.Code.Temporary()
}

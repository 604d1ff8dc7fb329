package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// TestEpochCache: many requests cost one read a second, a changed epoch is seen
// within it, and an error is not remembered.
func TestEpochCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cache store.EpochCache
		reads, epoch, broken := 0, api.Epoch("one"), errors.New("no connection")
		get := func(fail error) (api.Epoch, error) {
			return cache.Get(t.Context(), func(context.Context) (api.Epoch, error) {
				reads++
				return epoch, fail
			})
		}
		if _, err := get(broken); !errors.Is(err, broken) {
			t.Fatalf("Get: %v, want the reader's error", err)
		}
		for range 100 {
			if got, err := get(nil); got != "one" || err != nil {
				t.Fatalf("Get: %q, %v", got, err)
			}
		}
		if reads != 2 {
			t.Errorf("%d reads for 100 answers after an error, want 2", reads)
		}
		epoch = "two"
		time.Sleep(time.Second) // of the bubble
		if got, err := get(nil); got != "two" || err != nil {
			t.Errorf("a second later: %q, %v; want the new epoch", got, err)
		}
	})
}

package figures

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammem/server/store"
)

// endless adds contents up for longer than anybody waits.
type endless struct {
	Store
	sums atomic.Int64
}

func (s *endless) Storage(ctx context.Context, _ store.OrgID) (int64, error) {
	n := s.sums.Add(1)
	select {
	case <-time.After(time.Minute):
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Who asks how much a large organization holds is not kept waiting, and soon told.
func TestALongSumKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &endless{}
		d := New(nil, s, time.Now)
		for _, step := range []struct {
			after time.Duration
			want  int64
			sums  int64
		}{
			{0, 0, 1},
			{15 * time.Second, 0, 1}, // it is the same sum
			{time.Minute, 1, 1},
			{3 * time.Hour, 1, 1}, // as long as 200 sums nothing is summed
			{time.Hour, 1, 2},
			{time.Minute, 2, 2},
		} {
			<-time.After(step.after)
			began := time.Now()
			got, err := d.stored(t.Context(), 1)
			if err != nil || got != step.want || s.sums.Load() != step.sums || time.Since(began) > storageWait {
				t.Errorf("after %s %d bytes are said after %s and %d sums, %v; want %d and %d", step.after, got, time.Since(began), s.sums.Load(), err, step.want, step.sums)
			}
		}
		d.end()
		d.sums.Wait()
	})
}

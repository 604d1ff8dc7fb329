package memory

import (
	"slices"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
	"github.com/teammem/teammem/server/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return New() }, storetest.Corrupt(damage))
}

// damage flips a bit of a stored body. The body may be in snapshots too, so a
// damaged copy takes its place.
func damage(t *testing.T, s store.Store, org store.OrgID, sum api.Checksum) {
	t.Helper()
	err := s.(*Store).write(t.Context(), func(next *state) error {
		ref := bodyRef{org: org, sum: sum}
		body, ok := next.bodies.get(ref)
		if !ok {
			t.Fatalf("no body %s", sum.Short())
		}
		flipped := *body
		flipped.Data = slices.Clone(body.Data)
		flipped.Data[len(flipped.Data)/2] ^= 1
		next.bodies = next.bodies.with(ref, &flipped)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

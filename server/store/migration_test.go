package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/teammem/teammem/server/store"
)

func TestMigrationFits(t *testing.T) {
	for _, test := range []struct {
		stands store.Migration
		says   string // empty: it fits
	}{
		{store.Migration{Current: 3, Newest: 3}, ""},
		{store.Migration{Current: 0, Newest: 3}, "it is at version 0 and this server needs version 3; run: server migrate up"},
		{store.Migration{Current: 4, Newest: 3}, "a newer server has used it; start the newer server, or let the newer server take it back: server migrate down"},
		{store.Migration{Current: 3, Newest: 3, Dirty: true}, "dirty at version 3, so a migration to that version was broken off; when what stands is version 2, run: server migrate force 2"},
		{store.Migration{Current: 1, Newest: 3, Dirty: true}, "run: server migrate force 0"},
		{store.Migration{Current: 0, Newest: 3, Dirty: true}, "run: server migrate force 0"},
	} {
		err := test.stands.Fits()
		switch {
		case test.says == "" && err != nil:
			t.Errorf("%+v: %v, want nil", test.stands, err)
		case test.says != "" && (!errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%+v: %v, want an ErrSchema that says %q", test.stands, err, test.says)
		}
	}
}

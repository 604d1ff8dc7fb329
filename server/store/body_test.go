package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

func TestBodyComesBack(t *testing.T) {
	for _, test := range []struct {
		name, content string
		coding        store.Coding
	}{
		{"empty", "", store.Plain},
		{"short", "a note", store.Plain},
		{"long", strings.Repeat("the same line\n", 1000), store.Zstd},
	} {
		body := store.Pack(api.ChecksumOfString(test.content), []byte(test.content))
		got, err := body.Unpack()
		if err != nil || string(got) != test.content || body.Coding != test.coding || body.Size != len(test.content) {
			t.Errorf("%s: %d bytes, coding %d, %v", test.name, len(got), body.Coding, err)
		}
	}
}

// TestBodyDamaged flips each bit of a stored body in turn: none gives content.
func TestBodyDamaged(t *testing.T) {
	for _, content := range []string{"a note", strings.Repeat("the same line\n", 100)} {
		body := store.Pack(api.ChecksumOfString(content), []byte(content))
		for bit := range 8 * len(body.Data) {
			damaged := *body
			damaged.Data = append([]byte{}, body.Data...)
			damaged.Data[bit/8] ^= 1 << (bit % 8)
			if got, err := damaged.Unpack(); err == nil && string(got) != content {
				t.Fatalf("bit %d: other content comes back", bit)
			} else if err != nil && !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("bit %d: %v, want ErrCorrupt", bit, err)
			}
		}
	}
	bomb := &store.Body{Checksum: api.ChecksumOfString("x"), Coding: 7}
	if _, err := bomb.Unpack(); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("an unknown coding: %v, want ErrCorrupt", err)
	}
}

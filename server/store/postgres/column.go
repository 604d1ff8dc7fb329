package postgres

import (
	"fmt"
	"time"

	"github.com/teammem/teammem/api"
)

// checksum is an api.Checksum as a column: the 32 bytes, or NULL for none.
type checksum api.Checksum

// ScanBytes reads the column.
func (c *checksum) ScanBytes(v []byte) error {
	switch len(v) {
	case 0:
		*c = ""
	case 32:
		*c = checksum(api.ChecksumFromSum([32]byte(v)))
	default:
		return fmt.Errorf("a checksum of %d bytes", len(v))
	}
	return nil
}

// hash is a hash as a column.
type hash [32]byte

// ScanBytes reads the column.
func (h *hash) ScanBytes(v []byte) error {
	if len(v) != len(h) {
		return fmt.Errorf("a hash of %d bytes", len(v))
	}
	copy(h[:], v)
	return nil
}

// raw is a checksum on its way into a column.
func raw(c api.Checksum) []byte {
	if c == "" {
		return nil
	}
	sum := c.Sum()
	return sum[:]
}

// instant is a time on its way into a column; the zero time is NULL.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = millis(t)
	return &t
}

// millis cuts a time to what is kept.
func millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// moment reads a column that may be NULL.
func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// texts gives keys the type that the driver knows in every mode.
func texts(keys []api.Key) []string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = string(key)
	}
	return all
}

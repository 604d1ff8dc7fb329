package sqlite

import (
	"fmt"
	"time"

	"github.com/teammem/teammem/api"
)

// checksum is an api.Checksum as a column: the 32 bytes, or NULL for none.
type checksum api.Checksum

// Scan reads the column.
func (c *checksum) Scan(v any) error {
	switch b, _ := v.([]byte); len(b) {
	case 0:
		*c = ""
	case 32:
		*c = checksum(api.ChecksumFromSum([32]byte(b)))
	default:
		return fmt.Errorf("a checksum of %d bytes", len(b))
	}
	return nil
}

// hash is a hash as a column.
type hash [32]byte

// Scan reads the column.
func (h *hash) Scan(v any) error {
	b, _ := v.([]byte)
	if len(b) != len(h) {
		return fmt.Errorf("a hash of %d bytes", len(b))
	}
	copy(h[:], b)
	return nil
}

// moment is a time as a column: milliseconds, or NULL for the zero time.
type moment time.Time

// Scan reads the column.
func (m *moment) Scan(v any) error {
	switch n := v.(type) {
	case nil:
		*m = moment{}
	case int64:
		*m = moment(time.UnixMilli(n).UTC())
	default:
		return fmt.Errorf("a time of type %T", v)
	}
	return nil
}

// instant is a time on its way into a column.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// millis cuts a time to what is kept.
func millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// raw is a checksum on its way into a column.
func raw(c api.Checksum) any {
	if c == "" {
		return nil
	}
	sum := c.Sum()
	return sum[:]
}

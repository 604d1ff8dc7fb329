package store

import (
	"fmt"

	"github.com/teammem/teammem/api"
)

// Check holds a change against what every store relies on: it is the version
// after current, its audit record is the head's, each key is written once, and
// each write has a checksum and, unless it deletes, the body of that checksum. A
// change that breaks this is a mistake of the program, never of a user. Every
// implementation calls it before it writes.
func (c *Change) Check(current Head) error {
	switch {
	case c.Head.Version != current.Version+1:
		return fmt.Errorf("change makes version %d of version %d", c.Head.Version, current.Version)
	case c.Audit.Seq != int64(c.Head.Version):
		return fmt.Errorf("audit record %d with version %d", c.Audit.Seq, c.Head.Version)
	case c.Audit.Hash != c.Head.AuditHead:
		return fmt.Errorf("audit record of version %d is not the head's", c.Head.Version)
	}
	if _, err := api.ParseChecksum(string(c.Head.Checksum)); err != nil {
		return fmt.Errorf("head of version %d: %w", c.Head.Version, err)
	}
	seen := make(map[api.Key]struct{}, len(c.Writes))
	for i := range c.Writes {
		write := &c.Writes[i]
		if _, twice := seen[write.Key]; twice {
			return fmt.Errorf("key %q is written twice", write.Key)
		}
		seen[write.Key] = struct{}{}
		if err := write.check(); err != nil {
			return fmt.Errorf("key %q: %w", write.Key, err)
		}
	}
	return nil
}

func (w *Write) check() error {
	if _, err := api.ParseChecksum(string(w.Checksum)); err != nil {
		return err
	}
	switch {
	case w.Fold == "":
		return fmt.Errorf("no fold")
	case w.Deleted && w.Body != nil:
		return fmt.Errorf("deleted with a body")
	case w.Stored && (w.Deleted || w.Body != nil):
		return fmt.Errorf("stored already, and deleted or with a body")
	case !w.Deleted && !w.Stored && (w.Body == nil || w.Body.Checksum != w.Checksum):
		return fmt.Errorf("no body of its checksum")
	}
	return nil
}

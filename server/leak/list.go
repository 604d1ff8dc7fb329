package leak

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// List is the file of what was withdrawn: one object of JSON a line, checksums, who,
// when and why, and never a content. It is only ever added to. It must lie outside what
// a restore of the database puts back.
type List struct {
	path string
	mu   sync.Mutex
}

// NewList is the list in a file, which need not exist yet.
func NewList(path string) *List { return &List{path: path} }

// line is one redaction on the list.
type line struct {
	Organization string       `json:"organization"`
	Checksum     api.Checksum `json:"checksum"`
	At           api.Time     `json:"at"`
	User         string       `json:"user"`
	TokenID      string       `json:"tokenId,omitempty"`
	Reason       string       `json:"reason"`
}

// mostLine bounds one line when reading.
const mostLine = 1 << 20

// read gives the list by organization. A line that cannot be read is an alarm and is
// passed over: the last one may have been cut off before anything was done about it.
func (l *List) read(log *slog.Logger) (map[string][]store.Redaction, error) {
	all := map[string][]store.Redaction{}
	if l == nil {
		return all, nil
	}
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var one line
		err := json.Unmarshal(lines.Bytes(), &one)
		if err == nil {
			one.Checksum, err = api.ParseChecksum(string(one.Checksum))
		}
		if err != nil {
			log.Error("a line of the list of redactions cannot be read and is passed over: look at it", "alarm", "redactions", "file", l.path, "line", n)
			continue
		}
		all[one.Organization] = append(all[one.Organization], store.Redaction{
			Checksum: one.Checksum, At: one.At.Time, User: one.User, TokenUID: one.TokenID, Reason: one.Reason,
		})
	}
	return all, lines.Err()
}

// add writes redactions at the end of the list, durably. One write, so that two
// processes do not mix their lines; it begins with a line break in case that the last
// line was cut off.
func (l *List) add(org string, all []store.Redaction) error {
	if l == nil || len(all) == 0 {
		return nil
	}
	text := []byte{'\n'}
	for _, r := range all {
		one, err := json.Marshal(line{Organization: org, Checksum: r.Checksum, At: api.NewTime(r.At), User: r.User, TokenID: r.TokenUID, Reason: r.Reason})
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		text = append(append(text, one...), '\n')
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(l.path))
}

// syncDir makes a new file's name durable, where the system knows how.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = dir.Sync() // Windows has none for directories
	return dir.Close()
}

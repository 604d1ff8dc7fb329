package state

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

// The agreement's file is made of lines that end in \n:
//
//	{"format":1, …}                                                  the head
//	e  key  base  remote  local  size  mtime  ctime  inode  at       an entry
//	t  key  checksum                                                 a tombstone
//	r  key  checksum  kind  rule  line  since  limit  message        a refusal
//	end  count  sha256                                               the tail
//
// Fields are separated by a tab. Entries stand in the order of their keys, then
// tombstones, then refusals. A checksum is its 64 hex digits, "-" for none and "="
// for the same as the base; text that could be mistaken is quoted as Go does; times
// are nanoseconds since 1970. The count is that of the lines between head and tail,
// the sum is taken over all bytes before the tail. A format with another number is
// not read.
const format = 1

type head struct {
	Format         int          `json:"format"`
	Server         string       `json:"server"`
	OrganizationID string       `json:"organizationId"`
	Repo           api.RepoSlug `json:"repo"`
	Directory      string       `json:"directory"`
	// DirectoryBytes stands in for Directory when that is not UTF-8, which
	// JSON cannot carry.
	DirectoryBytes []byte       `json:"directoryBytes,omitempty"`
	RootID         string       `json:"rootId"`
	MarkerID       string       `json:"markerId"`
	Epoch          api.Epoch    `json:"epoch"`
	Version        api.Version  `json:"version"`
	Checksum       api.Checksum `json:"checksum"`
	Synced         time.Time    `json:"synced,omitzero"`
	Halted         string       `json:"halted,omitempty"`
}

func encode(a *Agreement) ([]byte, error) {
	h := head{
		Format: format, Server: a.Server, OrganizationID: a.OrganizationID, Repo: a.Repo, Directory: a.Directory,
		RootID: a.RootID, MarkerID: a.MarkerID, Epoch: a.Epoch, Version: a.Version, Checksum: a.Checksum,
		Synced: a.Synced.UTC(), Halted: a.Halted,
	}
	if !utf8.ValidString(a.Directory) {
		h.Directory, h.DirectoryBytes = "", []byte(a.Directory)
	}
	first, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	w := writer{b: make([]byte, 0, len(first)+200*len(a.Entries)+200)}
	w.b = append(w.b, first...)
	w.b = append(w.b, '\n')
	for _, key := range api.SortedKeys(a.Entries) {
		w.entry(key, a.Entries[key])
	}
	for _, key := range api.SortedKeys(a.Tombstones) {
		w.text("t")
		w.text(string(key))
		w.sum(a.Tombstones[key], "")
		w.end()
	}
	for _, key := range api.SortedKeys(a.Refused) {
		w.refusal(key, a.Refused[key])
	}
	if w.err != nil {
		return nil, w.err
	}
	sum := sha256.Sum256(w.b)
	return fmt.Appendf(w.b, "end\t%d\t%x\n", w.lines, sum), nil
}

// writer appends fields to lines. The first error stays.
type writer struct {
	b     []byte
	lines int
	err   error
}

func (w *writer) entry(key api.Key, e Entry) {
	w.text("e")
	w.text(string(key))
	w.sum(e.Base, "")
	w.sum(e.Remote, e.Base)
	if e.File == (memdir.File{}) {
		w.b = append(w.b, "-\t"...) // nothing behind it: no file
		w.end()
		return
	}
	if e.File.Key != key {
		w.fail("entry %q holds the file of %q", key, e.File.Key)
	}
	w.sum(e.File.Checksum, e.Base)
	f := e.File.Fingerprint
	w.number(f.Size)
	w.number(f.MTime)
	w.number(f.CTime)
	w.b = strconv.AppendUint(w.b, f.Inode, 10)
	w.b = append(w.b, '\t')
	w.number(f.At)
	w.end()
}

func (w *writer) refusal(key api.Key, r Refusal) {
	w.text("r")
	w.text(string(key))
	w.sum(r.Checksum, "")
	w.text(r.Kind)
	w.text(r.Rule)
	w.number(int64(r.Line))
	w.number(nanoseconds(r.Since))
	w.number(r.Limit)
	w.text(r.Message)
	w.end()
}

func (w *writer) text(s string) {
	if s == "" || s == "-" || s[0] == '"' || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
		w.b = strconv.AppendQuote(w.b, s)
	} else {
		w.b = append(w.b, s...)
	}
	w.b = append(w.b, '\t')
}

func (w *writer) number(n int64) {
	w.b = strconv.AppendInt(w.b, n, 10)
	w.b = append(w.b, '\t')
}

func (w *writer) sum(c, base api.Checksum) {
	switch {
	case c == "":
		w.b = append(w.b, '-')
	case c == base:
		w.b = append(w.b, '=')
	default:
		if _, err := api.ParseChecksum(string(c)); err != nil {
			w.fail("%v", err)
			return
		}
		w.b = append(w.b, c[len(api.ChecksumPrefix):]...)
	}
	w.b = append(w.b, '\t')
}

func (w *writer) end() {
	w.b[len(w.b)-1] = '\n'
	w.lines++
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// nanoseconds keeps the zero time apart from 1970.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

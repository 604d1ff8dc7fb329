package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

// damaged says what is wrong with the file, without showing any of it.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrDamaged)
}

func decode(content []byte) (*Agreement, error) {
	body, lines, err := checkTail(content)
	if err != nil {
		return nil, err
	}
	first, rest, _ := bytes.Cut(body, []byte{'\n'})
	a, err := decodeHead(first)
	if err != nil {
		return nil, err
	}
	a.Entries = make(map[api.Key]Entry, lines)
	var r reader
	for n := range lines {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		r.reset(line)
		if err := r.record(a); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+2, err)
		}
	}
	return a, nil
}

// checkTail proves that the file is whole before any of it is believed. lines is
// the number of lines after the head.
func checkTail(content []byte) (body []byte, lines int, err error) {
	const longest = len("end\t\t\n") + 20 + 2*sha256.Size
	if len(content) == 0 || content[len(content)-1] != '\n' {
		return nil, 0, damaged("it is cut short")
	}
	from := max(0, len(content)-longest)
	at := bytes.LastIndexByte(content[from:len(content)-1], '\n')
	if at < 0 {
		return nil, 0, damaged("it has no tail")
	}
	body, tail := content[:from+at+1], string(content[from+at+1:len(content)-1])
	fields := strings.Split(tail, "\t")
	if len(fields) != 3 || fields[0] != "end" {
		return nil, 0, damaged("it is cut short")
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != fields[2] {
		return nil, 0, damaged("its checksum is wrong")
	}
	lines = bytes.Count(body, []byte{'\n'}) - 1
	if fields[1] != strconv.Itoa(lines) {
		return nil, 0, damaged("its count of lines is wrong")
	}
	return body, lines, nil
}

func decodeHead(line []byte) (*Agreement, error) {
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, damaged("its head is not JSON")
	}
	if h.Format != format {
		return nil, damaged("it has format %d and this client reads format %d", h.Format, format)
	}
	a := NewAgreement()
	a.Server, a.OrganizationID, a.Repo, a.Directory = h.Server, h.OrganizationID, h.Repo, h.Directory
	if h.DirectoryBytes != nil {
		a.Directory = string(h.DirectoryBytes)
	}
	a.RootID, a.MarkerID = h.RootID, h.MarkerID
	a.Epoch, a.Version, a.Checksum, a.Synced, a.Halted = h.Epoch, h.Version, h.Checksum, h.Synced, h.Halted
	return a, nil
}

// reader takes the fields of one line. The first fault stays. kind and key are those
// of the line before, for the order.
type reader struct {
	rest []byte
	more bool
	bad  string
	kind string
	key  api.Key
}

func (r *reader) reset(line []byte) { r.rest, r.more, r.bad = line, true, "" }

func (r *reader) field() []byte {
	if !r.more {
		r.fault("too few fields")
		return nil
	}
	at := bytes.IndexByte(r.rest, '\t')
	if at < 0 {
		r.more = false
		return r.rest
	}
	field := r.rest[:at]
	r.rest = r.rest[at+1:]
	return field
}

// kinds are the kinds of line in the order they stand in.
const kinds = "etr"

func (r *reader) record(a *Agreement) error {
	kind := string(r.field())
	key := api.Key(r.text())
	if at := strings.Index(kinds, kind); at < strings.Index(kinds, r.kind) || kind == r.kind && key <= r.key {
		return damaged("lines out of order")
	}
	r.kind, r.key = kind, key
	switch kind {
	case "e":
		a.Entries[key] = r.entry(key)
	case "t":
		a.Tombstones[key] = r.sum("")
	case "r":
		a.Refused[key] = Refusal{
			Checksum: r.sum(""), Kind: r.text(), Rule: r.text(), Line: int(r.number()),
			Since: instant(r.number()), Limit: r.number(), Message: r.text(),
		}
	default:
		return damaged("a line of unknown kind")
	}
	if r.more {
		r.fault("too many fields")
	}
	if r.bad != "" {
		return damaged("%s", r.bad)
	}
	return nil
}

func (r *reader) entry(key api.Key) Entry {
	base := r.sum("")
	e := Entry{Base: base, Remote: r.sum(base)}
	if r.more && string(r.rest) == "-" {
		r.rest, r.more = nil, false
		return e
	}
	e.File = memdir.File{Key: key, Checksum: r.sum(base)}
	e.File.Fingerprint = memdir.Fingerprint{Size: r.number(), MTime: r.number(), CTime: r.number(), Inode: r.unsigned(), At: r.number()}
	return e
}

func (r *reader) text() string {
	field := r.field()
	if len(field) == 0 || field[0] != '"' {
		return string(field)
	}
	s, err := strconv.Unquote(string(field))
	if err != nil {
		r.fault("a text that is quoted wrongly")
	}
	return s
}

func (r *reader) sum(base api.Checksum) api.Checksum {
	switch field := r.field(); string(field) {
	case "-":
		return ""
	case "=":
		if base == "" {
			r.fault("a checksum that refers to none")
		}
		return base
	default:
		if !isHexSum(field) {
			r.fault("a checksum that is none")
			return ""
		}
		return api.Checksum(api.ChecksumPrefix + string(field))
	}
}

// isHexSum is api.ParseChecksum's rule, by a table: the state of a large repo holds
// tens of thousands of them and is read at every start.
func isHexSum(s []byte) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	good := uint8(1)
	for i := range len(s) {
		good &= hexDigit[s[i]]
	}
	return good == 1
}

var hexDigit = func() (table [256]uint8) {
	for _, c := range "0123456789abcdef" {
		table[c] = 1
	}
	return table
}()

func (r *reader) number() int64 {
	n, err := strconv.ParseInt(string(r.field()), 10, 64)
	if err != nil {
		r.fault("a number that is none")
	}
	return n
}

func (r *reader) unsigned() uint64 {
	n, err := strconv.ParseUint(string(r.field()), 10, 64)
	if err != nil {
		r.fault("a number that is none")
	}
	return n
}

func (r *reader) fault(what string) {
	if r.bad == "" {
		r.bad = what
	}
}

func instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

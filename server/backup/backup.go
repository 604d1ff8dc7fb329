// Package backup keeps a database in a file and makes a database of one.
//
// A backup is taken from a running server as of one instant, and is the same for
// both databases: the rows of every table in a neutral form, so that what was
// written by SQLite is restored into Postgres as well. The file is one zstd stream. Its
// first record says what it is of; then come tables and rows; the last record counts
// them and has the SHA-256 of all before it, so that a file that was cut off, or
// gives other rows than were written, is not taken for a backup. [Verify] reads a file back to its end, and
// unpacks every content and holds it against its checksum.
//
// A restore goes into an empty database, whole or not at all, and begins a new
// epoch: clients that saw more than the backup compare anew and bring back what they
// wrote since. What an administrator withdrew stays withdrawn by the list outside the
// database, see package leak.
//
// It knows no SQL and no files: stores give and take rows, the caller has the streams.
package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// format is the number of the file's form.
const format = 1

// Head is the first record: what a backup is of.
type Head struct {
	Format   int       `json:"teammem_backup"`
	Schema   uint      `json:"schema"` // the version that the tables have
	At       api.Time  `json:"at"`
	Epoch    api.Epoch `json:"epoch"` // of the database that it was taken of
	Database string    `json:"database"`
	Server   string    `json:"server"` // the version of the program
	// Organization is that whose rows these are; nil for a whole database.
	Organization *Org `json:"organization,omitempty"`
}

// Summary says what stands in a backup. What was written counts rows only; what was
// read back also the contents that fit their checksums, and their bytes as stored.
type Summary struct {
	Head
	Rows   map[string]int64 `json:"rows"` // by table
	Bytes  int64            `json:"bytes"`
	Bodies int64            `json:"contents"`
}

// All is the number of rows.
func (s Summary) All() (n int64) {
	for _, rows := range s.Rows {
		n += rows
	}
	return n
}

// DamagedError says that a file is no whole backup.
type DamagedError struct{ Why string }

func (e *DamagedError) Error() string { return "the backup is damaged: " + e.Why }

// Write takes a backup. progress hears of the number of rows now and then; it may be
// nil.
func Write(ctx context.Context, to io.Writer, from store.Copier, head Head, progress func(rows int64)) (Summary, error) {
	head.Format = format
	sum := Summary{Head: head, Rows: map[string]int64{}}
	packed, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return sum, err
	}
	w := &writer{to: bufio.NewWriterSize(packed, 1<<16), hash: sha256.New()}
	if err := w.json(recordHead, head); err != nil {
		return sum, err
	}
	var table string
	err = from.Export(ctx, func(t store.Table) error {
		table = t.Name
		sum.Rows[table] = 0
		return w.json(recordTable, t)
	}, func(values []any) error {
		sum.Rows[table]++
		if n := sum.All(); progress != nil && n%1000 == 0 {
			progress(n)
		}
		return w.row(values)
	})
	if err != nil {
		return sum, fmt.Errorf("take a backup: %w", err)
	}
	if err := w.end(sum.Rows); err != nil {
		return sum, err
	}
	if err := errors.Join(w.to.Flush(), packed.Close()); err != nil {
		return sum, fmt.Errorf("write the backup: %w", err)
	}
	return sum, nil
}

// bodies is the table of contents, which are checked one by one.
const bodies = "bodies"

// Open reads the first record of a backup.
func Open(from io.Reader) (*Reader, error) {
	unpacked, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, &DamagedError{"it does not begin as one"}
	}
	r := &Reader{from: bufio.NewReaderSize(unpacked, 1<<16), hash: sha256.New(), close: unpacked.Close}
	r.sum.Rows = map[string]int64{}
	text, err := r.expect(recordHead)
	if err == nil && (json.Unmarshal(text, &r.sum.Head) != nil || r.sum.Format == 0) {
		err = &DamagedError{"its first record cannot be read"}
	}
	if err == nil && r.sum.Format > format {
		err = fmt.Errorf("the backup has form %d, and this program knows those up to %d: a newer server wrote it", r.sum.Format, format)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Reader reads a backup from its beginning to its end.
type Reader struct {
	from  *bufio.Reader
	hash  hash.Hash
	close func()
	sum   Summary

	table store.Table
	body  [4]int // of bodies: where checksum, size, coding and data stand
	ended bool
}

// Close frees what reading took.
func (r *Reader) Close() { r.close() }

// Head is what the backup is of.
func (r *Reader) Head() Head { return r.sum.Head }

// Next gives the next row and its table, and the zero table at the end, which only a
// whole backup has. Contents were held against their checksums.
func (r *Reader) Next() (store.Table, []any, error) {
	for !r.ended {
		kind, err := r.kind()
		if err != nil {
			return store.Table{}, nil, err
		}
		switch kind {
		case recordTable:
			if err := r.begin(); err != nil {
				return store.Table{}, nil, err
			}
		case recordRow:
			values, err := r.row(len(r.table.Columns))
			if err == nil && r.table.Name == bodies {
				err = r.check(values)
			}
			if err != nil {
				return store.Table{}, nil, err
			}
			r.sum.Rows[r.table.Name]++
			return r.table, values, nil
		case recordEnd:
			return store.Table{}, nil, r.finish()
		default:
			return store.Table{}, nil, &DamagedError{"there is a record of no kind that is known"}
		}
	}
	return store.Table{}, nil, nil
}

// Summary says what was read; it is whole after Next gave the zero table.
func (r *Reader) Summary() Summary { return r.sum }

func (r *Reader) begin() error {
	text, err := r.bytes()
	if err != nil {
		return err
	}
	r.table = store.Table{}
	if json.Unmarshal(text, &r.table) != nil || r.table.Name == "" {
		return &DamagedError{"a table's record cannot be read"}
	}
	r.sum.Rows[r.table.Name] = 0
	if r.table.Name != bodies {
		return nil
	}
	for i, name := range []string{"checksum", "size", "coding", "data"} {
		r.body[i] = -1
		for at, column := range r.table.Columns {
			if column == name {
				r.body[i] = at
			}
		}
		if r.body[i] < 0 {
			return &DamagedError{"its contents have no " + name}
		}
	}
	return nil
}

// check unpacks a content and holds it against its checksum.
func (r *Reader) check(values []any) error {
	sum, _ := values[r.body[0]].([]byte)
	size, _ := values[r.body[1]].(int64)
	coding, _ := values[r.body[2]].(int64)
	data, _ := values[r.body[3]].([]byte)
	if len(sum) != sha256.Size {
		return &DamagedError{"a content's checksum is of the wrong size"}
	}
	body := store.Body{Checksum: api.ChecksumFromSum([sha256.Size]byte(sum)), Size: int(size), Coding: store.Coding(coding), Data: data}
	if _, err := body.Unpack(); err != nil {
		return &DamagedError{err.Error()}
	}
	r.sum.Bodies++
	r.sum.Bytes += int64(len(data))
	return nil
}

// Verify reads a backup to its end and says what stands in it.
func Verify(from io.Reader) (Summary, error) {
	r, err := Open(from)
	if err != nil {
		return Summary{}, err
	}
	defer r.Close()
	for {
		table, _, err := r.Next()
		if err != nil || table.Name == "" {
			return r.Summary(), err
		}
	}
}

// Rows are those of the backup, until ctx ends. progress hears of their number now and
// then; it may be nil.
func (r *Reader) Rows(ctx context.Context, progress func(rows int64)) store.Rows {
	var n int64
	return func() (store.Table, []any, error) {
		if err := ctx.Err(); err != nil {
			return store.Table{}, nil, err
		}
		if n++; progress != nil && n%1000 == 0 {
			progress(n)
		}
		return r.Next()
	}
}

// Name is what a backup of a moment is called.
func Name(at time.Time) string { return "teammem-" + at.UTC().Format("20060102-150405") + ".backup" }

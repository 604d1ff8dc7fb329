package backup

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// The kinds of records, and of values. Their numbers are in files: never change one.
const (
	recordHead  byte = 'H'
	recordTable byte = 'T'
	recordRow   byte = 'R'
	recordEnd   byte = 'E'

	valueNull  byte = 0
	valueInt   byte = 1
	valueText  byte = 2
	valueBytes byte = 3
)

// maxValue bounds what a damaged file can make the reader allocate; contents are
// bounded far below.
const maxValue = 256 << 20

// writer writes records and hashes them.
type writer struct {
	to   *bufio.Writer
	hash hash.Hash
	line []byte
}

func (w *writer) flush() error {
	_, _ = w.hash.Write(w.line) // never fails
	_, err := w.to.Write(w.line)
	w.line = w.line[:0]
	return err
}

func (w *writer) sized(b []byte) {
	w.line = binary.AppendUvarint(w.line, uint64(len(b)))
	w.line = append(w.line, b...)
}

func (w *writer) json(kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.line = append(w.line, kind)
	w.sized(text)
	return w.flush()
}

func (w *writer) row(values []any) error {
	w.line = append(w.line, recordRow)
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			w.line = append(w.line, valueNull)
		case int64:
			w.line = binary.AppendVarint(append(w.line, valueInt), v)
		case string:
			w.line = append(w.line, valueText)
			w.sized([]byte(v))
		case []byte:
			w.line = append(w.line, valueBytes)
			w.sized(v)
		default:
			return fmt.Errorf("a value of type %T cannot be kept", value)
		}
	}
	return w.flush()
}

// end writes the last record: how many rows of each table there are, and the hash of
// all before.
func (w *writer) end(rows map[string]int64) error {
	if err := w.json(recordEnd, rows); err != nil {
		return err
	}
	_, err := w.to.Write(w.hash.Sum(nil))
	return err
}

// cut is the error of a file that ends too soon, or whose packing is broken.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &DamagedError{"it ends before its last record"}
	}
	return &DamagedError{"it cannot be unpacked"}
}

// ReadByte lets binary.ReadUvarint read, and hashes what it does.
func (r *Reader) ReadByte() (byte, error) {
	b, err := r.from.ReadByte()
	if err == nil {
		_, _ = r.hash.Write([]byte{b})
	}
	return b, err
}

func (r *Reader) kind() (byte, error) {
	kind, err := r.ReadByte()
	if err != nil {
		return 0, cut(err)
	}
	return kind, nil
}

func (r *Reader) expect(want byte) ([]byte, error) {
	kind, err := r.kind()
	if err != nil {
		return nil, err
	}
	if kind != want {
		return nil, &DamagedError{"it does not begin as one"}
	}
	return r.bytes()
}

// bytes reads what is written with its size.
func (r *Reader) bytes() ([]byte, error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, cut(err)
	}
	if size > maxValue {
		return nil, &DamagedError{"a value is larger than any can be"}
	}
	var b bytes.Buffer // grows with what is there, not with what is promised
	if _, err := io.CopyN(&b, r.from, int64(size)); err != nil {
		return nil, cut(err)
	}
	_, _ = r.hash.Write(b.Bytes())
	if b.Len() == 0 {
		return []byte{}, nil
	}
	return b.Bytes(), nil
}

func (r *Reader) row(columns int) ([]any, error) {
	values := make([]any, columns)
	for i := range values {
		kind, err := r.kind()
		if err != nil {
			return nil, err
		}
		switch kind {
		case valueNull:
		case valueInt:
			n, err := binary.ReadVarint(r)
			if err != nil {
				return nil, cut(err)
			}
			values[i] = n
		case valueText, valueBytes:
			b, err := r.bytes()
			if err != nil {
				return nil, err
			}
			if values[i] = b; kind == valueText {
				values[i] = string(b)
			}
		default:
			return nil, &DamagedError{"there is a value of no kind that is known"}
		}
	}
	return values, nil
}

// finish holds the last record against what was read.
func (r *Reader) finish() error {
	text, err := r.bytes()
	if err != nil {
		return err
	}
	want := r.hash.Sum(nil)
	rows := map[string]int64{}
	if json.Unmarshal(text, &rows) != nil || len(rows) != len(r.sum.Rows) {
		return &DamagedError{"its last record does not fit what stands before it"}
	}
	for table, n := range rows {
		if r.sum.Rows[table] != n {
			return &DamagedError{fmt.Sprintf("of table %s there are %d rows, and there should be %d", table, r.sum.Rows[table], n)}
		}
	}
	has := make([]byte, len(want))
	if _, err := io.ReadFull(r.from, has); err != nil {
		return cut(err)
	}
	if !bytes.Equal(has, want) {
		return &DamagedError{"its checksum is another one"}
	}
	if _, err := r.from.ReadByte(); !errors.Is(err, io.EOF) {
		return &DamagedError{"there is more after its end"}
	}
	r.ended = true
	return nil
}

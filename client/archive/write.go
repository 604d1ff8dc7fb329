package archive

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/teammem/teammem/api"
)

// FormOf is the form that a file's name asks for.
func FormOf(name string) (Form, error) {
	for _, known := range []struct {
		ending string
		form   Form
	}{{".tar", Plain}, {".tar.gz", Gzip}, {".tgz", Gzip}, {".tar.zst", Zstd}, {".tzst", Zstd}} {
		if strings.HasSuffix(strings.ToLower(name), known.ending) {
			return known.form, nil
		}
	}
	return 0, fmt.Errorf("the name %q says no form: want one that ends in .tar, .tar.gz or .tar.zst", name)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (f Form) pack(to io.Writer) (io.WriteCloser, error) {
	switch f {
	case Gzip:
		return gzip.NewWriter(to), nil
	case Zstd:
		return zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	}
	return nopCloser{to}, nil
}

// Write writes an archive. text gives the bytes of the manifest's entries; history is
// read to its end where the manifest has one.
func Write(to io.Writer, form Form, m Manifest, text func(api.Key) (string, error), history io.Reader) error {
	m.Format = format
	m.Entries = slices.Clone(m.Entries)
	slices.SortFunc(m.Entries, func(a, b Entry) int { return strings.Compare(string(a.Key), string(b.Key)) })
	manifest, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	packed, err := form.pack(to)
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	w := writer{tar.NewWriter(packed)}
	if err := w.file(manifestName, int64(len(manifest)+1), m.Exported.Time, strings.NewReader(string(manifest)+"\n")); err != nil {
		return err
	}
	for _, e := range m.Entries {
		content, err := text(e.Key)
		if err != nil {
			return err
		}
		if err := w.file(entryFolder+string(e.Key), int64(e.Bytes), e.Modified.Time, strings.NewReader(content)); err != nil {
			return err
		}
	}
	if m.History != nil {
		if err := w.file(historyName, m.History.Bytes, m.Exported.Time, history); err != nil {
			return err
		}
	}
	if err := errors.Join(w.tar.Close(), packed.Close()); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return nil
}

type writer struct{ tar *tar.Writer }

func (w writer) file(name string, size int64, at time.Time, from io.Reader) error {
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: at, Format: tar.FormatPAX})
	if err == nil {
		_, err = io.Copy(w.tar, from)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

package reading

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/store"
)

// Format is that of an archive.
type Format string

// The formats.
const (
	TarGz Format = "tar.gz"
	Zip   Format = "zip"
)

// ParseFormat reads a format's name; without one it is [TarGz].
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case "":
		return TarGz, nil
	case TarGz, Zip:
		return f, nil
	}
	return "", fmt.Errorf("no such format: want %s or %s", TarGz, Zip)
}

// ContentType is the archive's media type.
func (f Format) ContentType() string {
	if f == Zip {
		return "application/zip"
	}
	return "application/gzip"
}

// archive takes files one after another.
type archive interface {
	file(name string, size int, at time.Time) (io.Writer, error)
	close() error
}

// Export is a repo's live entries as they stood when it was asked for, to be written
// as an archive.
type Export struct {
	Head store.Head
	Name string // of the file, for a person's disk
	rows []store.Row
	desk *Desk
	who  ledger.Caller
	form Format
}

// Export looks at a repo. Nothing of the contents is read until [Export.Write].
func (d *Desk) Export(ctx context.Context, caller ledger.Caller, repo api.RepoSlug, form Format) (*Export, error) {
	view, err := d.ledger.View(ctx, caller, repo, 0)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-memory-%d.%s", path.Base(string(repo)), view.Head.Version, form)
	return &Export{Head: view.Head, Name: name, rows: view.Live, desk: d, who: caller, form: form}, nil
}

// Write writes the archive piece by piece: each entry a file with its own time. An
// archive that was broken off has no end, so that whatever unpacks it says so.
func (e *Export) Write(ctx context.Context, w io.Writer) error {
	var out archive
	if e.form == Zip {
		out = zipArchive{zip.NewWriter(w)}
	} else {
		packed := gzip.NewWriter(w)
		out = tarArchive{tar.NewWriter(packed), packed}
	}
	err := e.desk.ledger.Bodies(ctx, e.who, e.rows, func(row store.Row, content []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		into, err := out.file(string(row.Key), len(content), row.Modified)
		if err == nil {
			_, err = into.Write(content)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return out.close()
}

type tarArchive struct {
	*tar.Writer
	packed *gzip.Writer
}

func (a tarArchive) file(name string, size int, at time.Time) (io.Writer, error) {
	return a, a.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(size), Mode: 0o644, ModTime: at, Format: tar.FormatPAX})
}

func (a tarArchive) close() error {
	if err := a.Close(); err != nil {
		return err
	}
	return a.packed.Close()
}

type zipArchive struct{ *zip.Writer }

func (a zipArchive) file(name string, _ int, at time.Time) (io.Writer, error) {
	return a.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at})
}

func (a zipArchive) close() error { return a.Close() }

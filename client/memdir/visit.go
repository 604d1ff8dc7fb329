package memdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Visitor is what a walk over the directory asks and tells.
type Visitor struct {
	// Wants is asked for every regular file but those whose names are hidden; only
	// the files it wants are opened.
	Wants func(path string, seen Fingerprint) bool
	// Got is told the bytes of a file that was wanted, and the fingerprint that
	// belongs to them.
	Got func(path string, content []byte, seen Fingerprint)
	// Skip is a folder that is not entered; may be empty.
	Skip string
}

// Visit walks the directory once, for readers that are no syncers: a path need not
// keep the rules of keys. Links, pipes and devices are not opened, and files of more
// than maxBytes are passed over, and so is what cannot be read or goes meanwhile.
func (d *Dir) Visit(ctx context.Context, now time.Time, maxBytes int, v Visitor) error {
	top, err := d.folder(".", false)
	if err != nil {
		return fmt.Errorf("visit %s: %w", d.path, err)
	}
	defer top.Close()
	if err := d.visit(ctx, top, "", now, maxBytes, v); err != nil {
		return fmt.Errorf("visit %s: %w", d.path, err)
	}
	return nil
}

func (d *Dir) visit(ctx context.Context, f *folder, prefix string, now time.Time, maxBytes int, v Visitor) error {
	entries, err := f.file.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, full := entry.Name(), prefix+entry.Name()
		switch {
		case name[0] == '.', full == v.Skip:
		case entry.IsDir():
			if err := d.visitBelow(ctx, f, name, full, now, maxBytes, v); err != nil {
				return err
			}
		case entry.Type().IsRegular():
			f.visitFile(full, entry, now, maxBytes, v)
		}
	}
	return nil
}

func (d *Dir) visitBelow(ctx context.Context, f *folder, name, full string, now time.Time, maxBytes int, v Visitor) error {
	root, err := enter(f.root, name, full, false)
	if err != nil {
		return nil // it went, or became something else: there is nothing to read
	}
	below, err := d.folderOf(root, full)
	if err != nil {
		return nil
	}
	defer below.Close()
	if err := d.visit(ctx, below, full+"/", now, maxBytes, v); ctx.Err() != nil {
		return err
	}
	return nil
}

func (f *folder) visitFile(full string, entry fs.DirEntry, now time.Time, maxBytes int, v Visitor) {
	info, err := entry.Info()
	if err != nil || !info.Mode().IsRegular() || info.Size() > int64(maxBytes) {
		return
	}
	if !v.Wants(full, fingerprintOf(info, now.UnixNano())) {
		return
	}
	got, err := f.read(entry.Name(), full, maxBytes)
	if err != nil || len(got.content) > maxBytes {
		return
	}
	at := now.UnixNano()
	if !got.steady {
		at = 0
	}
	v.Got(full, got.content, fingerprintOf(got.info, at))
}

// Unchanged reports whether a file that was read with one fingerprint and has another
// now holds the same bytes for certain.
func (f Fingerprint) Unchanged(now Fingerprint) bool { return f.same(now) }

// OpenIfThere is [Open], and nil where nothing stands at the path.
func OpenIfThere(path string) (*Dir, error) {
	d, err := Open(path)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	return d, err
}

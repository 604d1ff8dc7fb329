package memdir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// placing brings one staged file to its place.
type placing struct {
	dir    *Dir
	rec    record
	staged string  // its name in old
	old    *folder // .teammem/old
	target *folder
	name   string // in target
}

// inTurn looks once more, when no other writer of ours is at it, and places the file.
func (p placing) inTurn(expect *File) error {
	done := turn(p.target, p.old)
	defer done()
	if _, err := p.target.standing(p.rec.key, p.name, expect); err != nil {
		p.drop()
		return err
	}
	p.dir.at("staged")
	return p.place(expect)
}

// place moves the staged file to its place. After an error the place is as it was.
func (p placing) place(expect *File) error {
	if expect == nil {
		// Nothing was displaced. Should a crash bring the staged name back, it holds
		// what stands at the place, and Reap drops it.
		return p.onNothing()
	}
	if err := p.exchange(*expect); err != nil {
		return err
	}
	return p.dir.settle(p.old)
}

// onNothing places a file where none stands.
func (p placing) onNothing() error {
	err := errCannot
	if !p.dir.plain {
		err = moveToFree(p.old, p.staged, p.target, p.name)
	}
	if errors.Is(err, errCannot) {
		if err = link(p.old, p.staged, p.target, p.name); errors.Is(err, errCannot) {
			err = p.onNothingBlindly()
		}
	}
	if err != nil {
		p.drop()
		if errors.Is(err, fs.ErrExist) {
			return &ChangedError{Key: p.rec.key, Detail: "is there"}
		}
		return err
	}
	// Without a link the name is gone already, with one it is the second.
	p.drop()
	return nil
}

// onNothingBlindly is for file systems that have neither a rename that does not
// replace nor hard links.
func (p placing) onNothingBlindly() error {
	if _, err := p.target.standing(p.rec.key, p.name, nil); err != nil {
		return err
	}
	return move(p.old, p.staged, p.target, p.name)
}

// drop removes the staged file, which holds nothing that the caller does not have.
func (p placing) drop() { _ = p.rec.forget(p.old) }

// exchange swaps the staged file with the one that stands, and back when that is not
// the one expected.
func (p placing) exchange(expect File) error {
	err := errCannot
	if !p.dir.plain {
		err = exchange(p.old, p.staged, p.target, p.name)
	}
	switch {
	case errors.Is(err, errCannot):
		return p.replace(expect)
	case errors.Is(err, fs.ErrNotExist):
		p.drop()
		return &ChangedError{Key: p.rec.key, Detail: "is gone"}
	case err != nil:
		p.drop()
		return err
	}
	p.dir.at("exchanged")
	changed := p.old.holds(p.staged, p.rec.key, expect.Checksum)
	if changed == nil {
		return nil
	}
	keepCopy(p.old, p.staged, p.rec)
	if err := p.putBack(); err != nil {
		return fmt.Errorf("put back what was edited meanwhile, it is in %s/old: %w", ownFolder, err)
	}
	return changed
}

// keepCopy keeps the bytes of an edit that was displaced and is about to be put back. For a
// moment something else was to be seen in its place; an editor that saw it may save
// over the edit, not knowing that it was ever there. [Dir.Reap] drops the copy if
// the edit still stands. It is not synced, for that moment must stay short, and the
// edit itself is durable; without room for a copy the edit is put back all the same.
func keepCopy(old *folder, held string, rec record) {
	got, err := old.read(held, held, maxDisplaced)
	if err != nil || len(got.content) > maxDisplaced {
		return
	}
	rec.id = rand.Text()
	name, err := rec.note(old)
	if err == nil {
		_, err = old.fill(name, got.content, got.info.ModTime(), got.info.Mode().Perm(), unsynced)
	}
	if err != nil {
		_ = rec.forget(old)
	}
}

// putBack undoes an exchange. What comes back should be what we placed; if it is not,
// somebody edited that as well, and the newest edit is put to the place again. The
// older one stays in old/ for [Dir.Reap], as does everything here: the name says what
// it was to be.
func (p placing) putBack() error {
	p.dir.at("putting back")
	err := exchange(p.old, p.staged, p.target, p.name)
	if errors.Is(err, fs.ErrNotExist) {
		// Ours was removed meanwhile, by somebody who cannot have meant the edit that
		// we hold.
		return ignoreExist(moveToFree(p.old, p.staged, p.target, p.name))
	}
	if err != nil {
		return err
	}
	if sum, err := p.old.checksum(p.staged); err != nil || half(sum) != p.rec.placed {
		return exchange(p.old, p.staged, p.target, p.name)
	}
	return nil
}

func ignoreExist(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// replace is the way without an exchange: the file that stands gets a second name in
// old/, is looked at there, and is renamed over.
func (p placing) replace(expect File) error {
	rec := newRecord(p.rec.key, expect.Checksum, expect.Checksum)
	held, err := rec.note(p.old)
	if err == nil {
		err = p.hold(held)
	}
	if err == nil {
		err = p.old.holds(held, p.rec.key, expect.Checksum)
	}
	if err == nil {
		p.dir.at("held")
		err = p.stillThere(held)
	}
	if err == nil {
		if err = move(p.old, p.staged, p.target, p.name); err == nil {
			return nil
		}
	}
	_ = rec.forget(p.old)
	p.drop()
	if errors.Is(err, fs.ErrNotExist) {
		return &ChangedError{Key: p.rec.key, Detail: "is gone"}
	}
	return err
}

// hold gives the file that stands a second name, or copies it where a file cannot
// have two.
func (p placing) hold(held string) error {
	err := link(p.target, p.name, p.old, held)
	if !errors.Is(err, errCannot) {
		return err
	}
	got, err := p.target.read(p.name, string(p.rec.key), maxDisplaced)
	if left := (*Left)(nil); errors.As(err, &left) {
		return &ChangedError{Key: p.rec.key, Detail: left.Detail}
	}
	if err != nil {
		return err
	}
	_, err = p.old.fill(held, got.content, got.info.ModTime(), got.info.Mode().Perm(), synced)
	return err
}

// stillThere reports whether the file that was held is still the one at the place.
func (p placing) stillThere(held string) error {
	was, err := p.old.root.Lstat(held)
	if err != nil {
		return err
	}
	now, err := p.target.root.Lstat(p.name)
	if err != nil {
		return err
	}
	if os.SameFile(was, now) || was.ModTime().Equal(now.ModTime()) && was.Size() == now.Size() && now.Mode().IsRegular() {
		return nil
	}
	return &ChangedError{Key: p.rec.key, Detail: "was edited"}
}

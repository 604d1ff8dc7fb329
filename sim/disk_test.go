package sim

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/client/memdir"
)

// disk is a memory directory in memory with what memdir promises, and with the
// oddities of file systems that memdir has to live with.
type disk struct {
	m     *machine
	files map[api.Key]*file
	old   []displaced // what writes and removals displaced, until it is reaped
	inode uint64

	grain  time.Duration // of its time stamps
	ctimes bool          // it has them
	inodes bool
	folds  bool // a.md and A.md are one file

	before map[api.Key]file // as the round found it, for a planted fault
}

type file struct {
	text         string
	mtime, ctime int64
	inode        uint64
}

// displaced is a file in .teammem/old, and what its name says of it.
type displaced struct {
	key            api.Key
	placed, expect api.Checksum
	text           string
	ctime          int64
}

var errDisk = errors.New("no space left on device")

func (d *disk) stamp(at time.Time) int64 { return at.Truncate(d.grain).UnixNano() }

func (d *disk) fingerprint(f *file) memdir.Fingerprint {
	fp := memdir.Fingerprint{Size: int64(len(f.text)), MTime: f.mtime}
	if d.ctimes {
		fp.CTime = f.ctime
	}
	if d.inodes {
		fp.Inode = f.inode
	}
	return fp
}

// settled is how memdir decides that a file need not be read again.
func (d *disk) settled(known memdir.Fingerprint, f *file) bool {
	now := d.fingerprint(f)
	now.At = known.At
	changed := known.CTime
	if changed == 0 {
		changed = known.MTime
	}
	if d.m.w.fault == faultSwiftEdit {
		return known == now
	}
	return known == now && changed <= known.At-int64(2*time.Second)
}

// find gives the name under which a key's file stands.
func (d *disk) find(key api.Key) (api.Key, *file) {
	if f := d.files[key]; f != nil || !d.folds {
		return key, f
	}
	for name, f := range d.files {
		if name.Fold() == key.Fold() {
			return name, f
		}
	}
	return key, nil
}

// fold is what the names of one file have in common here.
func (d *disk) fold(key api.Key) string {
	if d.folds {
		return key.Fold()
	}
	return string(key)
}

// same is how a client finds out that the disk folds case.
func (d *disk) same(a, b api.Key) bool {
	first, f := d.find(a)
	second, _ := d.find(b)
	return f != nil && first == second
}

// put is a person's or a client's write. In place or by replacement.
func (d *disk) put(key api.Key, text string, mtime time.Time, inPlace bool) *file {
	name, f := d.find(key)
	if f == nil || !inPlace {
		d.inode++
		f = &file{inode: d.inode}
	}
	f.text, f.mtime, f.ctime = text, d.stamp(mtime), d.stamp(d.m.now())
	d.files[name] = f
	return f
}

func (d *disk) Check(memdir.Marker) error { return nil }

func (d *disk) Scan(_ context.Context, now time.Time, _ int, known memdir.Known) (memdir.Listing, error) {
	d.m.step()
	var list memdir.Listing
	for _, key := range api.SortedKeys(d.files) {
		if d.m.w.chance(0.01) {
			d.m.w.editDuring(d.m, key)
		}
		f := d.files[key]
		if f == nil {
			continue
		}
		if last, ok := known(key); ok && d.settled(last.Fingerprint, f) {
			list.Files = append(list.Files, last)
			continue
		}
		list.Files = append(list.Files, d.hashed(key, f, now))
	}
	return list, nil
}

func (d *disk) hashed(key api.Key, f *file, now time.Time) memdir.File {
	fp := d.fingerprint(f)
	fp.At = now.UnixNano()
	return memdir.File{Key: key, Checksum: api.ChecksumOfString(f.text), Fingerprint: fp}
}

func (d *disk) Read(key api.Key, _ int) ([]byte, error) {
	d.m.step()
	if d.m.w.chance(0.03) {
		d.m.w.editDuring(d.m, key)
	}
	if _, f := d.find(key); f != nil {
		return []byte(f.text), nil
	}
	return nil, fs.ErrNotExist
}

// standing is the first look of a write, which a fingerprint may decide.
func (d *disk) standing(key api.Key, expect *memdir.File) error {
	_, f := d.find(key)
	switch {
	case d.m.w.fault == faultBlindFile:
		return nil
	case f == nil && expect == nil:
		return nil
	case f == nil:
		return &memdir.ChangedError{Key: key, Detail: "is gone"}
	case expect == nil:
		return &memdir.ChangedError{Key: key, Detail: "is there"}
	case d.settled(expect.Fingerprint, f), api.ChecksumOfString(f.text) == expect.Checksum:
		return nil
	}
	return &memdir.ChangedError{Key: key, Detail: "was edited"}
}

func (d *disk) Write(now time.Time, key api.Key, content []byte, modified time.Time, expect *memdir.File) (memdir.File, error) {
	d.m.step()
	if d.m.w.chance(0.02) {
		return memdir.File{}, errDisk
	}
	if d.m.w.chance(0.04) {
		d.m.w.editDuring(d.m, key)
	}
	if err := d.standing(key, expect); err != nil {
		return memdir.File{}, err
	}
	if d.m.w.chance(0.04) {
		d.m.w.editDuring(d.m, key)
	}
	if err := d.displace(key, api.ChecksumOf(content), expect); err != nil {
		return memdir.File{}, err
	}
	if modified.IsZero() {
		modified = d.m.now()
	}
	text := string(content)
	if d.m.w.fault == faultNewline {
		text += "\n"
	}
	f := d.put(key, text, modified, false)
	if d.m.w.chance(0.06) {
		d.lateWrite(key)
	}
	d.m.step()
	written := d.hashed(key, f, now)
	written.Checksum = api.ChecksumOf(content)
	return written, nil
}

// displace takes what stands out of the way, unless it is not what was expected:
// the exchange is undone then, and a copy is kept for whoever saves over it.
func (d *disk) displace(key api.Key, placed api.Checksum, expect *memdir.File) error {
	_, f := d.find(key)
	if f == nil && expect == nil {
		return nil
	}
	if f == nil {
		return &memdir.ChangedError{Key: key, Detail: "is gone"}
	}
	out := displaced{key: key, placed: placed, text: f.text, ctime: d.m.now().UnixNano()}
	if expect != nil {
		out.expect = expect.Checksum
	}
	if d.m.w.fault == faultBlindFile {
		return nil
	}
	d.old = append(d.old, out)
	switch {
	case expect == nil:
		d.old = d.old[:len(d.old)-1]
		return &memdir.ChangedError{Key: key, Detail: "is there"}
	case api.ChecksumOfString(f.text) != expect.Checksum:
		return &memdir.ChangedError{Key: key, Detail: "was edited"}
	}
	return nil
}

// lateWrite is an editor that had the displaced file open, and saves into it.
func (d *disk) lateWrite(key api.Key) {
	if len(d.old) == 0 || d.old[len(d.old)-1].key != key {
		return
	}
	last := &d.old[len(d.old)-1]
	last.text = d.m.w.appended(d.m, last.text)
	last.ctime = d.m.now().UnixNano()
	d.m.w.logf("%s: late write into the displaced %s", d.m.name, key)
}

func (d *disk) Remove(key api.Key, expect memdir.File) error {
	d.m.step()
	if d.m.w.chance(0.04) {
		d.m.w.editDuring(d.m, key)
	}
	if err := d.standing(key, &expect); err != nil {
		return err
	}
	if err := d.displace(key, "", &expect); err != nil {
		return err
	}
	name, f := d.find(key)
	if f != nil {
		d.m.mustBeTrashed(key, f.text)
		delete(d.files, name)
	}
	d.m.step()
	return nil
}

// Flush has nothing to do: what is killed here is the process and not the machine.
func (d *disk) Flush() error { return nil }

func (d *disk) Reap(before time.Time, save func(api.Key, []byte) error) error {
	d.m.step()
	var failed error
	d.old = slices.DeleteFunc(d.old, func(o displaced) bool {
		if o.ctime >= before.UnixNano() {
			return false
		}
		sum := api.ChecksumOfString(o.text)
		_, f := d.find(o.key)
		if sum == o.placed || sum == o.expect || f != nil && f.text == o.text || d.m.w.fault == faultNoReap {
			return true
		}
		if err := save(o.key, []byte(o.text)); err != nil {
			failed = errors.Join(failed, err)
			return false
		}
		return true
	})
	return failed
}

func (d *disk) Redact(sums []api.Checksum) error {
	d.m.step()
	d.old = slices.DeleteFunc(d.old, func(o displaced) bool { return slices.Contains(sums, api.ChecksumOfString(o.text)) })
	return nil
}

// lines are a text's lines without their ends.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

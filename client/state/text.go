package state

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/teammem/teammem/api"
)

// maxTextBytes is the largest text kept for merging. A larger one is not kept: its
// next conflict goes to the keep instead of being merged.
const maxTextBytes = 8 << 20

const textSuffix = ".zst"

// texts are base texts by checksum. They are a cache: a text that is lost costs a
// merge and no word of anybody's. That is why they are not synced to the disk, and
// why every read is verified.
type texts struct {
	dir       string
	most      int
	mostBytes int64

	mu     sync.Mutex
	pack   *zstd.Encoder
	unpack *zstd.Decoder
	known  map[api.Checksum]*list.Element // of textFile; nil until first needed
	order  *list.List                     // least recently used first
	onDisk int64
}

type textFile struct {
	sum  api.Checksum
	size int64
}

func newTexts(dir string, most int, mostBytes int64) *texts {
	return &texts{dir: dir, most: most, mostBytes: mostBytes}
}

// PutText keeps a text for merging. The least recently used ones go when there are
// too many. A text over 8 MiB is passed over without an error.
func (s *Store) PutText(sum api.Checksum, content []byte) error {
	if len(content) > maxTextBytes {
		return nil
	}
	if api.ChecksumOf(content) != sum {
		return fmt.Errorf("keep base text: the content does not have the checksum %s", sum.Short())
	}
	if err := s.texts.put(sum, content); err != nil {
		return fmt.Errorf("keep base text %s: %w", sum.Short(), err)
	}
	return nil
}

// Text gives a base text back, or false when it is not there any more or cannot be
// believed.
func (s *Store) Text(sum api.Checksum) ([]byte, bool) { return s.texts.get(sum) }

func (t *texts) put(sum api.Checksum, content []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return err
	}
	if element, ok := t.known[sum]; ok {
		t.order.MoveToBack(element)
		if t.touch(sum) == nil {
			return nil
		}
		// Another process removed it meanwhile.
		_ = t.drop(sum)
	}
	packed := t.pack.EncodeAll(content, nil)
	if err := replaceFile(t.dir, t.name(sum), packed, false); err != nil {
		return err
	}
	t.add(textFile{sum, int64(len(packed))})
	return t.shrink()
}

func (t *texts) get(sum api.Checksum) ([]byte, bool) {
	if _, err := api.ParseChecksum(string(sum)); err != nil {
		return nil, false // not a name of a file of ours
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return nil, false
	}
	path := filepath.Join(t.dir, t.name(sum))
	packed, err := readBounded(path, maxTextBytes+1<<16)
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			return nil, false
		}
		_ = t.drop(sum)
		return nil, false
	}
	content, err := t.unpack.DecodeAll(packed, nil)
	if err != nil || api.ChecksumOf(content) != sum {
		_ = t.drop(sum)
		return nil, false
	}
	if element, ok := t.known[sum]; ok {
		t.order.MoveToBack(element)
	}
	_ = t.touch(sum)
	return content, true
}

// touch writes the order of use down, in the files' times, for the next process.
func (t *texts) touch(sum api.Checksum) error {
	now := time.Now()
	return os.Chtimes(filepath.Join(t.dir, t.name(sum)), now, now)
}

func (t *texts) name(sum api.Checksum) string {
	return string(sum[len(api.ChecksumPrefix):]) + textSuffix
}

// open makes the coders and reads the directory, once.
func (t *texts) open() error {
	if t.known != nil {
		return nil
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	var err error
	// Small windows: memory files are a few kilobytes, and the client is to stay small.
	if t.pack, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true)); err != nil {
		return err
	}
	if t.unpack, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxTextBytes)); err != nil {
		return err
	}
	return t.readDir()
}

func (t *texts) readDir() error {
	names, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	type used struct {
		textFile
		at time.Time
	}
	var all []used
	for _, name := range names {
		digits, ok := strings.CutSuffix(name.Name(), textSuffix)
		sum, err := api.ParseChecksum(api.ChecksumPrefix + digits)
		if !ok || err != nil {
			continue
		}
		if info, err := name.Info(); err == nil {
			all = append(all, used{textFile{sum, info.Size()}, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b used) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.sum, b.sum)) })
	t.known, t.order, t.onDisk = make(map[api.Checksum]*list.Element, len(all)), list.New(), 0
	for _, file := range all {
		t.add(file.textFile)
	}
	if len(all) > 0 {
		sweepTemporaries(t.dir, all[len(all)-1].at)
	}
	return nil
}

func (t *texts) add(file textFile) {
	t.known[file.sum] = t.order.PushBack(file)
	t.onDisk += file.size
}

// shrink removes the least recently used texts until the bounds hold.
func (t *texts) shrink() error {
	for t.order.Len() > 1 && (t.order.Len() > t.most || t.onDisk > t.mostBytes) {
		if err := t.drop(t.order.Front().Value.(textFile).sum); err != nil {
			return err
		}
	}
	return nil
}

func (t *texts) drop(sum api.Checksum) error {
	if err := os.Remove(filepath.Join(t.dir, t.name(sum))); err != nil && !gone(err) {
		return err
	}
	if element, ok := t.known[sum]; ok {
		t.onDisk -= t.order.Remove(element).(textFile).size
		delete(t.known, sum)
	}
	return nil
}

// Package state is what a client remembers of one memory directory between two
// rounds: what it last agreed on with the server, the texts it needs for merging,
// and the texts that a person may still want back.
//
// It keeps, in a directory of its own outside the memory directory (mode 0700,
// files 0600):
//
//	state                the agreement, lines of text with a checksum at the end
//	state.damaged-TIME   agreements that could not be read, put aside
//	pulse                how the last round went, for other processes; not durable
//	texts/HEX.zst        base texts by checksum, compressed, bounded; a cache
//	keep/ID/             our text of a conflict that could not be merged
//	trash/ID/            a file removed here because it was deleted at the server
//
// It promises that the state lags the data and never leads (C4): the agreement is
// replaced whole, by a synced rename, and losing it, or finding it damaged, costs a
// comparison and nothing else. The keep and the trash are the last home of bytes
// somebody wrote (C1), so each is synced to the disk before it is reported as kept,
// is never dropped to make room, and is listed before it goes. Nothing here is ever
// sent anywhere.
//
// The syncer calls it, and the commands that show and restore. Only the holder of
// the memory directory's lock may call Save; the keep and the trash may be used by
// several processes at once.
package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// ErrDamaged says that something was read and cannot be believed. The thing itself
// is put aside or left where it is, never removed.
var ErrDamaged = errors.New("damaged")

// Store is the state of one memory directory.
type Store struct {
	dir   string
	texts *texts
	keep  shelf
	trash shelf

	saving sync.Mutex
	advice lastAdvice
}

// Bounds are how much a store holds. The base texts go when they are over; the keep
// and the trash refuse instead ([FullError]).
type Bounds struct {
	Texts, Kept, Trashed               int   // pieces
	TextBytes, KeptBytes, TrashedBytes int64 // on disk
}

// DefaultBounds hold several times the largest repo a server takes by default.
var DefaultBounds = Bounds{
	Texts: 20_000, TextBytes: 64 << 20,
	Kept: 1_000, KeptBytes: 64 << 20,
	Trashed: 10_000, TrashedBytes: 256 << 20,
}

// Open opens the store in dir, which is made with its parents when it is not there.
func Open(dir string) (*Store, error) { return OpenBounded(dir, DefaultBounds) }

// OpenBounded is [Open] with bounds other than the usual ones.
func OpenBounded(dir string, b Bounds) (*Store, error) {
	if dir == "" {
		return nil, errors.New("no place for the client's state: set HOME or TEAMMEM_STATE_DIR")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	// A directory that was there before may be open to others; what lies below
	// is nobody else's business. Where the mode cannot be changed (another's
	// directory, a foreign file system) the files' own mode stands.
	_ = os.Chmod(dir, 0o700)
	return &Store{
		dir:   dir,
		texts: newTexts(filepath.Join(dir, "texts"), b.Texts, b.TextBytes),
		keep:  shelf{dir: filepath.Join(dir, "keep"), name: "keep", most: b.Kept, mostBytes: b.KeptBytes},
		trash: shelf{dir: filepath.Join(dir, "trash"), name: "trash", most: b.Trashed, mostBytes: b.TrashedBytes},
	}, nil
}

// Dir is the store's directory, for people.
func (s *Store) Dir() string { return s.dir }

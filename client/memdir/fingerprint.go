package memdir

import (
	"io/fs"
	"time"

	"github.com/teammem/teammem/api"
)

// Fingerprint is what the file system says of a file without reading it. Times
// are nanoseconds since 1970; CTime and Inode are zero where the system has none.
type Fingerprint struct {
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"`
	CTime int64  `json:"ctime,omitempty"`
	Inode uint64 `json:"inode,omitempty"`
	// At is the time when the content was hashed, or rather a moment before. Zero:
	// the content was in motion then, and is hashed again.
	At int64 `json:"at"`
}

// File is a file of the directory, as it was last hashed.
type File struct {
	Key         api.Key      `json:"key"`
	Checksum    api.Checksum `json:"checksum"`
	Fingerprint Fingerprint  `json:"fingerprint"`
}

// Modified is the file's own time.
func (f File) Modified() time.Time { return time.Unix(0, f.Fingerprint.MTime) }

// grain is twice the coarsest step in which a file system that people use keeps
// its times (one second on ext2 and HFS+, two on FAT for the modification time,
// which is why it is not less than two). A change within it may leave the
// fingerprint as it was.
const grain = 2 * time.Second

func fingerprintOf(info fs.FileInfo, at int64) Fingerprint {
	ctime, inode, _ := system(info)
	return Fingerprint{Size: info.Size(), MTime: info.ModTime().UnixNano(), CTime: ctime, Inode: inode, At: at}
}

// same reports whether the file still has the fingerprint, and has had it for so
// long that the content cannot have changed under it.
func (f Fingerprint) same(now Fingerprint) bool {
	now.At = f.At
	return f == now && !f.racy()
}

// racy reports whether the content may have changed after it was hashed without a
// trace in the fingerprint. The system's own ctime decides where there is one:
// it moves with every change and nobody can set it. A file whose time lies in the
// future is hashed every time.
func (f Fingerprint) racy() bool {
	changed := f.CTime
	if changed == 0 {
		changed = f.MTime
	}
	return changed > f.At-int64(grain)
}

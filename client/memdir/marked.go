package memdir

import (
	"os"
	"path/filepath"
)

// IsMarked reports whether a directory is one that a client syncs. Only the name of
// the marker is looked at.
func IsMarked(path string) bool {
	info, err := os.Lstat(filepath.Join(path, ownFolder, markerFile))
	return err == nil && info.Mode().IsRegular()
}

package memdir

import (
	"os"

	"github.com/teammem/teammem/api"
)

// Same reports whether two names lead to one file, as two spellings do where the
// file system folds letter case or Unicode forms.
func (d *Dir) Same(a, b api.Key) bool {
	if Refuses(a) != nil || Refuses(b) != nil {
		return false
	}
	first, err := d.root.Lstat(string(a))
	if err != nil || !first.Mode().IsRegular() {
		return false
	}
	second, err := d.root.Lstat(string(b))
	return err == nil && os.SameFile(first, second)
}

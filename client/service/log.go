package service

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// LogBytes bounds one file of a [Log]; there are two.
const LogBytes = 5 << 20

// Log is a file that a client writes lines to, and one more, PATH.1, with what came
// before. A line that would take the file over its bound begins it anew. The file is
// opened for each line: there are few, and whoever moves or removes it is obeyed. Its
// methods are safe for concurrent use, within one process.
type Log struct {
	path string
	most int64
	mu   sync.Mutex
}

// OpenLog makes the folder of the log, and checks that it can be written to.
func OpenLog(path string, most int64) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l := &Log{path: path, most: most}
	_, err := l.Write(nil)
	return l, err
}

// Write adds one line, or several, that stay together.
func (l *Log) Write(line []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.path)
	switch {
	case err == nil && info.Size() > 0 && info.Size()+int64(len(line)) > l.most:
		if err := os.Rename(l.path, l.path+".1"); err != nil {
			return 0, err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return 0, err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = f.Write(line)
	return n, errors.Join(err, f.Close())
}

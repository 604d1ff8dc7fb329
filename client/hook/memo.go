package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/teammem/teammem/api"
)

// Memo is what hooks remember between two calls: in one session what was shown, and
// of the team's directory what it held when a session last looked.
type Memo struct{ dir string }

// NewMemo keeps its files below a directory of the client's state.
func NewMemo(stateDir string) Memo { return Memo{dir: filepath.Join(stateDir, "hook")} }

const (
	// maxMemo is far above what a repo of the greatest size needs.
	maxMemo = 64 << 20
	// sessionAge is how long a session's file is kept after it was last written.
	sessionAge = 14 * 24 * time.Hour
	seenName   = "seen.json"
)

// Shown lists the memories that were shown in a session.
func (m Memo) Shown(session string) []string {
	var shown []string
	m.read(sessionName(session), &shown)
	return shown
}

// Show notes memories as shown.
func (m Memo) Show(session string, keys ...string) error {
	if session == "" || len(keys) == 0 {
		return nil
	}
	shown := m.Shown(session)
	for _, key := range keys {
		if !slices.Contains(shown, key) {
			shown = append(shown, key)
		}
	}
	return m.write(sessionName(session), shown)
}

// Forget drops what a session was shown, and the files of sessions long over.
func (m Memo) Forget(session string, now time.Time) {
	if session != "" {
		_ = os.Remove(filepath.Join(m.dir, sessionName(session)))
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && entry.Name() != seenName && now.Sub(info.ModTime()) > sessionAge {
			_ = os.Remove(filepath.Join(m.dir, entry.Name()))
		}
	}
}

// News are the changes of a team's directory since a session last looked.
type News struct {
	New, Changed, Gone []api.Key
}

// Empty reports whether there are none.
func (n News) Empty() bool { return len(n.New)+len(n.Changed)+len(n.Gone) == 0 }

// Since compares what is agreed with the server now with what it was when somebody
// last looked, and notes it. The first look has no news.
func (m Memo) Since(now map[api.Key]api.Checksum) (News, error) {
	var news News
	var then map[api.Key]api.Checksum
	known := m.read(seenName, &then)
	if known {
		for key, sum := range now {
			switch old, ok := then[key]; {
			case !ok:
				news.New = append(news.New, key)
			case old != sum:
				news.Changed = append(news.Changed, key)
			}
		}
		for key := range then {
			if _, ok := now[key]; !ok {
				news.Gone = append(news.Gone, key)
			}
		}
	}
	if known && news.Empty() {
		return news, nil
	}
	for _, keys := range [][]api.Key{news.New, news.Changed, news.Gone} {
		slices.Sort(keys)
	}
	return news, m.write(seenName, now)
}

// Own notes a text that this machine's agent wrote itself: that is no news to it.
func (m Memo) Own(key api.Key, sum api.Checksum) error {
	var then map[api.Key]api.Checksum
	if !m.read(seenName, &then) || then[key] == sum {
		return nil
	}
	then[key] = sum
	return m.write(seenName, then)
}

func sessionName(session string) string {
	sum := sha256.Sum256([]byte(session))
	return "session-" + hex.EncodeToString(sum[:12]) + ".json"
}

// read reports whether there was something that could be read.
func (m Memo) read(name string, into any) bool {
	path := filepath.Join(m.dir, name)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxMemo {
		return false
	}
	content, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(content, into) == nil
}

// write replaces a file of ours. It is worth little, so it is not synced to the disk.
func (m Memo) write(name string, v any) error {
	content, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(m.dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("note what a hook has shown: %w", err)
	}
	file, err := os.CreateTemp(m.dir, "new-*")
	if err != nil {
		return fmt.Errorf("note what a hook has shown: %w", err)
	}
	_, err = file.Write(content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(m.dir, name))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("note what a hook has shown: %w", err)
	}
	return nil
}

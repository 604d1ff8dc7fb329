package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

const machineRepo = "crash/machine"

// The keys of a machine's directory, by who edits them.
const (
	theirs   = 4 // remote-N.md: edited by a team-mate
	passing  = "passing.md"
	mine     = "mine.md"
	conflict = "conflict.md"
)

// machine is a client's: a memory directory and a home of its own, and the
// team-mate at the server. It remembers every text that a key ever had.
type machine struct {
	*wire
	programs  string
	home, dir string
	token     string // a file
	round     int
	took      time.Duration // by the last undisturbed round
	texts     map[api.Key]map[string]bool
	now       map[api.Key]string // what the team-mate and this machine want
	contested string             // this machine's text of the conflict, if there is one
}

func newMachine(t *testing.T, programs string) *machine {
	t.Helper()
	s := servertest.Start(t)
	home := t.TempDir()
	m := &machine{
		wire: newWire(s.URL, s.Token(api.Member)), programs: programs,
		home: home, dir: filepath.Join(home, "notes"), token: filepath.Join(home, "token"),
		texts: map[api.Key]map[string]bool{}, now: map[api.Key]string{},
	}
	if err := os.WriteFile(m.token, []byte(m.wire.token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(m.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m.edit(t)
	m.converges(t)
	return m
}

// command is one of the client's, for the directory.
func (m *machine) command(arguments ...string) *exec.Cmd {
	arguments = append(arguments, "--dir", m.dir, "--repo", machineRepo, "--server", m.url, "--token-file", m.token)
	command := exec.Command(filepath.Join(m.programs, "client"), arguments...)
	command.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH")}
	return command
}

// becomes notes a text that a key has had.
func (m *machine) becomes(key api.Key, text string) string {
	if m.texts[key] == nil {
		m.texts[key] = map[string]bool{}
	}
	m.texts[key][text] = true
	m.now[key] = text
	return text
}

// body is one line, so that two edits of it cannot be merged, and long enough for
// half of it to be noticed.
func (m *machine) body(who string) string {
	return fmt.Sprintf("%s %d %s\n", who, m.round, strings.Repeat("word ", 300))
}

// edit is what happens between two rounds: the team-mate edits some files and
// makes and deletes one, this machine edits one, and both edit another.
func (m *machine) edit(t *testing.T) {
	t.Helper()
	m.round++
	push := api.Push{Entries: map[api.Key]string{}}
	for i := range theirs {
		key := api.Key(fmt.Sprintf("folder-%d/remote.md", i))
		push.Entries[key] = m.becomes(key, m.body("theirs"))
	}
	if m.now[passing] == "" {
		push.Entries[passing] = m.becomes(passing, m.body("passing"))
	} else {
		push.Deletions = []api.Key{passing}
		delete(m.now, passing)
	}
	m.contested = ""
	if m.now[conflict] != "" {
		m.contested = m.body("contested")
		m.write(t, conflict, m.contested)
		m.texts[conflict][m.contested] = true
	}
	push.Entries[conflict] = m.becomes(conflict, m.body("theirs"))
	var headers []string
	if m.round > 1 {
		headers = []string{"If-Match", "*"}
	}
	if _, refused, err := m.put(t.Context(), machineRepo, push, headers...); err != nil || refused != nil {
		t.Fatalf("the team-mate's edit: %v, %v", err, refused)
	}
	m.write(t, mine, m.becomes(mine, m.body("mine")))
}

// write puts a file in place as careful editors do.
func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	beside := filepath.Join(m.home, "edited")
	err := os.WriteFile(beside, []byte(text), 0o644)
	if err == nil {
		err = os.Rename(beside, filepath.Join(m.dir, name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// files are those that an agent sees.
func (m *machine) files() (map[api.Key]string, error) {
	files := map[api.Key]string{}
	err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == m.dir {
			return err
		}
		name, err := filepath.Rel(m.dir, path)
		if err != nil {
			return err
		}
		if name == ".teammem" {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		files[api.Key(filepath.ToSlash(name))] = string(text)
		return err
	})
	return files, err
}

// whole checks that every file is one that was written, old or new, and that
// none else is to be seen.
func (m *machine) whole() error {
	files, err := m.files()
	if err != nil {
		return err
	}
	for key, text := range files {
		if !m.texts[key][text] {
			return fmt.Errorf("%s holds %d bytes that nobody wrote: %.40q", key, len(text), text)
		}
	}
	for _, key := range []api.Key{mine, conflict} {
		if m.round > 1 && files[key] == "" {
			return fmt.Errorf("%s is gone", key)
		}
	}
	return nil
}

// began tells whether the round that was interrupted has brought a file of the
// team-mate's already.
func (m *machine) began() (bool, error) {
	files, err := m.files()
	for key, text := range m.now {
		if key != mine && files[key] == text {
			return true, err
		}
	}
	return false, err
}

// converges runs one undisturbed round, after which directory and server are equal
// and hold what both sides wrote last, and this machine's side of the conflict is
// kept. It settles the conflict.
func (m *machine) converges(t *testing.T) {
	t.Helper()
	if err := m.settle(t); err != nil {
		t.Fatalf("round %d: %v", m.round, err)
	}
}

func (m *machine) settle(t *testing.T) error {
	begun := time.Now()
	said, err := m.command("sync", "--once").CombinedOutput()
	m.took = time.Since(begun)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != exitConflicts) {
		return fmt.Errorf("the round after: %w: %s", err, said)
	}
	files, err := m.files()
	if err != nil {
		return err
	}
	there, err := m.memory(t.Context(), machineRepo)
	if err != nil {
		return err
	}
	for key, want := range m.now {
		if files[key] != want || there.Content.Entries[key] != want {
			return fmt.Errorf("%s: the directory has %.20q, the server %.20q, want %.20q", key, files[key], there.Content.Entries[key], want)
		}
	}
	if len(files) != len(m.now) || len(there.Content.Entries) != len(m.now) {
		return fmt.Errorf("the directory has %d files, the server %d, want %d", len(files), len(there.Content.Entries), len(m.now))
	}
	return m.settleConflict()
}

// exitConflicts is the client's status when texts are kept.
const exitConflicts = 4

func (m *machine) settleConflict() error {
	said, err := m.command("conflicts", "list", "--json").Output()
	if err != nil {
		return fmt.Errorf("list conflicts: %w: %s", err, complaint(err))
	}
	var kept []struct {
		ID   string       `json:"id"`
		Mine api.Checksum `json:"mine"`
	}
	if err := json.Unmarshal(said, &kept); err != nil {
		return fmt.Errorf("list conflicts: %w: %s", err, said)
	}
	found := m.contested == ""
	for _, k := range kept {
		text, err := m.command("conflicts", "show", k.ID).Output()
		if err != nil {
			return fmt.Errorf("show what is kept: %w", err)
		}
		found = found || string(text) == m.contested
		if err := m.command("conflicts", "take", "theirs", k.ID).Run(); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
	}
	if !found {
		return fmt.Errorf("this machine's edit of %s is neither in place, nor at the server, nor kept", conflict)
	}
	return nil
}

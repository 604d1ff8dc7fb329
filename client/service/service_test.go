package service

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func example() Service {
	return Service{
		Repo: "acme/widgets", Dir: "/home/dana/my notes/team", Program: "/usr/local/bin/client",
		Arguments: []string{"sync", "/home/dana/my notes/team", "--repo", "acme/widgets", "--server", "https://memory.acme.example"},
		WorkDir:   "/home/dana/widgets", Variables: []string{"TEAMMEM_CONFIG_DIR=/home/dana/100% mine"}, LogFile: "/home/dana/Library/Logs/teammem/x.log",
		Made: []string{"/home/dana/.config/systemd", "/home/dana/.config/systemd/user"},
	}
}

func TestUnit(t *testing.T) {
	s := example()
	s.Arguments = append(s.Arguments, `a "$HOME" \ 50%`)
	text, err := Systemd.Text(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`ExecStart="/usr/local/bin/client" "sync" "/home/dana/my notes/team" "--repo" "acme/widgets" "--server" "https://memory.acme.example" "a \"$$HOME\" \\ 50%%"`,
		`Environment="TEAMMEM_CONFIG_DIR=/home/dana/100%% mine"`,
		`WorkingDirectory=-/home/dana/widgets`,
		`NoNewPrivileges=yes`,
		`WantedBy=default.target`,
	} {
		if !strings.Contains("\n"+string(text), "\n"+line+"\n") {
			t.Errorf("the unit has no line %s\n%s", line, text)
		}
	}
	if !IsOurs(text) || IsOurs([]byte("[Service]\nExecStart=/bin/true\n")) {
		t.Error("a file of ours is not known from another")
	}
	if made := MadeFor(text); !slices.Equal(made, s.Made) {
		t.Errorf("made %q, want %q", made, s.Made)
	}
}

// systemd itself has nothing to say of the unit.
func TestUnitIsWhatSystemdReads(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	s := example()
	if s.Program, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	text, err := Systemd.Text(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), Systemd.File(s))
	verify := func(text []byte) string {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(analyze, "--user", "--man=no", "--recursive-errors=no", "verify", file)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		out, _ := cmd.CombinedOutput()
		var ours []string
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, s.Name()) {
				ours = append(ours, line)
			}
		}
		return strings.Join(ours, "")
	}
	if said := verify(text); said != "" {
		t.Errorf("systemd says:\n%s", said)
	}
	if said := verify(bytes.Replace(text, []byte("UMask="), []byte("Umaks="), 1)); said == "" {
		t.Error("systemd says nothing of a slip, so that the check is none")
	}
}

func TestPlist(t *testing.T) {
	s := example()
	s.Made = []string{"/Users/dana/Library/a--b"}
	s.Arguments = append(s.Arguments, `<&">`)
	text, err := Launchd.Text(s)
	if err != nil {
		t.Fatal(err)
	}
	values := plistOf(t, text)
	want := append(append([]string{"Label", s.Name(), "ProgramArguments", s.Program}, s.Arguments...), "--log-file", s.LogFile,
		"EnvironmentVariables", "TEAMMEM_CONFIG_DIR", "/home/dana/100% mine", "WorkingDirectory", s.WorkDir)
	if len(values) < len(want) || !slices.Equal(values[:len(want)], want) {
		t.Errorf("the list holds %q,\nwant it to begin with %q", values, want)
	}
	if made := MadeFor(text); !slices.Equal(made, s.Made) {
		t.Errorf("made %q, want %q", made, s.Made)
	}
}

// plistOf reads keys and strings as any XML reader does.
func plistOf(t *testing.T, text []byte) []string {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	var values []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		if start, ok := token.(xml.StartElement); ok && (start.Name.Local == "key" || start.Name.Local == "string") {
			var value string
			if err := d.DecodeElement(&value, &start); err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
	}
}

// Whatever a word is, systemd's own rules read it back as it was, or it is refused.
func TestWordsOfAUnitComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := example()
		s.Arguments = []string{rapid.String().Draw(t, "word")}
		text, err := Systemd.Text(s)
		if err != nil {
			return
		}
		_, line, _ := strings.Cut(string(text), "\nExecStart=\"/usr/local/bin/client\" \"")
		line, _, _ = strings.Cut(line, "\"\n")
		var back strings.Builder
		for i := 0; i < len(line); i++ {
			switch c := line[i]; c {
			case '\\', '%', '$':
				i++
				if i == len(line) || line[i] != c && c != '\\' {
					t.Fatalf("%q ends in %q", line, c)
				}
				back.WriteByte(line[i])
			default:
				back.WriteByte(c)
			}
		}
		if back.String() != s.Arguments[0] {
			t.Fatalf("%q came back as %q", s.Arguments[0], back.String())
		}
	})
}

// A service is found by its directory, also when its repo was renamed.
func TestNames(t *testing.T) {
	s := example()
	for _, m := range []Manager{Systemd, Launchd} {
		for _, repo := range []string{"acme/widgets", "acme/gadgets", strings.Repeat("ä", 400)} {
			s.Repo = repo
			if ok, err := filepath.Match(m.Pattern(s.Dir), m.File(s)); err != nil || !ok {
				t.Errorf("%s does not match %s: %v", m.File(s), m.Pattern(s.Dir), err)
			}
			if len(m.File(s)) > 200 {
				t.Errorf("%s is too long for a name", m.File(s))
			}
		}
		other := s
		other.Dir += "2"
		if ok, _ := filepath.Match(m.Pattern(s.Dir), m.File(other)); ok {
			t.Errorf("%s is taken for the service of %s", m.File(other), s.Dir)
		}
	}
	s.WorkDir = "/tmp/a\nExecStart=/bin/false"
	if text, err := Systemd.Text(s); err == nil {
		t.Errorf("a line break came through:\n%s", text)
	}
}

func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "client.log")
	log, err := OpenLog(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range 50 {
		line := strings.Repeat(string(rune('a'+i%26)), 19) + "\n"
		all = append(all, line)
		if n, err := log.Write([]byte(line)); err != nil || n != len(line) {
			t.Fatal(n, err)
		}
		for _, file := range []string{path, path + ".1"} {
			if info, err := os.Stat(file); err == nil && info.Size() > 100 {
				t.Fatalf("%s has %d bytes", file, info.Size())
			}
		}
	}
	before, err := os.ReadFile(path + ".1")
	if err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(strings.Join(all, ""), string(before)+string(now)) || len(now) == 0 {
		t.Errorf("the last lines are not there:\n%s%s", before, now)
	}
}

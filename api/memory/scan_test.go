package memory_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/teammem/teammem/api/memory"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// file is a memory of so many hours ago.
func file(text string, hours int) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(text), ModTime: noon.Add(-time.Duration(hours) * time.Hour)}
}

func TestScan(t *testing.T) {
	private := fstest.MapFS{
		"MEMORY.md":        file("- [a](a.md)\n", 0),
		"user_role.md":     file("---\nname: role\ndescription: what she does\ntype: user\n---\n", 3),
		"sub/deep.md":      file("no front matter", 1),
		"sub/MEMORY.md":    file("", 0),
		"notes.txt":        file("", 0),
		".hidden/x.md":     file("", 0),
		".teammem/old/y":   file("", 0),
		"team/elsewhere":   file("", 0),
		"team/doubled.md":  file("", 0),
		"link.md":          {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")},
		"logs/2026/11.md":  file("- 09:00 began\n", 9),
		"folder.md/in.md":  file("", 8),
		"project_later.md": file("---\ntype: project\n---\n", 3),
	}
	team := fstest.MapFS{"project_x.md": file("---\ndescription: x\nmetadata:\n  type: project\n---\n", 2)}
	list := memory.Scan(0,
		memory.Source{FS: private, Scope: memory.Private, Skip: "team"},
		memory.Source{FS: team, Scope: memory.Team, Prefix: "team/"},
		memory.Source{FS: fstest.MapFS{}, Scope: memory.Team, Prefix: "nobody/"},
	)
	want := strings.Join([]string{
		"- sub/deep.md (2026-11-30T11:00:00.000Z)",
		"- [project] team/project_x.md (2026-11-30T10:00:00.000Z): x",
		"- [project] project_later.md (2026-11-30T09:00:00.000Z)",
		"- [user] user_role.md (2026-11-30T09:00:00.000Z): what she does",
		"- folder.md/in.md (2026-11-30T04:00:00.000Z)",
		"- logs/2026/11.md (2026-11-30T03:00:00.000Z)",
		"",
	}, "\n")
	if got := memory.Manifest(list.Memories); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if len(list.Indexes) != 2 || len(list.Missed) != 1 || list.Missed[0].Key != "link.md" {
		t.Errorf("indexes %v, missed %v", list.Indexes, list.Missed)
	}
}

func TestScanListsTheNewest(t *testing.T) {
	dir := fstest.MapFS{}
	for i := range 250 {
		dir[fmt.Sprintf("%03d.md", i)] = file("", i)
	}
	list := memory.Scan(memory.ScanMost, memory.Source{FS: dir})
	if len(list.Memories) != 200 || list.Total != 250 {
		t.Fatalf("%d of %d are listed", len(list.Memories), list.Total)
	}
	if first, last := list.Memories[0].Key, list.Memories[199].Key; first != "000.md" || last != "199.md" {
		t.Errorf("from %s to %s", first, last)
	}
}

// A scan reads only the head of a file, and comes to the same as who reads all.
func TestScanAgreesWithParse(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, text := range map[string]string{
		"long body":                 "---\nname: a\n---\n" + strings.Repeat(long, 40),
		"long value":                "---\nname: a\ndescription: " + long + long + "\ntype: user\n---\n",
		"fence at the buffer's end": "---\nname: " + strings.Repeat("x", 4096-4-6-1-3) + "\n---\nbody",
		"dashes go on there":        "---\nname: " + strings.Repeat("x", 4096-4-6-1-3) + "\n----\n---\n",
		"first line is long":        "-" + long,
		"nothing closes":            "---\n" + strings.Repeat(long+"\n", 20),
	} {
		whole := memory.Parse([]byte(text))
		list := memory.Scan(0, memory.Source{FS: fstest.MapFS{"a.md": file(text, 0)}})
		if got := list.Memories[0].Head; got != whole {
			t.Errorf("%s: the scan reads another head", name)
		}
	}
}

// What lies behind the header lines is not even looked at.
func TestScanReadsNoBody(t *testing.T) {
	text := "---\nname: a\n" + strings.Repeat("x: y\n", 40) + "---\n" + strings.Repeat("body\n", 40_000)
	var read int
	list := memory.Scan(0, memory.Source{FS: counting{fstest.MapFS{"a.md": file(text, 0)}, &read}})
	if m := list.Memories[0]; m.Name != "" || m.Trouble == "" || read > 8192 {
		t.Errorf("%d bytes were read of a file whose head is too long: %+v", read, m.Head)
	}
}

// counting counts what is read of its files.
type counting struct {
	fstest.MapFS
	read *int
}

func (c counting) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	return countingFile{f, c.read}, err
}

type countingFile struct {
	fs.File
	read *int
}

func (c countingFile) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	*c.read += n
	return n, err
}

// closed refuses to open one file.
type closed struct {
	fstest.MapFS
	name string
}

func (c closed) Open(name string) (fs.File, error) {
	if name == c.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.MapFS.Open(name)
}

// TestAnIndexThatCannotBeRead is missed; everything else is there.
func TestAnIndexThatCannotBeRead(t *testing.T) {
	files := fstest.MapFS{"MEMORY.md": file("- [A](a.md)\n", 0), "sub/MEMORY.md": file("", 0), "a.md": file("x", 0)}
	list := memory.Scan(0, memory.Source{FS: closed{files, "MEMORY.md"}})
	if len(list.Memories) != 1 || len(list.Indexes) != 1 || len(list.Missed) != 1 || list.Missed[0].Key != "MEMORY.md" {
		t.Errorf("%+v", list)
	}
}

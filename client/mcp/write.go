package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
	"github.com/teammem/teammem/api/scan"
	"github.com/teammem/teammem/client/guard"
	"github.com/teammem/teammem/client/memdir"
)

// versionNew stands for a memory that does not exist yet.
const versionNew = "new"

type writeIn struct {
	Key     string `json:"key" jsonschema:"such as team/project_release.md (shared) or user_role.md (private)"`
	Content string `json:"content" jsonschema:"the whole text of the file, front matter included"`
	Version string `json:"version" jsonschema:"the version that memory_read gave for this key, or new"`
}

type writeOut struct {
	Key     string   `json:"key"`
	Version string   `json:"version" jsonschema:"of the text that stands there now"`
	Changed bool     `json:"changed"`
	Notes   []string `json:"notes,omitempty" jsonschema:"what to do better, or next"`
}

func (s *Server) write(_ context.Context, _ *sdk.CallToolRequest, in writeIn) (*sdk.CallToolResult, writeOut, error) {
	p, err := s.place(in.Key)
	if err != nil {
		return nil, writeOut{}, err
	}
	found, err := s.allowed(p, in.Content)
	if err != nil {
		return nil, writeOut{}, err
	}
	base := api.Checksum("")
	if in.Version != versionNew {
		if base, err = api.ParseChecksum(in.Version); err != nil {
			return nil, writeOut{}, &advice{fmt.Sprintf("%q is no version", in.Version), `call memory_read for the version of ` + in.Key + `, or use "new" if it does not exist`}
		}
	}
	out := writeOut{Key: in.Key, Version: string(api.ChecksumOfString(in.Content))}
	if out.Changed, err = s.put(p, []byte(in.Content), base); err != nil {
		return nil, writeOut{}, err
	}
	if out.Changed && p.scope == memory.Team && s.opts.Saved != nil {
		s.opts.Saved(p.key)
	}
	out.Notes = s.notes(p, in.Content, found)
	return nil, out, nil
}

// allowed refuses what may not stand in a memory, and gives what was found beside that.
func (s *Server) allowed(p place, content string) ([]guard.Judged, error) {
	switch {
	case len(content) > api.DefaultLimits.EntryBytes:
		return nil, &advice{fmt.Sprintf("the text has %d bytes, and a memory has at most %d", len(content), api.DefaultLimits.EntryBytes), "split it by topic, or keep only what later sessions need"}
	case !utf8.ValidString(content):
		return nil, &advice{"the text is not UTF-8", "write it anew"}
	case strings.TrimSpace(content) == "":
		return nil, &advice{"the text is empty", "write what is to be remembered; a memory that is wrong is corrected, or the person deletes it with client rm"}
	}
	found, err := s.judge.Judge(p.key, []byte(content))
	switch {
	case errors.Is(err, scan.ErrTooDense), errors.Is(err, scan.ErrTooLong):
		return nil, &advice{fmt.Sprintf("the text cannot be scanned for secrets (%v), so it is not written", err), "write a shorter, plainer text"}
	case err != nil:
		return nil, &advice{fmt.Sprintf("the text cannot be scanned for secrets (%v), so it is not written", err), "tell the person: client secrets shows why"}
	}
	if worst := guard.Worst(found); worst != nil && worst.Verdict == api.VerdictRefuse {
		return nil, refused(*worst)
	}
	return found, nil
}

// refused tells the model of a finding, and nothing of what was found.
func refused(f guard.Judged) error {
	if f.Line == 0 {
		return &advice{fmt.Sprintf("the key holds what nobody may share (%s), so it is not written", f.Rule), "choose another key"}
	}
	if f.IsSecret() {
		return &advice{
			fmt.Sprintf("the text holds a secret (%s, line %d), so it is not written", f.Rule, f.Line),
			"leave the value out and write where it is kept, such as the name of a variable or of a vault's entry",
		}
	}
	return &advice{
		fmt.Sprintf("the text holds what the organization lets nobody share (%s: %s, line %d), so it is not written", f.Class, f.Rule, f.Line),
		"leave it out",
	}
}

// put writes the text if base is still what stands there, "" being nothing.
func (s *Server) put(p place, content []byte, base api.Checksum) (changed bool, err error) {
	dir, err := p.make()
	if err != nil {
		return false, err
	}
	defer func() { _ = dir.Close() }()
	file, left, err := dir.Look(s.now(), p.key, api.DefaultLimits.EntryBytes)
	var expect *memdir.File
	switch {
	case left != nil:
		return false, &advice{fmt.Sprintf("%s cannot be written: it %s", p.full, left.Detail), "choose another key"}
	case err == nil:
		expect = &file
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	switch {
	case expect != nil && expect.Checksum == api.ChecksumOf(content):
		return false, nil
	case expect == nil && base != "":
		return false, &advice{fmt.Sprintf("%s is gone: it was deleted since you read it", p.full), `to write it all the same, use version "new"`}
	case expect != nil && expect.Checksum != base:
		return false, s.conflict(p, base)
	}
	_, err = dir.Write(s.now(), p.key, content, time.Time{}, expect)
	if moved := (*memdir.ChangedError)(nil); errors.As(err, &moved) {
		return false, s.conflict(p, base)
	}
	if obstacle := (*memdir.ObstacleError)(nil); errors.As(err, &obstacle) {
		return false, &advice{fmt.Sprintf("%s cannot be written: %v", p.full, obstacle), "choose another key"}
	}
	return err == nil, err
}

// conflict answers a write that does not fit with what stands there.
func (s *Server) conflict(p place, base api.Checksum) error {
	content, _, err := p.text()
	if err != nil {
		return err
	}
	what := "was changed since you read it"
	if base == "" {
		what = "exists already"
	}
	text, next := s.cut(content, 0)
	if next > 0 {
		text += fmt.Sprintf("\n[cut: memory_read with offset %d gives the rest]", next)
	}
	return fmt.Errorf("conflict: %s %s, and nothing was written. Put your change into the current text and call memory_write again with version %q. The current text:\n%s",
		p.full, what, api.ChecksumOf(content), text)
}

// notes is what the writer may do better.
func (s *Server) notes(p place, content string, found []guard.Judged) []string {
	var notes []string
	for _, f := range found {
		switch f.Verdict {
		case api.VerdictHold:
			notes = append(notes, fmt.Sprintf("line %d looks like %s (%s); team-mates get it when it was reviewed", f.Line, f.Class, f.Rule))
		case api.VerdictFlag:
			notes = append(notes, fmt.Sprintf("line %d looks like %s (%s); team-mates are warned of it", f.Line, f.Class, f.Rule))
		}
	}
	if p.key.IsIndex() {
		if warning := memory.CutIndex([]byte(content)).Warning(); warning != "" {
			notes = append(notes, warning)
		}
		return notes
	}
	head := headOf([]byte(content))
	switch {
	case head.Trouble != "":
		notes = append(notes, "its front matter is not read: it must be closed by a line \"---\" within the first 30 lines")
	case head.Name == "" || head.Description == "":
		notes = append(notes, "it has no name or no description in its front matter; memories are found by these")
	case head.Type == memory.None:
		notes = append(notes, "it has no type in its front matter: one of "+types())
	case head.Type == memory.User && p.scope == memory.Team:
		notes = append(notes, "it is of type user, which is private, and stands in the team's directory; move it to a key without team/")
	}
	if !s.indexed(p) {
		index := path.Join(path.Dir(p.full), string(api.IndexKey))
		notes = append(notes, fmt.Sprintf("no index names it; add a line to %s: - [%s](%s) — when it matters", index, nameOr(head.Name, p), path.Base(p.full)))
	}
	return notes
}

func nameOr(name string, p place) string {
	if name != "" {
		return name
	}
	return strings.TrimSuffix(path.Base(string(p.key)), ".md")
}

// indexed reports whether an index of the memory's folder or of one above leads to it.
func (s *Server) indexed(p place) bool {
	dir, err := open(p.dir)
	if err != nil || dir == nil {
		return true // nothing can be said
	}
	defer func() { _ = dir.Close() }()
	for folder := path.Dir(string(p.key)); ; folder = path.Dir(folder) {
		text, err := dir.Read(api.Key(path.Join(folder, string(api.IndexKey))), api.DefaultLimits.EntryBytes)
		if err == nil {
			for _, link := range memory.Links(text) {
				if link.Path(folder) == string(p.key) {
					return true
				}
			}
		}
		if folder == "." {
			return false
		}
	}
}

func headOf(content []byte) memory.Head { return memory.Parse(content) }

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/api/memory"
)

type listIn struct {
	Scope  string `json:"scope,omitempty" jsonschema:"team or private; both when left out"`
	Type   string `json:"type,omitempty" jsonschema:"user, feedback, project or reference; all when left out"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many of the newest to pass over: next_offset of the answer before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many at most, 200 when left out"`
}

// listed is a memory in a list; the fields are those of client memory list --json.
type listed struct {
	Key         string `json:"key"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Scope       string `json:"scope"`
	Modified    string `json:"modified"`
	Age         string `json:"age"`
	Bytes       int64  `json:"bytes"`
}

type listOut struct {
	Memories   []listed `json:"memories"`
	Indexes    []string `json:"indexes" jsonschema:"index files, which memory_read gives as well"`
	Total      int      `json:"total"`
	NextOffset int      `json:"next_offset,omitempty" jsonschema:"there are more: call again with this offset"`
}

func (s *Server) list(_ context.Context, _ *sdk.CallToolRequest, in listIn) (*sdk.CallToolResult, listOut, error) {
	scope := memory.Scope(in.Scope)
	if scope != "" && scope != memory.Team && scope != memory.Private {
		return nil, listOut{}, &advice{fmt.Sprintf("there is no scope %q", in.Scope), "scope is team or private, or is left out"}
	}
	if in.Type != "" && memory.TypeOf(in.Type) == memory.None {
		return nil, listOut{}, &advice{fmt.Sprintf("there is no type %q", in.Type), "type is one of " + types() + ", or is left out"}
	}
	found, err := s.scan(scope)
	if err != nil {
		return nil, listOut{}, err
	}
	if in.Limit <= 0 || in.Limit > memory.ScanMost {
		in.Limit = memory.ScanMost
	}
	out := listOut{Memories: []listed{}, Indexes: []string{}}
	for _, key := range found.Indexes {
		out.Indexes = append(out.Indexes, string(key))
	}
	_, cut := s.budget()
	now, size := s.now(), 0
	for _, m := range found.Memories {
		if in.Type != "" && string(m.Type) != in.Type {
			continue
		}
		out.Total++
		if out.Total <= max(in.Offset, 0) || out.NextOffset > 0 {
			continue
		}
		line := listedOf(m, now)
		size += len(line.Key) + len(line.Name) + len(line.Description) + 160
		if len(out.Memories) == in.Limit || size > cut && len(out.Memories) > 0 {
			out.NextOffset = out.Total - 1
			continue
		}
		out.Memories = append(out.Memories, line)
	}
	return nil, out, nil
}

func listedOf(m memory.Memory, now time.Time) listed {
	return listed{
		Key: string(m.Key), Name: m.Name, Description: m.Description, Type: string(m.Type), Scope: string(m.Scope),
		Modified: m.Modified.UTC().Format(time.RFC3339), Age: memory.Age(now, m.Modified), Bytes: m.Bytes,
	}
}

type readIn struct {
	Key    string `json:"key" jsonschema:"of a memory or an index, such as team/project_release.md or team/MEMORY.md"`
	Offset int    `json:"offset,omitempty" jsonschema:"byte to begin at: next_offset of the answer before"`
}

type readOut struct {
	Key        string `json:"key"`
	Scope      string `json:"scope"`
	Version    string `json:"version" jsonschema:"of the whole text; memory_write needs it"`
	Modified   string `json:"modified"`
	Note       string `json:"note,omitempty" jsonschema:"what to mind when reading it"`
	Text       string `json:"text"`
	NextOffset int    `json:"next_offset,omitempty" jsonschema:"the text goes on: call again with this offset"`
}

func (s *Server) read(_ context.Context, _ *sdk.CallToolRequest, in readIn) (*sdk.CallToolResult, readOut, error) {
	p, err := s.place(in.Key)
	if err != nil {
		return nil, readOut{}, err
	}
	content, info, err := p.text()
	if err != nil {
		return nil, readOut{}, err
	}
	if in.Offset < 0 || in.Offset > len(content) {
		return nil, readOut{}, &advice{fmt.Sprintf("%s has %d bytes, and the offset %d lies outside", in.Key, len(content), in.Offset), "begin at 0"}
	}
	out := readOut{
		Key: in.Key, Scope: string(p.scope), Version: string(api.ChecksumOf(content)), Modified: info.ModTime().UTC().Format(time.RFC3339),
		Note: memory.Freshness(s.now(), info.ModTime()),
	}
	text, next := s.cut(content, in.Offset)
	out.Text, out.NextOffset = text, next
	return nil, out, nil
}

// cut gives a text from an offset on, as much of it as an answer takes: all of it, or
// half of that, to the end of a line. next is where it goes on, 0 at the end.
func (s *Server) cut(content []byte, from int) (text string, next int) {
	rest := content[from:]
	most, cut := s.budget()
	if escaped(rest) <= most {
		return strings.ToValidUTF8(string(rest), "\uFFFD"), 0
	}
	for cut = min(cut, len(rest)); escaped(rest[:cut]) > most; {
		cut /= 2
	}
	if n := bytes.LastIndexByte(rest[:cut], '\n'); n > 0 {
		cut = n + 1
	}
	for cut > 1 && cut < len(rest) && !utf8.RuneStart(rest[cut]) {
		cut--
	}
	return strings.ToValidUTF8(string(rest[:cut]), "\uFFFD"), from + cut
}

// escaped is the length of a text in JSON.
func escaped(text []byte) int {
	b, err := json.Marshal(string(text))
	if err != nil {
		return 6 * len(text)
	}
	return len(b)
}

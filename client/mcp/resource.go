package mcp

import (
	"context"
	"net/url"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/teammem/teammem/api/memory"
)

const (
	scheme   = "memory"
	markdown = "text/markdown"
	template = scheme + "://{scope}/{+key}"
)

// resources remembers what is registered with the library, which keeps a list of its
// own, while ours is the directory.
type resources struct {
	mu   sync.Mutex
	seen map[string]sdk.Resource
}

func (s *Server) addResources() {
	s.listed.seen = map[string]sdk.Resource{}
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "memory", Title: "A memory or an index", URITemplate: template, MIMEType: markdown,
		Description: "scope is team or private, key is the path of the file below that directory.",
	}, s.resource)
	s.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "resources/list" {
				s.refresh()
			}
			return next(ctx, method, req)
		}
	})
}

// uri is the address of a memory.
func uri(scope memory.Scope, key string) string {
	u := url.URL{Scheme: scheme, Host: string(scope), Path: "/" + key}
	return u.String()
}

// refresh brings the library's list up to what lies in the directories.
func (s *Server) refresh() {
	list, err := s.scan("")
	if err != nil {
		s.log.Warn("the memories cannot be listed", "error", err)
		return
	}
	now := map[string]sdk.Resource{}
	add := func(scope memory.Scope, full, title, about string, size int64) {
		address := uri(scope, strings.TrimPrefix(full, teamPrefix))
		now[address] = sdk.Resource{URI: address, Name: full, Title: title, Description: about, MIMEType: markdown, Size: size}
	}
	for _, key := range list.Indexes {
		scope := memory.Private
		if strings.HasPrefix(string(key), teamPrefix) {
			scope = memory.Team
		}
		add(scope, string(key), "Index of memories", "One line for each memory beside it.", 0)
	}
	for _, m := range list.Memories {
		add(m.Scope, string(m.Key), m.Title(), m.Description, m.Bytes)
	}
	s.listed.mu.Lock()
	defer s.listed.mu.Unlock()
	var gone []string
	for address := range s.listed.seen {
		if _, still := now[address]; !still {
			gone = append(gone, address)
		}
	}
	if len(gone) > 0 {
		s.sdk.RemoveResources(gone...)
	}
	for address, resource := range now {
		if old, ok := s.listed.seen[address]; !ok || old.Title != resource.Title || old.Description != resource.Description || old.Size != resource.Size {
			s.sdk.AddResource(&resource, s.resource)
		}
	}
	s.listed.seen = now
}

// resource reads one.
func (s *Server) resource(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	address := req.Params.URI
	u, err := url.Parse(address)
	if err != nil || u.Scheme != scheme {
		return nil, sdk.ResourceNotFoundError(address)
	}
	full := strings.TrimPrefix(u.Path, "/")
	switch memory.Scope(u.Host) {
	case memory.Team:
		full = teamPrefix + full
	case memory.Private:
		if strings.HasPrefix(full, teamPrefix) {
			return nil, sdk.ResourceNotFoundError(address)
		}
	default:
		return nil, sdk.ResourceNotFoundError(address)
	}
	p, err := s.place(full)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(address)
	}
	content, _, err := p.text()
	if err != nil {
		return nil, sdk.ResourceNotFoundError(address)
	}
	text, next := s.cut(content, 0)
	if next > 0 {
		text += "\n[cut: memory_read with key " + full + " gives the rest]\n"
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: address, MIMEType: markdown, Text: text}}}, nil
}

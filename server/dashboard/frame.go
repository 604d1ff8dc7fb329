package dashboard

import (
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/web"
)

// frame is what every page has. The zero frame is that of somebody unknown.
type frame struct {
	path string
	org  string // named in addresses, for people who are in several
	who  auth.Caller

	Title         string
	Places        []link
	User          string
	Role          api.Role
	Organization  string
	Organizations []link
	Said          *said
	Live          string // address of a stream of changes; empty: none
	Charts        bool
}

type link struct {
	Name, Href string
	Here       bool
	Count      int
}

// places are the ways that stand beside every page.
func (f *frame) places() []link {
	all := []struct {
		name, path string
		may        bool
		also       string
	}{
		{"overview", "/", true, ""},
		{"repos", "/repos", f.who.MaySomewhere(api.Read), "/repo /entry /diff /edit /new /index"},
		{"search", "/search", f.who.MaySomewhere(api.Read), "/digest"},
		{"review", "/review", f.who.MaySomewhere(api.Read), "/proposal"},
		{"activity", "/activity", f.who.MaySomewhere(api.Read), "/audit"},
		{"people", "/people", f.who.May(api.Administer), "/access"},
		{"settings", "/settings", true, "/tokens /clients /policy /leaks"},
	}
	var places []link
	for _, p := range all {
		if p.may {
			here := f.path == p.path || strings.Contains(" "+p.also+" ", " "+f.path+" ")
			places = append(places, link{Name: p.name, Href: f.At(p.path), Here: here})
		}
	}
	return places
}

// At is an address on this server, in the organization that the page is of.
func (f frame) At(path string, pairs ...any) string {
	texts := make([]string, 0, len(pairs)+2)
	for _, p := range pairs {
		texts = append(texts, fmt.Sprint(p))
	}
	return address(path, append(texts, "org", f.org)...)
}

// May reports whether the page's reader holds a right in the organization.
func (f frame) May(right api.Right) bool { return f.who.May(right) }

// MayOn reports whether the page's reader holds a right on a repo.
func (f frame) MayOn(right api.Right, repo api.RepoSlug) bool { return f.who.MayOn(right, repo) }

func (h *Handler) render(w http.ResponseWriter, r *http.Request, status int, name string, view any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	// A browser that went away in the middle is no fault of ours.
	if err := h.pages[name].ExecuteTemplate(w, "frame", view); err != nil && r.Context().Err() == nil {
		h.log.Error("a page broke off", "page", name, "error", err)
	}
}

// readPages reads the templates, each page with the frame and the parts that pages
// share.
func readPages(files assets, now func() time.Time) (map[string]*template.Template, error) {
	funcs := template.FuncMap{
		"asset": func(name string) (string, error) {
			if address, ok := files.address[name]; ok {
				return address, nil
			}
			return "", fmt.Errorf("there is no file %s", name)
		},
		"ago": func(t any) string { return ago(now(), timeOf(t)) }, "exact": func(t any) string { return exact(timeOf(t)) },
		"stamp": func(t any) string { return timeOf(t).UTC().Format(time.RFC3339) }, "isset": func(t any) bool { return !timeOf(t).IsZero() },
		"num": number, "verb": verbOf, "size": size, "short": short, "count": count, "dict": dict, "percent": percent,
	}
	pages := map[string]*template.Template{}
	names, err := fs.Glob(web.Files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "frame" || name == "parts" {
			continue
		}
		t, err := template.New("").Funcs(funcs).ParseFS(web.Files, "templates/frame.html", "templates/parts.html", file)
		if err != nil {
			return nil, fmt.Errorf("read the page %s: %w", name, err)
		}
		pages[name] = t
	}
	return pages, nil
}

// OrgName is the organization that forms name, for people who are in several.
func (f frame) OrgName() string { return f.org }

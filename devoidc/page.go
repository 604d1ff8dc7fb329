package devoidc

import (
	"html/template"
	"net/http"
	"slices"
)

// pages are what a person sees: whom to sign in as, with a button each.
var pages = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><title>{{.Title}}</title>
<h1>{{.Title}}</h1>
{{if .Done}}<p id="done">{{.Done}}</p>{{else}}
<form method="post" action="{{.Action}}">
<input type="hidden" name="request" value="{{.Request}}">
{{if .Device}}<p><label>code <input name="user_code" value="{{.UserCode}}"></label></p>{{end}}
{{range .Names}}<button name="user" value="{{.}}">{{.}}</button> {{end}}
</form>{{end}}
</html>`))

type page struct {
	Title, Action, Request, UserCode, Done string
	Device                                 bool
	Names                                  []string
}

func (p *Provider) render(w http.ResponseWriter, page page) {
	p.mu.Lock()
	for _, u := range p.users {
		page.Names = append(page.Names, u.Name)
	}
	p.mu.Unlock()
	slices.Sort(page.Names)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.Execute(w, page)
}

func (p *Provider) showLogin(w http.ResponseWriter, r *http.Request) {
	p.render(w, page{Title: "Sign in", Action: p.path("/login"), Request: r.URL.Query().Get("request")})
}

func (p *Provider) showDevice(w http.ResponseWriter, r *http.Request) {
	p.render(w, page{Title: "Sign a device in", Action: p.path("/device"), UserCode: r.URL.Query().Get("user_code"), Device: true})
}

func (p *Provider) confirmDevice(w http.ResponseWriter, r *http.Request) {
	if err := p.Confirm(r.PostFormValue("user_code"), r.PostFormValue("user"), true); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	p.render(w, page{Title: "Sign a device in", Done: "The device is signed in as " + r.PostFormValue("user") + "."})
}

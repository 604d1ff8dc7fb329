package servertest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/teammem/teammem/api"
)

var aboutCases = []conformanceCase{
	{"the server says what it is", func(w *wire) {
		about := into[api.WellKnown](w, w.wantStatus(w.do(http.MethodGet, api.PathWellKnown, "", nil), http.StatusOK))
		if about.Server != "teammem" || about.Version == "" || about.Limits.BodyBytes == 0 {
			w.Errorf("%+v", about)
		}
		for _, extension := range []string{api.ExtensionBaseChecksums, api.ExtensionDeletions, api.ExtensionSince, api.ExtensionModified} {
			if !slices.Contains(about.Extensions, extension) {
				w.Errorf("the extension %s is not announced", extension)
			}
		}
	}},
	{"the description is the one of this contract", func(w *wire) {
		a := w.wantStatus(w.do(http.MethodGet, api.PathOpenAPI, "", nil), http.StatusOK)
		if string(a.body) != string(api.OpenAPI()) {
			w.Error("another openapi.yaml is served")
		}
	}},
	{"it lives and is ready", func(w *wire) {
		w.wantStatus(w.do(http.MethodGet, api.PathHealth, "", nil), http.StatusOK)
		w.wantStatus(w.do(http.MethodGet, api.PathReady, "", nil), http.StatusOK)
	}},
	{"a token learns whom it speaks for", func(w *wire) {
		for role, token := range map[api.Role]string{api.Viewer: w.target.Viewer, api.Member: w.target.Member, api.Maintainer: w.target.Maintainer, api.Admin: w.target.Admin} {
			if me := into[api.WhoAmI](w, w.wantStatus(w.do(http.MethodGet, api.PathWhoAmI, token, nil), http.StatusOK)); me.Role != role {
				w.Errorf("the token of a %s has the role %s", role, me.Role)
			}
		}
	}},
	{"an unknown address is 404, in JSON", func(w *wire) {
		w.wantError(w.do(http.MethodGet, "/api/claude_code/nothing", w.target.Member, nil), http.StatusNotFound, api.ErrorCodeNoRoute)
	}},
	{"a method that an address does not take is 405 with Allow, in JSON", func(w *wire) {
		for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
			a := w.do(method, api.PathTeamMemory, w.target.Member, nil)
			w.wantError(a, http.StatusMethodNotAllowed, api.ErrorCodeMethod)
			if a.header.Get("Allow") != "GET, HEAD, PUT" {
				w.Errorf("Allow is %q", a.header.Get("Allow"))
			}
		}
	}},
}

var getCases = []conformanceCase{
	{"404 on GET means that this repo has no memory yet", func(w *wire) {
		r := w.repo()
		for _, extra := range []string{"", "&view=hashes", "&since=3"} {
			w.wantError(r.get(extra), http.StatusNotFound, api.ErrorCodeNoMemory)
		}
		w.wantError(r.get("", "If-None-Match", "*"), http.StatusNotFound, api.ErrorCodeNoMemory)
	}},
	{"all six fields are there", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		fields := into[map[string]json.RawMessage](w, r.get(""))
		for _, name := range []string{"organizationId", "repo", "version", "lastModified", "checksum", "content"} {
			if fields[name] == nil {
				w.Errorf("%s is missing", name)
			}
		}
		content := into[map[string]json.RawMessage](w, answer{body: fields["content"]})
		if content["entries"] == nil || content["entryChecksums"] == nil {
			w.Errorf("content has %v", slices.Sorted(maps.Keys(content)))
		}
	}},
	{"the ETag is strong, quoted, equal to checksum, on GET 200, 304, hashes and PUT 200", func(w *wire) {
		r := w.repo()
		put := r.put(api.Push{Entries: map[api.Key]string{"a.md": "a"}})
		want := r.ok(put).Checksum.ETag()
		for name, a := range map[string]answer{
			"GET":    r.get(""),
			"304":    r.wantStatus(r.get("", "If-None-Match", want), http.StatusNotModified),
			"hashes": r.get("&view=hashes"),
			"delta":  r.get("&since=1"),
			"no-op":  r.put(api.Push{Entries: map[api.Key]string{"a.md": "a"}}),
			"HEAD":   w.do(http.MethodHead, r.path(""), w.target.Viewer, nil),
		} {
			if a.header.Get("ETag") != want || a.header.Get(api.HeaderVersion) != "1" {
				w.Errorf("%s: ETag %s, version %s; want %s, 1", name, a.header.Get("ETag"), a.header.Get(api.HeaderVersion), want)
			}
		}
	}},
	{"view=hashes has the same metadata, no entries, and entryChecksums in both places", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a", "dir/b.md": "b"})
		full, hashes := r.memory(""), r.memory("&view=hashes")
		if hashes.Content.Entries != nil {
			w.Error("hashes carry entries")
		}
		if !maps.Equal(hashes.EntryChecksums, full.Content.EntryChecksums) || !maps.Equal(hashes.Content.EntryChecksums, full.Content.EntryChecksums) {
			w.Errorf("hashes say %v and %v, the full view %v", hashes.EntryChecksums, hashes.Content.EntryChecksums, full.Content.EntryChecksums)
		}
		if hashes.Checksum != full.Checksum || hashes.Version != full.Version || hashes.Epoch != full.Epoch || hashes.LastModified != full.LastModified {
			w.Errorf("hashes %+v, full %+v", hashes, full)
		}
	}},
	{"304 is exact", func(w *wire) {
		r := w.repo()
		old := r.write(map[api.Key]string{"a.md": "1"}).Checksum.ETag()
		w.wantStatus(r.get("", "If-None-Match", old), http.StatusNotModified)
		w.wantStatus(r.get("&view=hashes", "If-None-Match", old), http.StatusNotModified)
		r.write(map[api.Key]string{"a.md": "2"})
		w.wantStatus(r.get("", "If-None-Match", old), http.StatusOK)
	}},
	{"a repo's name may come in any case, with .git, encoded or not, and deeper", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		owner, name, _ := strings.Cut(r.slug, "/")
		for _, spelling := range []string{r.slug, owner + "%2F" + name, owner + "%2f" + name, strings.ToUpper(r.slug), r.slug + ".git"} {
			a := w.wantStatus(w.do(http.MethodGet, api.PathTeamMemory+"?repo="+spelling, w.target.Viewer, nil), http.StatusOK)
			if got := into[api.Memory](w, a).Repo; string(got) != r.slug {
				w.Errorf("%s is %s", spelling, got)
			}
		}
		deep := &repo{w, "git.example.com:8443/" + r.slug + "/group/sub"}
		deep.write(map[api.Key]string{"b.md": "b"})
		deep.holds(map[api.Key]string{"b.md": "b"})
	}},
	{"a bad repo, view or since is 400", func(w *wire) {
		r := w.repo()
		r.write(map[api.Key]string{"a.md": "a"})
		for query, errorCode := range map[string]string{
			"": api.ErrorCodeBadRepo, "?repo=": api.ErrorCodeBadRepo, "?repo=noslash": api.ErrorCodeBadRepo, "?repo=a//b": api.ErrorCodeBadRepo,
			"?repo=../b": api.ErrorCodeBadRepo, "?repo=a/b%00": api.ErrorCodeBadRepo, "?repo=a/" + strings.Repeat("b", 300): api.ErrorCodeBadRepo,
			"?repo=" + r.slug + "&repo=" + r.slug:  api.ErrorCodeBadRepo,
			"?repo=" + r.slug + "&view=everything": api.ErrorCodeBadQuery,
			"?repo=" + r.slug + "&since=yesterday": api.ErrorCodeBadQuery,
			"?repo=" + r.slug + "&since=-1":        api.ErrorCodeBadQuery,
		} {
			w.wantError(w.do(http.MethodGet, api.PathTeamMemory+query, w.target.Viewer, nil), http.StatusBadRequest, errorCode)
		}
	}},
	{"unknown headers and query values are ignored", func(w *wire) {
		r := w.repo()
		r.ok(r.putText(`{"entries":{"a.md":"a"},"unknown":{"field":[1,null]}}`, "anthropic-beta", "x", "anthropic-version", "y"))
		w.wantStatus(r.get("&unknown=1", "anthropic-beta", "x"), http.StatusOK)
	}},
	{"answers are compressed where asked for, and keep the strong ETag", func(w *wire) {
		r := w.repo()
		want := r.write(map[api.Key]string{"a.md": strings.Repeat("compress me ", 1000)}).Checksum.ETag()
		for _, coding := range []string{"gzip", "zstd"} {
			request, err := http.NewRequest(http.MethodGet, w.target.URL+r.path(""), nil)
			if err != nil {
				w.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+w.target.Viewer)
			request.Header.Set("Accept-Encoding", coding)
			got, err := w.target.Client.Do(request)
			if err != nil {
				w.Fatal(err)
			}
			if err := got.Body.Close(); err != nil {
				w.Error(err)
			}
			if got.Header.Get("Content-Encoding") != coding || got.Header.Get("ETag") != want || got.Header.Get("Vary") != "Accept-Encoding" {
				w.Errorf("%s: %v", coding, got.Header)
			}
		}
	}},
}

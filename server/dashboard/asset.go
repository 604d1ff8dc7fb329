package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/teammem/teammem/web"
)

// assets are the files that browsers fetch.
type assets struct {
	address map[string]string // by name
	content map[string][]byte // by the last part of the address
}

// readAssets gives each file an address with its hash: what has one address is one
// content, for ever.
func readAssets() (assets, error) {
	a := assets{address: map[string]string{}, content: map[string][]byte{}}
	files, err := fs.ReadDir(web.Files, "static")
	if err != nil {
		return a, err
	}
	for _, f := range files {
		ext := path.Ext(f.Name())
		if assetTypes[ext] == "" {
			continue // a licence, a list of checksums
		}
		content, err := fs.ReadFile(web.Files, "static/"+f.Name())
		if err != nil {
			return a, err
		}
		sum := sha256.Sum256(content)
		hashed := strings.TrimSuffix(f.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		a.address[f.Name()] = "/static/" + hashed
		a.content[hashed] = content
	}
	return a, nil
}

var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func (h *Handler) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, ok := h.assets.content[name]
	if !ok {
		h.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(content)
}

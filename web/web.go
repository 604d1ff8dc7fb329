// Package web holds what the pages are made of: templates and the files that
// browsers fetch. It embeds them and nothing more; server/dashboard fills them in.
package web

import "embed"

// Files are templates/*.html and static/*.
//
//go:embed templates static
var Files embed.FS

package dashboard_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// axe finds what people who do not see, or do not use a mouse, would stumble over.
// From npm, axe-core 4.14.1, as it was published.
//
//go:embed testdata/axe.min.js
var axe string

// scheme has a page shown in light or dark.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	})
}

// enter signs a browser in by a link, as a person does.
func (b *team) enter(ctx context.Context, name string) {
	b.t.Helper()
	link := b.session(name, store.LinkSession)
	if err := chromedp.Do(ctx, chromedp.Navigate(b.URL+"/sign-in/link?t="+link), chromedp.WaitVisible("#use-link"), chromedp.Click("#use-link"), chromedp.WaitVisible("#user")); err != nil {
		b.t.Fatal(err)
	}
}

// stumble is what axe says of the page that is shown, one line for each kind. rule is
// the only one looked at; empty: all.
func stumble(t *testing.T, ctx context.Context, rule string) (all []string) {
	t.Helper()
	options := `{resultTypes: ["violations"], preload: false}`
	if rule != "" {
		options = `{resultTypes: ["violations"], preload: false, runOnly: {type: "rule", values: ["` + rule + `"]}}`
	}
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`axe.run(document, `+options+`).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html + " " + (n.any[0]?.message ?? "")) }))))`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	var found []struct {
		ID, Help string
		Nodes    []string
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s: %s\n\t%s", f.ID, f.Help, strings.Join(f.Nodes, "\n\t")))
	}
	return all
}

// sights are pages as an admin sees them, with names for their pictures.
func (b *team) sights() map[string]string {
	all := map[string]string{}
	for _, p := range b.places() {
		name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ReplaceAll(strings.ReplaceAll(p.path, "acme/widgets", ""), "id=prop_", ""), "-")
		if strings.HasPrefix(p.path, "/proposal") {
			name = "proposal"
			if strings.Contains(p.path, "edit") {
				name = "proposal-edit"
			}
		}
		name = strings.Trim(name, "-")
		if name == "" {
			name = "overview"
		}
		all[name] = p.path
	}
	return all
}

// TestSight: every page is without a violation of any of axe's rules in both schemes; on
// a phone its targets are large enough, and it is no wider than the screen.
func TestSight(t *testing.T) {
	ctx := browser(t)
	b := newTeam(t)
	b.seed()
	look := func(path string) {
		if err := chromedp.Do(ctx, scheme("light"), chromedp.EmulateViewport(1024, 900), chromedp.Navigate(b.URL+path), chromedp.Evaluate[chromedp.Void](axe+"; 0")); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, at := range []struct {
			scheme string
			width  int64
			rule   string
		}{{"light", 1024, ""}, {"dark", 1024, ""}, {"dark", 390, "target-size"}} {
			if err := chromedp.Do(ctx, scheme(at.scheme), chromedp.EmulateViewport(at.width, 900)); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for _, found := range stumble(t, ctx, at.rule) {
				t.Errorf("%s, %s, %d px: %s", path, at.scheme, at.width, found)
			}
			wide, err := chromedp.Run(ctx, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
			if err != nil || wide > at.width {
				t.Errorf("%s is %d px wide on a screen of %d, %v", path, wide, at.width, err)
			}
		}
	}
	look("/")
	b.enter(ctx, string(api.Admin))
	for _, path := range b.sights() {
		look(path)
	}
}

// TestScreenshots writes every page to the folder TEAMMEM_SCREENSHOTS, in both schemes
// and three widths, to be looked at by a person: make screenshots. Where no folder is
// named two pages show that it works.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("TEAMMEM_SCREENSHOTS")
	short := folder == ""
	if short {
		folder = t.TempDir()
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx := browser(t)
	empty := newTeam(t)
	b := newTeam(t)
	b.seed()
	b.tell()
	take := func(name, address string) {
		if err := chromedp.Do(ctx, chromedp.Navigate(address), chromedp.WaitReady("main")); err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		for _, dark := range []string{"light", "dark"} {
			for _, width := range []int64{390, 1024, 1600} {
				if err := chromedp.Do(ctx, scheme(dark), chromedp.EmulateViewport(width, 900)); err != nil {
					t.Fatal(err)
				}
				picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%s-%d.png", name, dark, width)), picture, 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	take("sign-in", b.URL+"/")
	empty.enter(ctx, string(api.Admin))
	take("first-run", empty.URL+"/")
	if short {
		return
	}
	b.enter(ctx, string(api.Admin))
	for name, path := range b.sights() {
		take(name, b.URL+path)
	}
	b.enter(ctx, string(api.Viewer))
	take("forbidden", b.URL+"/people")
}

// tell adds what makes pictures worth looking at: more of everything.
func (b *team) tell() {
	b.t.Helper()
	for i := range 12 {
		b.write(api.Member, fmt.Sprintf("notes/topic_%02d.md", i), fmt.Sprintf("---\nname: Topic %d\ndescription: what was found out about topic %d, in a sentence of usual length\ntype: reference\n---\n\nFound out.\n", i, i))
	}
	b.write(api.Member, "feedback_testing.md", strings.Replace(entries["feedback_testing.md"], "short ones first", "short ones first, always", 1))
}

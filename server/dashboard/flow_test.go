package dashboard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/teammem/teammem/api"
)

// within polls a script until it is true.
func within(t *testing.T, ctx context.Context, most time.Duration, what, script string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](script)); err != nil {
		text, _ := chromedp.Run(ctx, chromedp.Text("main"))
		t.Fatalf("%s: %v\n%s", what, err, text)
	}
}

// TestInABrowser: what people do, in a real browser: find by the palette, read, see what
// changed in place, restore with a reason and take it back; a second browser sees it
// without being touched.
func TestInABrowser(t *testing.T) {
	b := newTeam(t)
	b.seed()
	ctx := browser(t)
	b.enter(ctx, string(api.Member))
	other, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)

	// Found by the palette.
	if err := chromedp.Do(ctx, chromedp.Navigate(b.URL+"/repos"), chromedp.KeyEvent("/"), chromedp.WaitVisible("#palette-q"), chromedp.SendKeys("#palette-q", "thursd*")); err != nil {
		t.Fatal(err)
	}
	within(t, ctx, 20*time.Second, "the palette finds", `document.querySelector("#found mark")?.textContent === "Thursdays"`)
	if err := chromedp.Do(ctx, chromedp.KeyEvent("\ue015")); err != nil { // arrow down
		t.Fatal(err)
	}
	if _, err := chromedp.RunResponse(ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector("#found a").click()`)); err != nil {
		t.Fatal(err)
	}
	see(t, ctx, "#text", "Lee cuts it on Thursdays.")

	// The other one looks at the list, and is not touched again. Both tabs are shown, or
	// the one behind would hold no connection.
	if err := chromedp.Do(other, chromedp.Navigate(b.URL+"/repo?repo="+widgets), chromedp.WaitVisible("#entries")); err != nil {
		t.Fatal(err)
	}
	b.write(api.Maintainer, "brand_new.md", "Written while somebody looked.\n")
	within(t, other, 20*time.Second, "the second browser sees it", `document.querySelector("#entries")?.textContent.includes("brand_new.md") ?? false`)

	// History, a difference in place, restored and taken back.
	if err := chromedp.Do(ctx, chromedp.Navigate(b.URL+at("/history", "feedback_testing.md")), chromedp.Evaluate[chromedp.Void](`document.querySelector("#history a.button").click()`)); err != nil {
		t.Fatal(err)
	}
	within(t, ctx, 20*time.Second, "the difference opens in place", `document.querySelector("#diff-0 ins")?.textContent === "each"`)
	restore := `(() => { const form = document.querySelector("#history form"); form.querySelector("[name=reason]").value = "it was better"; form.requestSubmit(); })()`
	if _, err := chromedp.RunResponse(ctx, chromedp.Evaluate[chromedp.Void](restore)); err != nil {
		t.Fatal(err)
	}
	see(t, ctx, "#said", "Restored feedback_testing.md")
	see(t, ctx, "#text", "before a push")
	if _, err := chromedp.RunResponse(ctx, chromedp.Click("#undo")); err != nil {
		t.Fatal(err)
	}
	see(t, ctx, "#text", "before each push")
	if trail := b.as("admin").get("/audit?action=restore"); !strings.Contains(trail.text, "it was better") {
		t.Error("the audit does not know why it was restored")
	}

	// Keys go through lists, and out again.
	if err := chromedp.Do(ctx, chromedp.Navigate(b.URL+"/repo?repo="+widgets), chromedp.KeyEvent("j"), chromedp.KeyEvent("j")); err != nil {
		t.Fatal(err)
	}
	within(t, ctx, 5*time.Second, "j goes down", `document.querySelector("tr.at a")?.textContent === document.querySelectorAll("tr[data-row] a")[1].textContent && document.activeElement === document.querySelector("tr.at a")`)
}

// TestReviewInABrowser: a queue is cleared by keys; what a reviewer may not do is not
// shown to others.
func TestReviewInABrowser(t *testing.T) {
	b := newTeam(t)
	b.seed()
	ctx := browser(t)
	b.enter(ctx, string(api.Viewer))
	if err := chromedp.Do(ctx, chromedp.Navigate(b.URL+"/proposal?id="+b.proposals()["notes.md"].ID)); err != nil {
		t.Fatal(err)
	}
	if shown, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.querySelector("#approve, #reject, a[href^='/people'], a[href^='/audit']") !== null`)); err != nil || shown {
		t.Errorf("a viewer is shown what they may not do: %v", err)
	}
	b.enter(ctx, string(api.Maintainer))
	if err := chromedp.Do(ctx, chromedp.Navigate(b.URL+"/proposal?id="+b.proposals()["ops/release.md"].ID), chromedp.WaitVisible("#approve")); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.RunResponse(ctx, chromedp.KeyEvent("a")); err != nil {
		t.Fatal(err)
	}
	see(t, ctx, "#said", "Approved ops/release.md")
	see(t, ctx, "h1", "notes.md") // the next that waits
	if err := chromedp.Do(ctx, chromedp.KeyEvent("r"), chromedp.KeyEvent("no use")); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.RunResponse(ctx, chromedp.KeyEvent("\r")); err != nil {
		t.Fatal(err)
	}
	see(t, ctx, "#said", "Rejected notes.md")
	see(t, ctx, "#queue", "Nothing waits.")
	if _, err := chromedp.RunResponse(ctx, chromedp.Click("#undo")); err != nil {
		t.Fatal(err)
	}
	see(t, ctx, "#said", "notes.md of viewer waits again.")
}

// TestAdminInABrowser: the first client turns the first page into the live one; a token is
// made, shown once and revoked.
func TestAdminInABrowser(t *testing.T) {
	b := newTeam(t)
	ctx := browser(t)
	b.enter(ctx, string(api.Admin))
	see(t, ctx, "#welcome", "client login --server "+b.URL)
	b.push(b.tokens[api.Member], "lee-mbp", map[string]any{"entries": entries})
	within(t, ctx, 30*time.Second, "the first page comes to life", `document.querySelector("#glance") !== null`)

	if _, err := chromedp.RunResponse(ctx, chromedp.Navigate(b.URL+"/tokens")); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.RunResponse(ctx, chromedp.Click("#make-token")); err != nil {
		t.Fatal(err)
	}
	see(t, ctx, "#secret", "tm_")
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(`button[aria-label^="Revoke"]`)); err != nil {
		t.Fatal(err)
	}
	see(t, ctx, "#said", "is void, at once")
}

// TestOffline: a page says that the server is away, and goes on by itself.
func TestOffline(t *testing.T) {
	b := newTeam(t)
	b.seed()
	ctx := browser(t)
	b.enter(ctx, string(api.Member))
	if err := chromedp.Do(ctx, chromedp.Navigate(b.URL+"/repo?repo="+widgets), chromedp.WaitVisible("#entries")); err != nil {
		t.Fatal(err)
	}
	b.Close()
	within(t, ctx, 30*time.Second, "the page says that the server is away", `!document.querySelector("#offline").hidden`)
	b.Restart()
	within(t, ctx, 30*time.Second, "the page sees that it is back", `document.querySelector("#offline").hidden`)
	b.write(api.Member, "after.md", "Written when it was back.\n")
	within(t, ctx, 30*time.Second, "the page goes on", `document.querySelector("#entries").textContent.includes("after.md")`)
}

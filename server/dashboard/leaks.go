package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/leak"
	"github.com/teammem/teammem/server/store"
)

// leaksView is the answer to leaks: what a look through the history found, and what was
// withdrawn.
type leaksView struct {
	frame
	Scan       *api.Scan
	Scans      []store.Scan
	Done       int // percent
	Older      string
	Newer      string
	Redactions []store.Redaction
	More       int // redactions that are not shown
	Repo, Key  string
	Version    string
	Self       string
}

func showLeaks(v *visit) error {
	ctx := v.r.Context()
	v.Title = "Leak response"
	view := leaksView{Repo: v.query.Get("of"), Key: v.query.Get("key"), Version: v.query.Get("version"), Self: v.r.URL.RequestURI()}
	var err error
	if view.Scans, err = v.h.parts.DB.Scans(ctx, v.who.Org, 10); err != nil {
		return err
	}
	id := v.query.Get("scan")
	if id == "" && len(view.Scans) > 0 {
		id = view.Scans[0].UID
	}
	if id != "" {
		after, _ := strconv.Atoi(v.query.Get("cursor"))
		scan, err := v.h.parts.Leaks.Scan(ctx, v.caller, id, max(0, after), perPage)
		if err != nil {
			return err
		}
		view.Scan, view.Done = &scan, percent(int(scan.Versions.Done), int(scan.Versions.Of))
		if next := after + len(scan.Findings); next < scan.Found {
			view.Older = v.turned("cursor", strconv.Itoa(next))
		}
		if after > 0 {
			view.Newer = v.turned("cursor", "")
		}
	}
	all, err := v.h.parts.Leaks.Redactions(ctx, v.caller)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	view.Redactions = all[:min(len(all), perPage)]
	view.More = len(all) - len(view.Redactions)
	view.frame = v.frame
	return v.show("leaks", view)
}

func startScan(v *visit) error {
	ask := api.StartScan{Restart: v.form("restart") != ""}
	if name := strings.TrimSpace(v.form("repo")); name != "" {
		slug, err := api.ParseRepoSlug(name)
		if err != nil {
			return err
		}
		ask.Repo = v.who.Resolve(slug)
		if _, err := v.h.parts.Ledger.Head(v.r.Context(), v.caller, ask.Repo); err != nil {
			return err
		}
	}
	scan, err := v.h.parts.Leaks.StartScan(v.r.Context(), v.caller, ask, leak.ByServer)
	if err != nil {
		return err
	}
	return v.done(v.At("/leaks", "scan", scan.UID), said{Text: "The scan looks through everything that stands and stood; it goes on when you leave."})
}

// redactView names what goes before it goes.
type redactView struct {
	frame
	Ask      api.Redact
	Result   api.Redacted
	Entries  []string // the first of what goes
	Count    int
	Repos    int
	Current  int
	Sentence string // to type
}

func (v *visit) redactAsk() (api.Redact, error) {
	ask := api.Redact{
		Key: api.Key(strings.TrimSpace(v.form("key"))), Checksum: api.Checksum(strings.TrimSpace(v.form("checksum"))),
		Fingerprint: strings.TrimSpace(v.form("fingerprint")), Reason: strings.TrimSpace(v.form("reason")),
	}
	if ask.Key != "" {
		ask.Repo = api.RepoSlug(strings.TrimSpace(v.form("repo")))
		if version := strings.TrimSpace(v.form("version")); version != "" {
			n, err := strconv.ParseInt(version, 10, 64)
			if err != nil || n < 0 {
				return ask, notANumber("version", version)
			}
			ask.Version = api.Version(n)
		}
	}
	if err := ask.Check(); err != nil {
		return ask, err
	}
	ask.Repo = v.who.Resolve(ask.Repo)
	return ask, nil
}

// confirmRedact says what would go.
func confirmRedact(v *visit) error {
	ask, err := v.redactAsk()
	if err != nil {
		return err
	}
	ask.DryRun = true
	result, err := v.h.parts.Leaks.Redact(v.r.Context(), v.caller, ask, false, nil)
	if err != nil {
		return err
	}
	v.Title = "Withdraw for good"
	view := redactView{Ask: ask, Result: result, Count: len(result.Versions)}
	repos := map[api.RepoSlug]bool{}
	for _, r := range result.Versions {
		repos[r.Repo] = true
		if r.Current {
			view.Current++
		}
	}
	view.Repos = len(repos)
	view.Sentence = sentenceOf(result)
	view.frame = v.frame
	return v.show("redact", view)
}

// sentenceOf is what an administrator types to withdraw: it names how much goes.
func sentenceOf(r api.Redacted) string {
	return fmt.Sprintf("withdraw %d", len(r.Versions))
}

func redact(v *visit) error {
	ask, err := v.redactAsk()
	if err != nil {
		return err
	}
	dry := ask
	dry.DryRun = true
	would, err := v.h.parts.Leaks.Redact(v.r.Context(), v.caller, dry, false, nil)
	if err != nil {
		return err
	}
	if strings.TrimSpace(v.form("typed")) != sentenceOf(would) {
		return &fault{http.StatusBadRequest, "Nothing was withdrawn: what was typed is not " + sentenceOf(would) + ".", "Go back, look at what goes, and type it as it stands there."}
	}
	done, err := v.h.parts.Leaks.Redact(v.r.Context(), v.caller, ask, false, nil)
	if err != nil {
		return err
	}
	s := said{Text: fmt.Sprintf("Withdrawn: %s. Clients remove it with their next pull.", count(len(done.Versions), "version"))}
	if len(done.Remains) > 0 {
		s.Text += " Bytes may be left in: " + strings.Join(done.Remains, "; ") + "."
		s.Bad = true
	}
	return v.done(v.At("/leaks"), s)
}

package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/aymanbagabas/go-udiff"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
	"github.com/teammem/teammem/server/reading"
	"github.com/teammem/teammem/server/store"
)

// historyQuery is the query of a call on what a repo holds and held.
type historyQuery struct {
	values url.Values
	repo   api.RepoSlug
	key    api.Key // empty when none is named
	limit  int
	cursor string
}

// parseHistoryQuery reads the part that these calls have in common.
func parseHistoryQuery(c *call) (historyQuery, error) {
	values, err := parseQuery(c.r)
	if err != nil {
		return historyQuery{}, err
	}
	q := historyQuery{values: values}
	if q.repo, err = api.ParseRepoSlug(values.Get("repo")); err != nil {
		return q, err
	}
	q.repo = c.resolve(q.repo)
	if key := values.Get("key"); key != "" {
		if q.key, err = api.ParseKey(key); err != nil {
			return q, keyError(err)
		}
	}
	if q.limit, err = parseLimit(values); err != nil {
		return q, err
	}
	q.cursor = values.Get("cursor")
	return q, nil
}

// parseLimit reads how many are asked for.
func parseLimit(values url.Values) (int, error) {
	limit := values.Get("limit")
	if limit == "" {
		return api.DefaultPage, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 || n > api.MaxPage {
		return 0, badQuery(fmt.Sprintf("limit %q is not a number from 1 to %d", clip(limit), api.MaxPage))
	}
	return n, nil
}

func keyError(err error) error {
	if bad, ok := err.(*api.KeyError); ok {
		return bad.Wire()
	}
	return err
}

// version reads a version from the query; 0 when it is absent.
func (q historyQuery) version(name string) (api.Version, error) {
	text := q.values.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, badQuery(fmt.Sprintf("%s %q is not a version", name, clip(text)))
	}
	return api.Version(n), nil
}

// before reads the cursor of a list that goes back in versions.
func (q historyQuery) before() (api.Version, error) {
	if q.cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(q.cursor, 36, 63)
	if err != nil || n == 0 {
		return 0, badQuery("the cursor is not one of an earlier answer")
	}
	return api.Version(n), nil
}

func cursorBefore(v api.Version) string { return strconv.FormatInt(int64(v), 36) }

// needKey is for the calls on one entry.
func (q historyQuery) needKey() error {
	if q.key == "" {
		return badQuery("the query names no key")
	}
	return nil
}

// listEntries lists live entries without their texts. The cursor is the last key.
func (h *Handler) listEntries(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	view, err := h.ledger.View(c.r.Context(), c.caller, q.repo, 0)
	if err != nil {
		return err
	}
	list := api.EntryList{Entries: []api.EntryInfo{}}
	for _, row := range view.Live {
		if string(row.Key) <= q.cursor {
			continue
		}
		if len(list.Entries) == q.limit {
			list.NextCursor = string(list.Entries[q.limit-1].Key)
			break
		}
		list.Entries = append(list.Entries, api.EntryInfo{
			Key: row.Key, Checksum: row.Checksum, Bytes: row.Size, Modified: api.NewTime(row.Modified), Version: row.Version,
		})
	}
	return writeJSON(c, http.StatusOK, list)
}

// getEntry gives one entry as it stood at a version, or as it stands.
func (h *Handler) getEntry(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	if err := q.needKey(); err != nil {
		return err
	}
	version, err := q.version("version")
	if err != nil {
		return err
	}
	past, content, err := h.ledger.At(c.r.Context(), c.caller, q.repo, q.key, version)
	if err != nil {
		return err
	}
	if c.r.Method != http.MethodHead && !past.Deleted {
		head, err := h.ledger.Head(c.r.Context(), c.caller, q.repo)
		if err != nil {
			return err
		}
		h.figures.Read(head.ID, store.Row{Key: q.key})
	}
	return writeJSON(c, http.StatusOK, api.EntryAt{HistoryChange: ledger.WireChange(past), Content: string(content), Modified: api.NewTime(past.Modified)})
}

// listHistory lists changes, newest first. A page holds whole versions, so that a
// cursor need not name a place within one.
func (h *Handler) listHistory(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	past, next, err := h.pastPage(c, q)
	if err != nil {
		return err
	}
	list := api.HistoryList{Changes: make([]api.HistoryChange, 0, len(past)), NextCursor: next}
	gone, err := h.redactedAmong(c, past)
	if err != nil {
		return err
	}
	for _, p := range past {
		change := ledger.WireChange(p)
		if r, ok := gone[p.Checksum]; ok {
			redacted := wireRedaction(r)
			change.Redacted = &redacted
		}
		list.Changes = append(list.Changes, change)
	}
	return writeJSON(c, http.StatusOK, list)
}

// pastPage reads one page of changes, limit versions of them, and the cursor of
// the next.
func (h *Handler) pastPage(c *call, q historyQuery) (past []store.Past, next string, err error) {
	before, err := q.before()
	if err != nil {
		return nil, "", err
	}
	// One version more than asked for shows whether there is a next page.
	past, err = h.ledger.History(c.r.Context(), c.caller, q.repo, q.key, before, q.limit+1)
	if err != nil {
		return nil, "", err
	}
	versions := 0
	for i, p := range past {
		if i > 0 && past[i-1].Version == p.Version {
			continue
		}
		if versions == q.limit {
			return past[:i], cursorBefore(past[i-1].Version), nil
		}
		versions++
	}
	return past, "", nil
}

// listVersions lists versions with the keys they changed, newest first.
func (h *Handler) listVersions(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	past, next, err := h.pastPage(c, q)
	if err != nil {
		return err
	}
	list := api.VersionList{Versions: []api.VersionInfo{}, NextCursor: next}
	for _, p := range past {
		last := len(list.Versions) - 1
		if last < 0 || list.Versions[last].Version != p.Version {
			list.Versions = append(list.Versions, api.VersionInfo{
				Version: p.Version, At: api.NewTime(p.At), User: p.UserName, Client: p.Client, Written: []api.Key{}, Deleted: []api.Key{},
			})
			last++
		}
		info := &list.Versions[last]
		if p.Deleted {
			info.Deleted = append(info.Deleted, p.Key)
		} else {
			info.Written = append(info.Written, p.Key)
		}
	}
	return writeJSON(c, http.StatusOK, list)
}

// getDiff compares an entry at two versions. Without from it is the change that
// made the later one.
func (h *Handler) getDiff(c *call) error {
	q, err := parseHistoryQuery(c)
	if err != nil {
		return err
	}
	if err := q.needKey(); err != nil {
		return err
	}
	from, err := q.version("from")
	if err != nil {
		return err
	}
	to, err := q.version("to")
	if err != nil {
		return err
	}
	later, new, err := h.ledger.At(c.r.Context(), c.caller, q.repo, q.key, to)
	if err != nil {
		return err
	}
	if from == 0 {
		from = later.Version - 1
	}
	var old []byte
	if from > 0 {
		if _, old, err = h.ledger.At(c.r.Context(), c.caller, q.repo, q.key, from); err != nil && !isNoEntry(err) {
			return err
		}
	}
	diff := api.EntryDiff{Key: q.key, From: from, To: later.Version}
	switch view := q.values.Get("view"); view {
	case "":
	case "words":
		diff.Hunks = wireHunks(reading.Diff(string(old), string(new), udiff.DefaultContextLines))
	default:
		return badQuery(fmt.Sprintf("there is no view %q: want words, or no view for the unified form alone", clip(view)))
	}
	name := func(v api.Version) string { return fmt.Sprintf("%s@%d", q.key, v) }
	diff.Diff = udiff.Unified(name(from), name(later.Version), string(old), string(new))
	return writeJSON(c, http.StatusOK, diff)
}

// isNoEntry reports whether an error says that there was no entry then.
func isNoEntry(err error) bool {
	e, ok := api.AsError(err)
	return ok && e.Details.ErrorCode == api.ErrorCodeNoEntry
}

// restoreEntry puts an old text back, as a new version.
func (h *Handler) restoreEntry(c *call) error {
	return h.change(c, func(repo api.RepoSlug, body []byte) (ledger.Result, error) {
		ask, err := api.DecodeRestore(body)
		if err != nil {
			return ledger.Result{}, err
		}
		return h.ledger.Restore(c.r.Context(), c.caller, repo, ask)
	})
}

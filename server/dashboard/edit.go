package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/ledger"
)

// editView is an entry that is being edited, or a new one.
type editView struct {
	frame
	Repo     api.RepoSlug
	Key      api.Key
	New      bool
	Base     api.Checksum // what the editor saw; empty: nothing
	Content  string
	Reason   string
	CRLF     bool
	Checked  bool // the findings are those of the text
	Findings []ledger.Examined
	Refused  bool   // it cannot be saved as it is
	Held     bool   // it would wait for approval
	Problem  string // why it was not saved
	Theirs   []diffRow
	Conflict bool
}

func editEntry(v *visit) error {
	key, err := v.key()
	if err != nil {
		return err
	}
	past, content, err := v.h.parts.Ledger.At(v.r.Context(), v.caller, v.repo, key, 0)
	if err != nil {
		return err
	}
	view := editView{Key: key, Base: past.Checksum, Content: string(content), New: past.Deleted}
	if past.Deleted {
		view.Base = ""
	}
	return v.edit(http.StatusOK, view)
}

func newEntry(v *visit) error {
	return v.edit(http.StatusOK, editView{
		New: true, Key: api.Key(v.query.Get("key")), Content: "---\nname: \ndescription: \ntype: project\n---\n\n",
	})
}

func (v *visit) edit(status int, view editView) error {
	v.Title = "Edit " + string(view.Key)
	if view.New {
		v.Title = "New entry"
	}
	view.Repo = v.repo
	view.CRLF = strings.Contains(view.Content, "\r\n")
	view.frame = v.frame
	v.h.render(v.w, v.r, status, "edit", view)
	return nil
}

// edited reads the form of an edit. A browser sends lines with CRLF, whatever they had.
func (v *visit) edited() (editView, error) {
	view := editView{
		Content: unix(v.form("content")), Base: api.Checksum(v.form("base")), Reason: strings.TrimSpace(v.form("reason")), New: v.form("new") != "",
		Key: api.Key(strings.TrimSpace(v.form("key"))),
	}
	if v.form("crlf") != "" {
		view.Content = strings.ReplaceAll(view.Content, "\n", "\r\n")
	}
	// A form whose text was cut off on the way must not be saved.
	if v.form("whole") == "" {
		return view, &fault{http.StatusBadRequest, "The form did not arrive whole.", "Go back and send it again."}
	}
	if _, err := api.ParseKey(string(view.Key)); err != nil {
		return view, err
	}
	return view, nil
}

// examine holds the text against the policy, as a push would.
func (v *visit) examine(view *editView) error {
	found, err := v.h.parts.Ledger.Examine(v.r.Context(), v.caller, view.Key, []byte(view.Content))
	if err != nil {
		return err
	}
	view.Checked = true
	view.Findings = slices.DeleteFunc(found, func(f ledger.Examined) bool { return f.Verdict == api.VerdictAccept })
	for _, f := range view.Findings {
		view.Refused = view.Refused || f.Verdict == api.VerdictRefuse
		view.Held = view.Held || f.Verdict == api.VerdictHold
	}
	policy, err := v.h.parts.Ledger.Policy(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	view.Held = view.Held || policy.Approvals(v.caller.Role, view.Key) > 0
	return nil
}

// checkEntry shows the scanner's verdict and saves nothing.
func checkEntry(v *visit) error {
	view, err := v.edited()
	if err != nil {
		return v.badKey(view, err)
	}
	if err := v.examine(&view); err != nil {
		return err
	}
	return v.edit(http.StatusOK, view)
}

// badKey shows what is wrong with a new entry's name beside its text.
func (v *visit) badKey(view editView, err error) error {
	bad, ok := err.(*api.KeyError)
	if !ok {
		return err
	}
	view.Problem = sentence(bad.Error())
	return v.edit(http.StatusBadRequest, view)
}

// saveEntry writes the text on the base that its editor saw.
func saveEntry(v *visit) error {
	view, err := v.edited()
	if err != nil {
		return v.badKey(view, err)
	}
	ask := api.Edit{Key: view.Key, Content: view.Content, Reason: view.Reason}
	if view.Base != "" {
		ask.Base = &view.Base
	}
	if err := api.CheckNote(ask.Reason); err != nil {
		return &fault{http.StatusBadRequest, sentence(err.Error()), "Go back and say it shorter."}
	}
	before, _, err := v.h.parts.Ledger.At(v.r.Context(), v.caller, v.repo, view.Key, 0)
	if err != nil && !isNoEntry(err) {
		return err
	}
	result, err := v.h.parts.Ledger.Edit(v.r.Context(), v.caller, v.repo, ask)
	if e, ours := api.AsError(err); ours {
		switch e.Code {
		case api.Conflict:
			return v.conflict(view, e)
		case api.Refused, api.InvalidRequest, api.RequestTooLarge:
			view.Problem = sentence(e.Message)
			if err := v.examine(&view); err != nil {
				return err
			}
			return v.edit(e.HTTPStatus(), view)
		}
	}
	if err != nil {
		return err
	}
	s := said{Text: fmt.Sprintf("Saved %s as version %d.", view.Key, result.Version)}
	switch {
	case len(result.Held) > 0:
		s.Text = fmt.Sprintf("%s waits for approval: %s.", view.Key, result.Held[0].Reason)
	case !result.Changed:
		s.Text = "Nothing was different, so nothing was saved."
	case before.Version > 0 && !before.Deleted:
		s.Undo = v.At("/entry/restore", "repo", v.repo)
		s.Fields = [][2]string{{"key", string(view.Key)}, {"version", fmt.Sprint(before.Version)}, {"base", string(api.ChecksumOfString(view.Content))}, {"reason", "an edit taken back"}}
	default:
		s.Undo = v.At("/entry/delete", "repo", v.repo)
		s.Fields = [][2]string{{"key", string(view.Key)}, {"base", string(api.ChecksumOfString(view.Content))}}
	}
	return v.done(v.At("/entry", "repo", v.repo, "key", view.Key), s)
}

// conflict shows an edit again with what somebody else made of the entry meanwhile; the
// next save is on that.
func (v *visit) conflict(view editView, e *api.Error) error {
	view.Conflict = true
	view.Problem = quicker(e) + " What you typed is kept here; below is what you see differently from them."
	past, content, err := v.h.parts.Ledger.At(v.r.Context(), v.caller, v.repo, view.Key, 0)
	if err != nil && !isNoEntry(err) {
		return err
	}
	view.Base, view.New = "", err != nil || past.Deleted
	if !view.New {
		view.Base = past.Checksum
	}
	view.Theirs = diffRows(string(content), view.Content)
	return v.edit(http.StatusPreconditionFailed, view)
}

func (v *visit) formKey() (api.Key, error) {
	key, err := api.ParseKey(v.form("key"))
	if bad, ok := err.(*api.KeyError); ok {
		return "", bad.Wire()
	}
	return key, err
}

func deleteEntry(v *visit) error {
	key, err := v.formKey()
	if err != nil {
		return err
	}
	before, _, err := v.h.parts.Ledger.At(v.r.Context(), v.caller, v.repo, key, 0)
	if err != nil {
		return err
	}
	result, err := v.h.parts.Ledger.Remove(v.r.Context(), v.caller, v.repo, key, api.Checksum(v.form("base")), strings.TrimSpace(v.form("reason")))
	if err != nil {
		return v.tellQuicker(err)
	}
	s := said{
		Text: fmt.Sprintf("Deleted %s. It goes from every machine that has not changed it; the history keeps it.", key),
		Undo: v.At("/entry/restore", "repo", v.repo), Fields: [][2]string{{"key", string(key)}, {"version", fmt.Sprint(before.Version)}, {"reason", "a deletion taken back"}},
	}
	if len(result.Held) > 0 {
		s = said{Text: fmt.Sprintf("Deleting %s waits for approval: %s.", key, result.Held[0].Reason)}
	}
	return v.done(v.back("/repo", "repo", v.repo), s)
}

// tellQuicker is a conflict as people are told it.
func (v *visit) tellQuicker(err error) error {
	if e, ours := api.AsError(err); ours && e.Code == api.Conflict {
		return &fault{http.StatusPreconditionFailed, quicker(e), "Look at what stands there now, and decide again."}
	}
	return err
}

func moveEntry(v *visit) error {
	key, err := v.formKey()
	if err != nil {
		return err
	}
	to, err := api.ParseKey(strings.TrimSpace(v.form("to")))
	if bad, ok := err.(*api.KeyError); ok {
		return bad.Wire()
	}
	ask := api.Move{Key: key, To: to, Reason: strings.TrimSpace(v.form("reason"))}
	if base := api.Checksum(v.form("base")); base != "" {
		ask.Base = &base
	}
	result, err := v.h.parts.Ledger.Move(v.r.Context(), v.caller, v.repo, ask)
	if err != nil {
		return v.tellQuicker(err)
	}
	s := said{
		Text: fmt.Sprintf("Moved %s to %s. Links to the old name are for people to follow up: the index page lists them.", key, to),
		Undo: v.At("/entry/move", "repo", v.repo), Fields: [][2]string{{"key", string(to)}, {"to", string(key)}, {"reason", "a move taken back"}},
	}
	if len(result.Held) > 0 {
		return v.done(v.At("/entry", "repo", v.repo, "key", key), said{Text: fmt.Sprintf("Moving %s waits for approval: %s.", key, result.Held[0].Reason)})
	}
	return v.done(v.At("/entry", "repo", v.repo, "key", to), s)
}

// restoreEntry puts the text of an earlier version back, as a new one.
func restoreEntry(v *visit) error {
	key, err := v.formKey()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(v.form("version"), 10, 64)
	if err != nil || n < 1 {
		return notANumber("version", v.form("version"))
	}
	before, _, err := v.h.parts.Ledger.At(v.r.Context(), v.caller, v.repo, key, 0)
	if err != nil && !isNoEntry(err) {
		return err
	}
	ask := api.Restore{Key: key, Version: api.Version(n), Reason: strings.TrimSpace(v.form("reason"))}
	if err := api.CheckNote(ask.Reason); err != nil {
		return &fault{http.StatusBadRequest, sentence(err.Error()), "Go back and say it shorter."}
	}
	if base := api.Checksum(v.form("base")); base != "" {
		ask.Base, ask.OnBase = &base, true
	}
	result, err := v.h.parts.Ledger.Restore(v.r.Context(), v.caller, v.repo, ask)
	if err != nil {
		return v.tellQuicker(err)
	}
	s := said{Text: fmt.Sprintf("Restored %s as it stood at version %d: it is version %d now.", key, n, result.Version)}
	switch {
	case len(result.Held) > 0:
		s.Text = fmt.Sprintf("Restoring %s waits for approval: %s.", key, result.Held[0].Reason)
	case !result.Changed:
		s.Text = "It stands so already, so nothing was changed."
	case before.Version > 0:
		s.Undo = v.At("/entry/restore", "repo", v.repo)
		s.Fields = [][2]string{{"key", string(key)}, {"version", fmt.Sprint(before.Version)}, {"reason", "a restore taken back"}}
	}
	return v.done(v.back("/entry", "repo", v.repo, "key", key), s)
}

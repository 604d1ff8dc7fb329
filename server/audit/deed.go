package audit

import (
	"bytes"
	"encoding/json"
)

// Actions of an organization's chain. Those of one kind begin alike.
const (
	ActionSignIn       = "signin"
	ActionSignOut      = "signout"
	ActionRefused      = "refused"
	ActionMemberSet    = "member.set"
	ActionMemberRemove = "member.remove"
	ActionLink         = "link.create" // that signs somebody in
	ActionInvite       = "invitation.set"
	ActionUninvite     = "invitation.remove"
	ActionGrantSet     = "grant.set"
	ActionGrantRemove  = "grant.remove"
	ActionTokenCreate  = "token.create"
	ActionTokenRevoke  = "token.revoke"
	ActionOrgCreate    = "organization.create"
	ActionLimits       = "organization.set"
	ActionOrgExport    = "organization.export"
	ActionOrgImport    = "organization.import"
	ActionRename       = "repo.rename"
	ActionForgetName   = "repo.forget"
	ActionPolicy       = "policy.set"
	ActionAccept       = "policy.accept" // of a finding
	ActionForgetAccept = "policy.forget"
	ActionExport       = "audit.export"
	ActionPrune        = "audit.prune"
	ActionCheckpoint   = "checkpoint"
	ActionVacuum       = "history.vacuum"
)

// Deed is the subject of a record of an organization's chain: by what the doer was
// known and from where, what it was done to, and what that was before and after.
type Deed struct {
	How    string `json:"how,omitempty"`  // token, provider, session, command
	From   string `json:"from,omitempty"` // address
	Of     string `json:"of,omitempty"`   // the member, token, grant or repo concerned
	Repo   string `json:"repo,omitempty"`
	Why    string `json:"why,omitempty"` // an error code
	Count  int    `json:"count,omitempty"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// Subject writes the deed as a record keeps it, see [Push.Subject].
func (d Deed) Subject() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// Strings, numbers and maps of these: there is nothing here that JSON cannot hold.
	_ = e.Encode(d)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Checkpoint says of a chain which record stood at a place. Chain is its number,
// which it keeps when its repo is given another name; 0 is the organization's own.
type Checkpoint struct {
	Chain   int64  `json:"chain"`
	Repo    string `json:"repo"`
	Version int64  `json:"version"`
	Hash    string `json:"hash"`
}

// Brought is what the record of an organization that came from another database says:
// what was added to the numbers of its repos' chains, which the records before name.
type Brought struct {
	Shift int64  `json:"shift"`
	ID    string `json:"id"` // of the organization, from now on
}

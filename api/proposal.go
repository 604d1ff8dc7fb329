package api

// ProposalState is what became of a proposal.
type ProposalState string

// The states.
const (
	ProposalOpen      ProposalState = "open"
	ProposalApproved  ProposalState = "approved"
	ProposalRejected  ProposalState = "rejected"
	ProposalWithdrawn ProposalState = "withdrawn"
)

// ProposalStates lists them.
var ProposalStates = []ProposalState{ProposalOpen, ProposalApproved, ProposalRejected, ProposalWithdrawn}

// Held is a key of a push that was not written for everybody.
type Held struct {
	Key      Key    `json:"key"`
	Proposal string `json:"proposal"` // its id
	// State is open for what waits, and rejected where exactly these bytes were
	// rejected before, so that nothing was done.
	State  ProposalState `json:"state"`
	Rule   string        `json:"rule,omitempty"`  // that found what it is held for
	Class  Class         `json:"class,omitempty"` // of that
	Line   int           `json:"line,omitempty"`
	Reason string        `json:"reason"` // for people
}

// Approval is one approval of a proposal.
type Approval struct {
	User string `json:"user"`
	At   Time   `json:"at"`
}

// Proposal is a change of one key that waits, or waited, for approval.
type Proposal struct {
	ID       string         `json:"id"`
	Repo     RepoSlug       `json:"repo"`
	Key      Key            `json:"key"`
	Deleted  bool           `json:"deleted"` // the proposal is to delete it
	State    ProposalState  `json:"state"`
	Author   string         `json:"author"`
	Client   string         `json:"client"`
	At       Time           `json:"at"`
	Version  Version        `json:"version"`  // that made it
	Checksum Checksum       `json:"checksum"` // of the text; of a deletion: of what shall be deleted
	Base     *Checksum      `json:"base"`     // what was live then; null for nothing
	Bytes    int            `json:"bytes"`
	Why      string         `json:"why"` // it is held, for people
	Findings []EntryFinding `json:"findings"`
	Needed   int            `json:"needed"` // approvals
	Approved []Approval     `json:"approvals"`
	Closed   *Time          `json:"closed"` // null: open
	ClosedBy string         `json:"closedBy,omitempty"`
	Reason   string         `json:"reason,omitempty"` // it was rejected or withdrawn for
	// What only the proposal by itself has, not the list.
	Content  *string   `json:"content,omitempty"`  // the text proposed; absent for a deletion
	Current  *string   `json:"current,omitempty"`  // the text that everybody sees now; absent for none
	Standing *Checksum `json:"standing,omitempty"` // of that text
	Diff     string    `json:"diff,omitempty"`     // from current to content
}

// ProposalList is one page of proposals, newest first.
type ProposalList struct {
	Proposals  []Proposal `json:"proposals"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// Approve is the body of an approval. It binds to the checksum of what was read,
// and to the base: what everybody sees must still be what the proposal was made
// from, or be named here.
type Approve struct {
	Checksum Checksum
	Base     *Checksum // what the approver saw standing; see OnBase
	OnBase   bool      // Base is named; nil means nothing
	Content  *string   // edited by the approver; nil: as proposed
}

// DecodeApprove reads the body of an approval strictly.
func DecodeApprove(data []byte) (a Approve, err error) {
	r := jsonReader{data: data}
	err = r.text(func() error {
		return r.wantObject(func(name string) (err error) {
			switch name {
			case "checksum":
				a.Checksum, err = r.wantChecksum()
			case "baseChecksum":
				a.OnBase = true
				err = r.optional(func() error {
					base, err := r.wantChecksum()
					a.Base = &base
					return err
				})
			case "content":
				err = r.optional(func() error {
					content, err := r.wantString()
					a.Content = &content
					return err
				})
			default:
				err = r.skip()
			}
			return err
		})
	})
	if err == nil && a.Checksum == "" {
		err = r.shape("checksum is missing: name what was read and is approved")
	}
	return a, err
}

// DecodeReject reads the reason of a rejection.
func DecodeReject(data []byte) (reason string, err error) {
	r := jsonReader{data: data}
	err = r.text(func() error {
		return r.wantObject(func(name string) (err error) {
			if name != "reason" {
				return r.skip()
			}
			reason, err = r.wantString()
			return err
		})
	})
	if err == nil {
		if bad := CheckReason(reason); bad != nil {
			err = r.shape(bad.Error() + ": the author is told it")
		}
	}
	return reason, err
}

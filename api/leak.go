package api

import "errors"

// Redaction is a content that was withdrawn, without the content.
type Redaction struct {
	Checksum Checksum `json:"checksum"`
	At       Time     `json:"at"`
	User     string   `json:"user"`
	Reason   string   `json:"reason"`
}

// RedactionList answers a GET of the redactions of an organization, the oldest first.
type RedactionList struct {
	Redactions []Redaction `json:"redactions"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// Redact asks to withdraw a content: that of one version of an entry, that of a
// checksum, or all that hold a fingerprint. Exactly one is named.
type Redact struct {
	Repo        RepoSlug `json:"repo,omitempty"` // with Key
	Key         Key      `json:"key,omitempty"`
	Version     Version  `json:"version,omitempty"` // with Key; 0: as it stands
	Checksum    Checksum `json:"checksum,omitempty"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Reason      string   `json:"reason"`
	DryRun      bool     `json:"dryRun,omitempty"`
}

// Redacted is what a redaction came to, or with DryRun what it would.
type Redacted struct {
	DryRun    bool             `json:"dryRun"`
	Checksums []Checksum       `json:"checksums"`
	Versions  []RedactedRecord `json:"versions"`
	// Rewritten says that the database's files were written anew, and Remains where
	// bytes may be left all the same.
	Rewritten bool     `json:"rewritten"`
	Remains   []string `json:"remains"`
}

// RedactedRecord is one version, or proposal, whose text goes. Its row stays.
type RedactedRecord struct {
	Repo     RepoSlug `json:"repo"`
	Key      Key      `json:"key"`
	Version  Version  `json:"version"`
	User     string   `json:"user"`
	Client   string   `json:"client"`
	At       Time     `json:"at"`
	Current  bool     `json:"current"`            // it stood when it was withdrawn
	Proposal string   `json:"proposal,omitempty"` // its id
}

// MaxReason bounds why something was withdrawn.
const MaxReason = 500

// DecodeRedact reads and checks a request to redact.
func DecodeRedact(data []byte) (Redact, error) {
	var ask Redact
	r := jsonReader{data: data}
	err := r.text(func() error {
		return r.wantObject(func(name string) (err error) {
			texts := map[string]*string{
				"repo": (*string)(&ask.Repo), "key": (*string)(&ask.Key), "checksum": (*string)(&ask.Checksum),
				"fingerprint": &ask.Fingerprint, "reason": &ask.Reason,
			}
			switch {
			case texts[name] != nil:
				*texts[name], err = r.wantString()
			case name == "version":
				ask.Version, err = r.wantVersion()
			case name == "dryRun":
				ask.DryRun, err = r.wantBool()
			default:
				err = r.skip()
			}
			return err
		})
	})
	if err == nil {
		err = ask.Check()
	}
	return ask, err
}

// Check holds a request against what it must name.
func (ask *Redact) Check() error {
	bad := func(why string) error {
		return &Error{Code: InvalidRequest, Message: why, Details: Details{ErrorCode: ErrorCodeBadBody}}
	}
	named := 0
	for _, is := range []bool{ask.Key != "", ask.Checksum != "", ask.Fingerprint != ""} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		return bad("name one of key, checksum and fingerprint, and only one")
	case ask.Reason == "" || len(ask.Reason) > MaxReason:
		return bad("give a reason, of at most 500 bytes: it is what readers of the history are told")
	case ask.Key != "" && ask.Repo == "":
		return bad("a key is one of a repo: name the repo")
	}
	if ask.Checksum != "" {
		if _, err := ParseChecksum(string(ask.Checksum)); err != nil {
			return bad("the checksum is not one: want sha256: and 64 hex digits")
		}
	}
	if ask.Key != "" {
		slug, err := ParseRepoSlug(string(ask.Repo))
		if err != nil {
			return err
		}
		ask.Repo = slug
		if _, err := ParseKey(string(ask.Key)); err != nil {
			var bad *KeyError
			if errors.As(err, &bad) {
				return bad.Wire()
			}
			return err
		}
	}
	return nil
}

// ScanState is how far a scan is.
type ScanState string

// The states.
const (
	ScanRunning ScanState = "running"
	ScanDone    ScanState = "done"
	ScanStopped ScanState = "stopped" // another one was begun instead
)

// StartScan asks for a scan of all that an organization holds and held.
type StartScan struct {
	Repo    RepoSlug `json:"repo,omitempty"` // of this repo only
	Restart bool     `json:"restart,omitempty"`
}

// DecodeStartScan reads a request for a scan; an empty object asks for everything.
func DecodeStartScan(data []byte) (StartScan, error) {
	var ask StartScan
	r := jsonReader{data: data}
	err := r.text(func() error {
		return r.wantObject(func(name string) (err error) {
			switch name {
			case "repo":
				ask.Repo, err = r.wantSlug()
			case "restart":
				ask.Restart, err = r.wantBool()
			default:
				err = r.skip()
			}
			return err
		})
	})
	return ask, err
}

// Scan is a look through the history of an organization, with what it found so far.
type Scan struct {
	ID       string        `json:"id"`
	Repo     RepoSlug      `json:"repo,omitempty"` // the only one looked at
	State    ScanState     `json:"state"`
	User     string        `json:"user"`
	Started  Time          `json:"started"`
	Updated  Time          `json:"updated"`
	Versions Progress      `json:"versions"`
	Texts    int64         `json:"texts"` // looked at so far
	Bytes    int64         `json:"bytes"` // of them
	Found    int           `json:"found"`
	Findings []ScanFinding `json:"findings"`
	// NextCursor asks for the findings that follow.
	NextCursor string `json:"next_cursor,omitempty"`
}

// Progress is how much of what is done.
type Progress struct {
	Done int64 `json:"done"`
	Of   int64 `json:"of"`
}

// ScanFinding is one value found in one version, or proposal, without the value.
type ScanFinding struct {
	Repo        RepoSlug `json:"repo"`
	Key         Key      `json:"key"`
	Version     Version  `json:"version"`
	Checksum    Checksum `json:"checksum"` // of the text that holds it
	Rule        string   `json:"rule"`
	Class       Class    `json:"class"`
	Verdict     Verdict  `json:"verdict"` // of the policy in force
	Line        int      `json:"line"`
	Fingerprint string   `json:"fingerprint"`
	User        string   `json:"user"` // who wrote it
	Client      string   `json:"client"`
	At          Time     `json:"at"`
	Current     bool     `json:"current"`            // it stands still
	Proposal    string   `json:"proposal,omitempty"` // its id: only its author was served it
	// Pulled are the clients that were served the repo while it held this, as far as
	// can be told from the oldest and newest version that each was given.
	Pulled []PulledBy `json:"pulled"`
}

// PulledBy is a client that was served a repo.
type PulledBy struct {
	User    string  `json:"user"`
	Token   string  `json:"token,omitempty"` // its id
	Client  string  `json:"client"`
	Version Version `json:"version"` // the newest it was given
	At      Time    `json:"at"`
}

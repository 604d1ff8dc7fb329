package api

import "encoding/json"

// Page bounds of the lists under /api/v1.
const (
	DefaultPage = 50
	MaxPage     = 500
)

// EntryInfo is a live entry without its text.
type EntryInfo struct {
	Key      Key      `json:"key"`
	Checksum Checksum `json:"checksum"`
	Bytes    int      `json:"bytes"`
	Modified Time     `json:"modified"`
	Version  Version  `json:"version"` // of its last change
}

// EntryList is one page of a repo's live entries, in key order.
type EntryList struct {
	Entries    []EntryInfo `json:"entries"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// EntryAt is one entry as it stood at a version, and the change that made it so.
type EntryAt struct {
	HistoryChange
	Content  string `json:"content"` // empty when Deleted
	Modified Time   `json:"modified"`
}

// HistoryChange is one change of one key. Author and machine are as they were
// named then.
type HistoryChange struct {
	Key      Key      `json:"key"`
	Version  Version  `json:"version"`
	At       Time     `json:"at"`
	User     string   `json:"user"`
	Client   string   `json:"client"`
	Deleted  bool     `json:"deleted"`
	Checksum Checksum `json:"checksum"`           // of the content; of a deletion: of what was deleted
	Previous Checksum `json:"previous,omitempty"` // what was live before; absent for nothing
	Bytes    int      `json:"bytes"`
	// Redacted says that the text was withdrawn: this row is all there is of it.
	Redacted *Redaction `json:"redacted,omitempty"`
}

// HistoryList is one page of changes, newest first.
type HistoryList struct {
	Changes    []HistoryChange `json:"changes"`
	NextCursor string          `json:"next_cursor,omitempty"`
}

// VersionInfo is one version of a repo, with the keys it changed.
type VersionInfo struct {
	Version Version `json:"version"`
	At      Time    `json:"at"`
	User    string  `json:"user"`
	Client  string  `json:"client"`
	Written []Key   `json:"written"`
	Deleted []Key   `json:"deleted"`
}

// VersionList is one page of versions, newest first.
type VersionList struct {
	Versions   []VersionInfo `json:"versions"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

// EntryDiff is what changed in an entry from one version to another, line by line
// in the unified form.
type EntryDiff struct {
	Key  Key     `json:"key"`
	From Version `json:"from"`
	To   Version `json:"to"`
	Diff string  `json:"diff"`
	// Hunks say the same by words within lines, where that was asked for.
	Hunks []DiffHunk `json:"hunks,omitempty"`
}

// Restore is the body of a restore: the key gets the text that it had at Version,
// as a new version of the repo; where it was deleted then it is deleted again.
type Restore struct {
	Key     Key
	Version Version
	// Base must be what stands there now, nil for nothing, when OnBase is set.
	// Otherwise the restore takes whatever stands there.
	Base   *Checksum
	OnBase bool
	Reason string // for the audit; may be empty
}

// restoreBody is a Restore on the wire.
type restoreBody struct {
	Key     Key              `json:"key"`
	Version Version          `json:"version"`
	Base    *json.RawMessage `json:"baseChecksum,omitempty"`
	Reason  string           `json:"reason,omitempty"`
}

// MarshalJSON writes baseChecksum only when the restore names one.
func (r Restore) MarshalJSON() ([]byte, error) {
	body := restoreBody{Key: r.Key, Version: r.Version, Reason: r.Reason}
	if r.OnBase {
		base, err := json.Marshal(r.Base)
		if err != nil {
			return nil, err
		}
		body.Base = (*json.RawMessage)(&base)
	}
	return json.Marshal(body)
}

// DecodeRestore reads the body of a restore strictly, see [ParseJSON].
func DecodeRestore(data []byte) (Restore, error) {
	parsed, err := ParseJSON(data)
	if err != nil {
		return Restore{}, err
	}
	fields, ok := parsed.(map[string]any)
	if !ok {
		return Restore{}, badRestore("the body is not an object")
	}
	var r Restore
	key, ok := fields["key"].(string)
	if !ok {
		return Restore{}, badRestore("key is missing, or not a string")
	}
	if r.Key, err = ParseKey(key); err != nil {
		return Restore{}, err.(*KeyError).Wire()
	}
	number, ok := fields["version"].(json.Number)
	version, err := number.Int64()
	if !ok || err != nil || version < 1 {
		return Restore{}, badRestore("version is missing, or not a version")
	}
	r.Version = Version(version)
	if reason, named := fields["reason"]; named && reason != nil {
		if r.Reason, ok = reason.(string); !ok {
			return Restore{}, badRestore("reason is not a string")
		}
		if err := CheckNote(r.Reason); err != nil {
			return Restore{}, badRestore(err.Error())
		}
	}
	base, named := fields["baseChecksum"]
	r.OnBase = named
	if text, ok := base.(string); ok {
		sum, err := ParseChecksum(text)
		if err != nil {
			return Restore{}, badRestore("baseChecksum: " + err.Error())
		}
		r.Base = &sum
	} else if base != nil {
		return Restore{}, badRestore("baseChecksum is neither a checksum nor null")
	}
	return r, nil
}

func badRestore(why string) *Error {
	return &Error{Code: InvalidRequest, Message: why, Details: Details{ErrorCode: ErrorCodeBadBody}}
}

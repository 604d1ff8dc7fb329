package api

import "encoding/json"

// AuditRecord is one record of an audit chain. Its hash covers its fields and the
// hash of the record before it.
type AuditRecord struct {
	Chain    string          `json:"chain"` // a repo, or "organization"
	Seq      int64           `json:"seq"`
	At       Time            `json:"at"`
	Action   string          `json:"action"`
	User     string          `json:"user"`
	Token    string          `json:"token,omitempty"` // its id
	Client   string          `json:"client,omitempty"`
	Subject  json.RawMessage `json:"subject"` // what was done, and how and from where
	Previous string          `json:"previous"`
	Hash     string          `json:"hash"`
}

// AuditList is a page of records, newest first.
type AuditList struct {
	Records    []AuditRecord `json:"records"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code says what kind of refusal an error is. On the wire it is error.type.
type Code string

// The codes, each with the status it travels under (protocol.md, section 1.4).
const (
	InvalidRequest  Code = "invalid_request_error" // 400, 405
	Authentication  Code = "authentication_error"  // 401
	Permission      Code = "permission_error"      // 403
	NotFound        Code = "not_found_error"       // 404
	Conflict        Code = "conflict_error"        // 412
	RequestTooLarge Code = "request_too_large"     // 413
	Refused         Code = "refused_error"         // 422
	RateLimit       Code = "rate_limit_error"      // 429
	Overloaded      Code = "overloaded_error"      // 503
	Internal        Code = "api_error"             // 500
)

var statusOfCode = map[Code]int{
	InvalidRequest:  http.StatusBadRequest,
	Authentication:  http.StatusUnauthorized,
	Permission:      http.StatusForbidden,
	NotFound:        http.StatusNotFound,
	Conflict:        http.StatusPreconditionFailed,
	RequestTooLarge: http.StatusRequestEntityTooLarge,
	Refused:         http.StatusUnprocessableEntity,
	RateLimit:       http.StatusTooManyRequests,
	Overloaded:      http.StatusServiceUnavailable,
	Internal:        http.StatusInternalServerError,
}

// Status is the HTTP status the code travels under.
func (c Code) Status() int {
	if status, ok := statusOfCode[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// CodeOfStatus is the way back, for an answer whose body is not ours (a proxy's
// page, say).
func CodeOfStatus(status int) Code {
	switch {
	case status == http.StatusConflict:
		return Conflict
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout,
		// A server of ours sends neither of these; proxies do, and mean "later".
		status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return Overloaded
	}
	for code, s := range statusOfCode {
		if s == status {
			return code
		}
	}
	if status >= 400 && status < 500 {
		return InvalidRequest
	}
	return Internal
}

// Temporary reports whether the same request may succeed later without any
// change of it.
func (c Code) Temporary() bool {
	return c == RateLimit || c == Overloaded || c == Internal
}

// Error codes that stand in details.error_code, for programs.
const (
	ErrorCodeTooManyEntries = "team_memory_too_many_entries"
	ErrorCodeEntryTooLarge  = "team_memory_entry_too_large"
	ErrorCodeBodyTooLarge   = "team_memory_body_too_large"
	ErrorCodeConflict       = "team_memory_conflict"
	ErrorCodeBadKey         = "team_memory_bad_key"
	ErrorCodeKeyTwin        = "team_memory_key_twin"
	ErrorCodeKeyDirectory   = "team_memory_key_directory"
	ErrorCodeKeyTwice       = "team_memory_key_twice" // written and deleted in one PUT
	ErrorCodeBadRepo        = "team_memory_bad_repo"
	ErrorCodeBadJSON        = "bad_json"
	ErrorCodeBadBody        = "bad_body" // JSON, but not of the shape asked for
	ErrorCodeBadQuery       = "bad_query"
	ErrorCodeBadPrecond     = "bad_precondition"
	ErrorCodeNoMemory       = "team_memory_none" // 404: this repo has no memory yet
	ErrorCodeNoEntry        = "no_entry"
	ErrorCodeForgotten      = "history_forgotten" // 404: retention took the text; version: up to which some have gone
	ErrorCodeNoRoute        = "no_route"
	ErrorCodeMethod         = "method_not_allowed"
	ErrorCodeContentCoding  = "content_encoding"
	ErrorCodeTokenMissing   = "token_missing"
	ErrorCodeTokenInvalid   = "token_invalid"
	ErrorCodeRole           = "role"
	ErrorCodeOrganization   = "organization" // none is named, or not one of the caller's
	ErrorCodeFailedSignIns  = "failed_sign_ins"
	ErrorCodeTooManyRepos   = "too_many_repos"
	ErrorCodeRepoTooLarge   = "repo_too_large"
	ErrorCodeTooManyWrites  = "too_many_writes"
	ErrorCodeExists         = "exists"
	ErrorCodeUnknown        = "unknown" // no such member, group, token or repo
	ErrorCodeLastAdmin      = "last_admin"
	ErrorCodeCorrupt        = "stored_content_corrupt"
	ErrorCodeBusy           = "busy"
	ErrorCodeRefused        = "team_memory_refused" // 422: refused by policy
	ErrorCodePolicyConflict = "policy_conflict"
	ErrorCodePolicyTooLarge = "policy_too_large"
	ErrorCodeNoProposal     = "no_proposal"
	ErrorCodeProposalClosed = "proposal_changed" // it is not open, or not the text named
	ErrorCodeOwnProposal    = "own_proposal"
	ErrorCodeRedacted       = "team_memory_redacted" // 404 for a text that was withdrawn, 422 for one that shall not come back
	ErrorCodeNoScan         = "no_scan"
)

// Error is every error that crosses the wire: the server writes it, the client
// gets the same value back. Anything else is internal and shown as such.
type Error struct {
	Code    Code
	Message string
	Details Details

	// Status overrides the code's own status (405, 415). Zero is the usual.
	Status int
	// RetryAfter is sent and read as the header of that name.
	RetryAfter time.Duration
	// Allow is sent as the header of that name with a 405.
	Allow string
	// Foreign marks an error that the client made of an answer that was not the
	// contract's: a proxy's page, another program's JSON.
	Foreign bool
	// Err is the cause, for the log of the side that made the error. It never
	// crosses the wire.
	Err error
}

// Details is what a program may want to know of an error. Absent fields are not
// sent.
type Details struct {
	ErrorCode       string         `json:"error_code,omitempty"`
	MaxEntries      int            `json:"max_entries,omitempty"`
	ReceivedEntries int            `json:"received_entries,omitempty"`
	MaxBytes        int64          `json:"max_bytes,omitempty"`
	ReceivedBytes   int64          `json:"received_bytes,omitempty"`
	Key             Key            `json:"key,omitempty"`   // the entry concerned; may break the key rules
	Other           Key            `json:"other,omitempty"` // the second key of a pair
	Rule            string         `json:"rule,omitempty"`  // name of the key rule broken
	Place           string         `json:"place,omitempty"` // JSON pointer into the body
	Offset          int64          `json:"offset,omitempty"`
	Conflicts       []Standing     `json:"conflicts,omitzero"`
	Refused         []EntryFinding `json:"refused,omitzero"` // what policy refuses, never the text
	// Quicker is the change that came before an edit of one entry.
	Quicker       *HistoryChange `json:"quicker,omitempty"`
	Version       *Version       `json:"version,omitempty"`
	Checksum      Checksum       `json:"checksum,omitempty"`
	RequestID     string         `json:"request_id,omitempty"`
	Organizations []string       `json:"organizations,omitempty"` // those that may be named
	MaxRepos      int            `json:"max_repos,omitempty"`
	MaxPerMinute  int            `json:"max_per_minute,omitempty"`
}

// Standing is one key and what stands there now: a checksum, or null for
// nothing.
type Standing struct {
	Key      Key       `json:"key"`
	Checksum *Checksum `json:"checksum"`
}

// Error is the message, for people.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// HTTPStatus is the status to answer with.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	return e.Code.Status()
}

// Errorf builds an error without details.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError finds the contract's error in err's chain.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// CodeOf is the code of err, [Internal] when it holds none, and empty for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := AsError(err); ok {
		return e.Code
	}
	return Internal
}

// ErrorBody is the JSON form of an error.
type ErrorBody struct {
	Error struct {
		Type    Code    `json:"type"`
		Message string  `json:"message"`
		Details Details `json:"details"`
	} `json:"error"`
}

// Body is what is sent.
func (e *Error) Body() ErrorBody {
	var b ErrorBody
	b.Error.Type, b.Error.Message, b.Error.Details = e.Code, e.Message, e.Details
	return b
}

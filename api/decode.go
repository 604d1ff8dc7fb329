package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The decoders in this file are the client's half: they read what a server says.
// An answer that is not of the contract's shape is an *[Error] with the code
// [Internal], because the fault is not in the request and the next answer may be
// better. Nothing may ever be deleted or emptied on the strength of one.

// DecodeMemory reads the answer to a GET of a repo's entries. The six fields of
// protocol 1.2 must be there and content must hold entries; what the extensions
// add may be missing. Keys are given as they were sent.
func DecodeMemory(data []byte) (Memory, error) {
	m, seen, err := decodeMemory(data)
	if err == nil && !seen["content/entries"] {
		err = badAnswer("content.entries is missing", nil)
	}
	if err != nil {
		return Memory{}, err
	}
	return m, nil
}

// DecodeHashes reads the answer to a GET with view=hashes. Wherever the server
// put entryChecksums, they are found under Content.
func DecodeHashes(data []byte) (Memory, error) {
	m, _, err := decodeMemory(data)
	switch {
	case err != nil:
		return Memory{}, err
	case m.Content.EntryChecksums == nil && m.EntryChecksums == nil:
		return Memory{}, badAnswer("entryChecksums is missing", nil)
	case m.EntryChecksums != nil && m.Content.EntryChecksums != nil && !maps.Equal(m.EntryChecksums, m.Content.EntryChecksums):
		return Memory{}, badAnswer("its two entryChecksums differ", nil)
	case m.Content.EntryChecksums == nil:
		m.Content.EntryChecksums = m.EntryChecksums
	}
	return m, nil
}

// answerFields is the set of fields an answer held, nested ones by their path.
type answerFields map[string]bool

func decodeMemory(data []byte) (Memory, answerFields, error) {
	var m Memory
	r := jsonReader{data: data}
	seen, err := r.answer(func(name string) (err error) {
		switch name {
		case "lastModified":
			m.LastModified, err = r.lenientTime()
		case "organizationId":
			m.OrganizationID, err = r.wantString()
		case "repo":
			m.Repo, err = r.wantSlug()
		case "version":
			m.Version, err = r.wantVersion()
		case "checksum":
			m.Checksum, err = r.wantChecksum()
		case "content":
			err = r.content(&m.Content)
		case "epoch":
			err = r.optional(func() error { return r.epoch(&m.Epoch) })
		case "partial":
			err = r.optional(func() (err error) { m.Partial, err = r.wantBool(); return err })
		case "deleted":
			err = r.optional(func() (err error) { m.Deleted, err = r.checksums(); return err })
		case "entryChecksums":
			err = r.optional(func() (err error) { m.EntryChecksums, err = r.checksums(); return err })
		case "redacted":
			err = r.optional(func() (err error) { m.Redacted, err = r.checksumList(); return err })
		default:
			err = r.skip()
		}
		return err
	}, "organizationId", "repo", "version", "lastModified", "checksum", "content")
	seen["content/entries"] = m.Content.Entries != nil
	return m, seen, err
}

func (r *jsonReader) content(content *Content) error {
	return r.wantObject(func(name string) (err error) {
		switch name {
		case "entries":
			content.Entries, err = r.texts()
		case "entryChecksums":
			err = r.optional(func() (err error) { content.EntryChecksums, err = r.checksums(); return err })
		case "entryModified":
			err = r.optional(func() (err error) { content.EntryModified, err = r.lenientTimes(); return err })
		default:
			err = r.skip()
		}
		return err
	})
}

// DecodePushResult reads the answer to a PUT that went well.
func DecodePushResult(data []byte) (PushResult, error) {
	var p PushResult
	r := jsonReader{data: data}
	_, err := r.answer(func(name string) (err error) {
		switch name {
		case "organizationId":
			p.OrganizationID, err = r.wantString()
		case "repo":
			p.Repo, err = r.wantSlug()
		case "version":
			p.Version, err = r.wantVersion()
		case "lastModified":
			p.LastModified, err = r.lenientTime()
		case "checksum":
			p.Checksum, err = r.wantChecksum()
		case "epoch":
			err = r.optional(func() error { return r.epoch(&p.Epoch) })
		case "changed":
			err = r.optional(func() (err error) { p.Changed, err = r.wantBool(); return err })
		case "held":
			err = r.optional(func() error { return r.wantArray(func() error { return r.held(&p) }) })
		default:
			err = r.skip()
		}
		return err
	}, "organizationId", "repo", "version", "lastModified", "checksum")
	if err != nil {
		return PushResult{}, err
	}
	return p, nil
}

// held reads one key that was held. What a newer server adds is passed over.
func (r *jsonReader) held(p *PushResult) error {
	var h Held
	err := r.wantObject(func(name string) (err error) {
		texts := map[string]*string{
			"key": (*string)(&h.Key), "proposal": &h.Proposal, "state": (*string)(&h.State), "rule": &h.Rule, "class": (*string)(&h.Class), "reason": &h.Reason,
		}
		if into := texts[name]; into != nil {
			*into, err = r.wantString()
			return err
		}
		if name == "line" {
			line, err := r.wantInt(0)
			h.Line = int(line)
			return err
		}
		return r.skip()
	})
	p.Held = append(p.Held, h)
	return err
}

// DecodeChange reads the data of one event of a live stream.
func DecodeChange(data []byte) (Change, error) {
	var c Change
	r := jsonReader{data: data}
	_, err := r.answer(func(name string) (err error) {
		switch name {
		case "repo":
			c.Repo, err = r.wantSlug()
		case "version":
			c.Version, err = r.wantVersion()
		case "checksum":
			c.Checksum, err = r.wantChecksum()
		default:
			err = r.skip()
		}
		return err
	}, "repo", "version")
	if err != nil {
		return Change{}, err
	}
	return c, nil
}

// DecodeWellKnown reads what a server says of itself. Limits that it does not
// name are the default ones.
func DecodeWellKnown(data []byte) (WellKnown, error) {
	w := WellKnown{Limits: DefaultLimits}
	r := jsonReader{data: data}
	_, err := r.answer(func(name string) (err error) {
		switch name {
		case "server":
			w.Server, err = r.wantString()
		case "version":
			w.Version, err = r.wantString()
		case "limits":
			err = r.limits(&w.Limits)
		case "extensions":
			err = r.wantArray(func() error {
				name, err := r.wantString()
				w.Extensions = append(w.Extensions, name)
				return err
			})
		case "oidc":
			err = r.wantArray(func() error {
				p, err := r.provider()
				w.OIDC = append(w.OIDC, p)
				return err
			})
		default:
			err = r.skip()
		}
		return err
	}, "server", "version")
	if err != nil {
		return WellKnown{}, err
	}
	return w, nil
}

func (r *jsonReader) limits(l *Limits) error {
	ints := map[string]*int{
		"entryBytes": &l.EntryBytes, "batchBytes": &l.BatchBytes, "repoEntries": &l.RepoEntries,
		"keyBytes": &l.KeyBytes, "segmentBytes": &l.SegmentBytes,
	}
	return r.wantObject(func(name string) error {
		field := ints[name]
		if field == nil && name != "bodyBytes" {
			return r.skip()
		}
		n, err := r.wantInt(1)
		if err != nil {
			return err
		}
		if name == "bodyBytes" {
			l.BodyBytes = n
			return nil
		}
		*field = int(n)
		return nil
	})
}

func (r *jsonReader) provider() (p Provider, err error) {
	texts := map[string]*string{"issuer": &p.Issuer, "name": &p.Name, "clientId": &p.ClientID, "token": &p.Token}
	err = r.wantObject(func(name string) (err error) {
		switch field := texts[name]; {
		case field != nil:
			*field, err = r.wantString()
		case name == "device":
			p.Device, err = r.wantBool()
		case name == "scopes":
			err = r.wantArray(func() error {
				scope, err := r.wantString()
				p.Scopes = append(p.Scopes, scope)
				return err
			})
		default:
			err = r.skip()
		}
		return err
	})
	return p, err
}

// DecodeWhoAmI reads what a server says of a token's bearer.
func DecodeWhoAmI(data []byte) (WhoAmI, error) {
	var w WhoAmI
	r := jsonReader{data: data}
	_, err := r.answer(func(name string) (err error) {
		switch name {
		case "organizationId":
			w.OrganizationID, err = r.wantString()
		case "organization":
			w.Organization, err = r.wantString()
		case "user":
			w.User, err = r.wantString()
		case "role":
			// A role this build does not know holds no rights here.
			var role string
			role, err = r.wantString()
			w.Role = Role(role)
		case "tokenId":
			w.TokenID, err = r.wantString()
		case "expires":
			err = r.optional(func() error {
				t, err := r.lenientTime()
				w.Expires = &t
				return err
			})
		default:
			err = r.skip()
		}
		return err
	}, "organizationId", "user", "role")
	if err != nil {
		return WhoAmI{}, err
	}
	return w, nil
}

// answer reads a whole answer, an object that must hold the fields named.
func (r *jsonReader) answer(member func(name string) error, required ...string) (answerFields, error) {
	seen := answerFields{}
	err := r.text(func() error {
		return r.wantObject(func(name string) error {
			seen[name] = true
			return member(name)
		})
	})
	if err != nil {
		return seen, badAnswer("", err)
	}
	for _, name := range required {
		if !seen[name] {
			return seen, badAnswer(name+" is missing", nil)
		}
	}
	return seen, nil
}

// badAnswer is the error for an answer that is not of the contract's shape.
func badAnswer(why string, cause error) *Error {
	bad := &Error{Code: Internal, Message: "the answer is not one of a team-memory server: " + why, Details: Details{ErrorCode: ErrorCodeBadBody}}
	if e, ok := AsError(cause); ok {
		bad.Message += e.Message
		bad.Details = e.Details
	}
	return bad
}

func (r *jsonReader) checksums() (map[Key]Checksum, error) {
	sums := map[Key]Checksum{}
	err := r.wantObject(func(key string) (err error) {
		sums[Key(key)], err = r.wantChecksum()
		return err
	})
	return sums, err
}

func (r *jsonReader) checksumList() (sums []Checksum, err error) {
	err = r.wantArray(func() error {
		sum, err := r.wantChecksum()
		sums = append(sums, sum)
		return err
	})
	return sums, err
}

func (r *jsonReader) wantSlug() (RepoSlug, error) {
	s, err := r.wantString()
	if err != nil {
		return "", err
	}
	slug, err := ParseRepoSlug(s)
	if err != nil {
		return "", r.shape(err.Error())
	}
	return slug, nil
}

func (r *jsonReader) wantVersion() (Version, error) {
	n, err := r.wantInt(0)
	return Version(n), err
}

func (r *jsonReader) epoch(epoch *Epoch) error {
	s, err := r.wantString()
	*epoch = Epoch(s)
	return err
}

func (r *jsonReader) wantBool() (bool, error) {
	switch r.peek() {
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	}
	return false, r.mismatch("true or false")
}

// wantInt reads a whole number of at least least.
func (r *jsonReader) wantInt(least int64) (int64, error) {
	if c := r.peek(); c != '-' && (c < '0' || c > '9') {
		return 0, r.mismatch("a number")
	}
	number, err := r.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n < least {
		return 0, r.shape(fmt.Sprintf("want a whole number of at least %d", least))
	}
	return n, nil
}

// lenientTime reads a string that should be a time. One that cannot be read is
// the zero time: nothing is ever decided by it.
func (r *jsonReader) lenientTime() (Time, error) {
	s, err := r.wantString()
	if err != nil {
		return Time{}, err
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return NewTime(t), nil
		}
	}
	return Time{}, nil
}

// lenientTimes leaves out what cannot be read.
func (r *jsonReader) lenientTimes() (map[Key]Time, error) {
	times := map[Key]Time{}
	err := r.wantObject(func(key string) error {
		t, err := r.lenientTime()
		if !t.IsZero() {
			times[Key(key)] = t
		}
		return err
	})
	return times, err
}

// DecodeError makes the error of an answer whose status is not a success. The
// error a server of ours wrote is given back as it was. Anything else (a proxy's
// page, another program's JSON) becomes an error of the kind its status stands
// for, without an error code, and says so; of its body nothing is kept.
func DecodeError(status int, header http.Header, body []byte) *Error {
	e := decodeOurError(status, body)
	if e == nil {
		e = foreignError(status, header)
	}
	e.RetryAfter = retryAfter(header)
	if status == http.StatusMethodNotAllowed {
		e.Allow = header.Get("Allow")
	}
	return e
}

// decodeOurError gives nil for a body that is not our error, or not one that may
// travel under this status.
func decodeOurError(status int, body []byte) *Error {
	if _, err := ParseJSON(body); err != nil {
		return nil
	}
	var b ErrorBody
	if err := json.Unmarshal(body, &b); err != nil || b.Error.Message == "" {
		return nil
	}
	usual, known := statusOfCode[b.Error.Type]
	if !known {
		return nil
	}
	e := &Error{Code: b.Error.Type, Message: b.Error.Message, Details: b.Error.Details}
	if status == usual {
		return e
	}
	if b.Error.Type == InvalidRequest && CodeOfStatus(status) == InvalidRequest {
		e.Status = status
		return e
	}
	return nil
}

func foreignError(status int, header http.Header) *Error {
	kind := "no content type"
	if media, _, err := mime.ParseMediaType(header.Get("Content-Type")); err == nil {
		kind = clip(media)
	}
	e := &Error{
		Code:    CodeOfStatus(status),
		Foreign: true,
		Message: fmt.Sprintf("not a teammem server but something on the way to it, or another server, answered %s (%s)", statusText(status), kind),
	}
	if e.Code.Status() != status {
		e.Status = status
	}
	return e
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// maxRetryAfter bounds what a server may ask a client to wait.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header in both its forms. A date is taken relative to the
// server's own Date, so that no clock has to agree.
func retryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), maxRetryAfter))
}

package rest

import (
	"net/http"
	"time"

	"github.com/teammem/teammem/api"
)

// Observation is what may be counted of one call: nothing of who asked or for what.
type Observation struct {
	Operation string // of the route table
	Method    string
	Status    int
	Bytes     int64 // of the answer
	Took      time.Duration
	Stream    bool // it was open for as long as the client wished

	How  string // by what the caller is known; empty where nobody had to be
	Auth string // what came of it: ok, missing, invalid, throttled, forbidden, failed

	Push    string // of a PUT: applied, noop, conflict, refused, held, limited, failed
	Changed int    // entries that it changed
	Held    int    // entries that wait for a reviewer
}

// pushed is what came of a PUT, for its observation.
type pushed struct{ changed, held int }

// observation is what there is to count of a call that ended.
func (c *call) observation(method string) Observation {
	o := Observation{
		Operation: c.route.Operation, Method: method, Status: c.sent.status, Bytes: c.sent.bytes,
		Took: time.Since(c.start), Stream: c.route.Operation == "liveEvents",
	}
	if c.route.Right != api.Public {
		o.How, o.Auth = string(c.who.How), c.authOutcome()
	}
	if c.route.Operation == "putTeamMemory" && o.Auth == "ok" {
		o.Push, o.Changed, o.Held = c.pushOutcome(), c.pushed.changed, c.pushed.held
	}
	return o
}

// authOutcome tells what came of finding the caller from what was answered with.
func (c *call) authOutcome() string {
	e, refused := api.AsError(c.cause)
	switch {
	case c.who.Org == 0 && refused && e.Code == api.Authentication && e.Details.ErrorCode == api.ErrorCodeTokenMissing:
		return "missing"
	case c.who.Org == 0 && refused && e.Code == api.Authentication:
		return "invalid"
	case c.who.Org == 0 && refused && e.Code == api.RateLimit:
		return "throttled"
	case refused && e.Code == api.Permission:
		return "forbidden"
	case c.who.Org == 0:
		return "failed"
	}
	return "ok"
}

func (c *call) pushOutcome() string {
	switch status := c.sent.status; {
	case status == http.StatusOK && c.pushed.changed > 0:
		return "applied"
	case status == http.StatusOK && c.pushed.held > 0:
		return "held"
	case status == http.StatusOK:
		return "noop"
	case status == http.StatusPreconditionFailed:
		return "conflict"
	case status == http.StatusRequestEntityTooLarge, status == http.StatusTooManyRequests:
		return "limited"
	case status >= 400 && status < 500:
		return "refused"
	}
	return "failed"
}

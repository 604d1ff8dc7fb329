package api

import "net/http"

// Route is one line of the contract's route table.
type Route struct {
	Method  string
	Pattern string // as chi and OpenAPI write it
	Right   Right
	// Operation is the operationId in openapi.yaml, and the name the route has
	// in logs and metrics.
	Operation string
}

// Routes is the whole surface of a server. rest refuses to start when a route
// here has no handler there; a test holds the list against openapi.yaml.
var Routes = []Route{
	{http.MethodGet, PathTeamMemory, Read, "getTeamMemory"},
	{http.MethodPut, PathTeamMemory, Write, "putTeamMemory"},
	{http.MethodGet, PathEvents, Read, "liveEvents"},
	{http.MethodGet, PathEntries, Read, "listEntries"},
	{http.MethodGet, PathEntry, Read, "getEntry"},
	{http.MethodGet, PathHistory, Read, "listHistory"},
	{http.MethodGet, PathVersions, Read, "listVersions"},
	{http.MethodGet, PathDiff, Read, "getDiff"},
	{http.MethodPost, PathRestore, Write, "restoreEntry"},
	{http.MethodGet, PathFindings, Read, "listFindings"},
	{http.MethodGet, PathPolicy, Known, "getPolicy"},
	{http.MethodPut, PathPolicy, Administer, "setPolicy"},
	{http.MethodPost, PathAccepted, Accept, "acceptFinding"},
	{http.MethodDelete, PathAccepted, Accept, "forgetFinding"},
	{http.MethodGet, PathWhoAmI, Known, "whoAmI"},
	{http.MethodGet, PathOpenAPI, Public, "openAPI"},
	{http.MethodGet, PathWellKnown, Public, "wellKnown"},
	{http.MethodGet, PathHealth, Public, "health"},
	{http.MethodGet, PathReady, Public, "ready"},
}

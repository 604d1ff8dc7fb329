package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/teammem/teammem/api"
)

// memoryQuery is the query of a call on a team memory.
type memoryQuery struct {
	repo   api.RepoSlug
	hashes bool // view=hashes
	since  api.Version
}

// parseMemoryQuery reads the query. Values we do not know are ignored; of those
// we know each may stand once, so that no proxy in between and no server behind
// it can read another one than we do.
func parseMemoryQuery(r *http.Request) (memoryQuery, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return memoryQuery{}, badQuery("the query cannot be read: percent-encode it")
	}
	if n := len(values["repo"]); n != 1 {
		return memoryQuery{}, &api.Error{
			Code:    api.InvalidRequest,
			Message: fmt.Sprintf("the query names %d repos: want exactly one, repo=owner/repo", n),
			Details: api.Details{ErrorCode: api.ErrorCodeBadRepo},
		}
	}
	for _, name := range []string{"view", "since"} {
		if len(values[name]) > 1 {
			return memoryQuery{}, badQuery(fmt.Sprintf("%s stands more than once in the query", name))
		}
	}
	var q memoryQuery
	if q.repo, err = api.ParseRepoSlug(values.Get("repo")); err != nil {
		return memoryQuery{}, err
	}
	switch view := values.Get("view"); view {
	case "":
	case "hashes":
		q.hashes = true
	default:
		return memoryQuery{}, badQuery(fmt.Sprintf("there is no view %q: want hashes, or no view for everything", clip(view)))
	}
	if since := values.Get("since"); since != "" {
		// ParseUint takes no sign, which no version has.
		n, err := strconv.ParseUint(since, 10, 63)
		if err != nil {
			return memoryQuery{}, badQuery(fmt.Sprintf("since %q is not a version: want a number from an earlier answer", clip(since)))
		}
		q.since = api.Version(n)
	}
	return q, nil
}

// parseQuery reads a query in which each name may stand once.
func parseQuery(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badQuery("the query cannot be read: percent-encode it")
	}
	for name, given := range values {
		if len(given) > 1 {
			return nil, badQuery(clip(name) + " stands more than once in the query")
		}
	}
	return values, nil
}

func badQuery(message string) *api.Error {
	return &api.Error{Code: api.InvalidRequest, Message: message, Details: api.Details{ErrorCode: api.ErrorCodeBadQuery}}
}

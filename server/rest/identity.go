package rest

import (
	"crypto/rand"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/auth"
	"github.com/teammem/teammem/server/ledger"
)

// callerOf is the caller as the ledger knows one.
func callerOf(who auth.Caller, r *http.Request, from []netip.Addr) ledger.Caller {
	return ledger.Caller{
		Org:        who.Org,
		OrgUID:     who.OrgUID,
		MaxEntries: who.Limits.MaxEntries,
		MaxRepos:   who.Limits.MaxRepos,
		MaxBytes:   who.Limits.MaxBytes,
		User:       who.User,
		UserName:   who.UserName,
		Token:      who.Token,
		TokenUID:   who.TokenUID,
		Role:       who.Role,
		How:        string(who.How),
		From:       firstOf(from),
		Client:     clientName(r.Header.Get(api.HeaderClient)),
	}
}

func firstOf(from []netip.Addr) string {
	if len(from) == 0 {
		return ""
	}
	return from[0].String()
}

// maxClientName is in bytes, see [api.HeaderClient].
const maxClientName = 200

// clientName takes of the client's name for itself what can be shown: history
// and terminals print it.
func clientName(s string) string {
	if s == "" {
		return ""
	}
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if len(s) > maxClientName {
		s = strings.ToValidUTF8(s[:maxClientName], "")
	}
	return strings.TrimSpace(s)
}

// requestIDs gives every request an id: a prefix of this process and a counter,
// which is cheaper than fresh randomness and as unique.
type requestIDs struct {
	prefix string
	count  atomic.Uint64
}

func newRequestIDs() *requestIDs {
	return &requestIDs{prefix: strings.ToLower(rand.Text()[:10]) + "-"}
}

// of is the id that the client or a proxy gave the request, when it is harmless
// to repeat, and a new one otherwise.
func (ids *requestIDs) of(r *http.Request) string {
	const most = 64
	given := r.Header.Get(api.HeaderRequestID)
	if given != "" && len(given) <= most && !strings.ContainsFunc(given, isOdd) {
		return given
	}
	return ids.prefix + strconv.FormatUint(ids.count.Add(1), 36)
}

func isOdd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

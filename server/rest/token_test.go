package rest

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/organization"
)

// The life of a token that the API makes, and its last week, go by the server's clock.
func TestTokensEndByTheServersClock(t *testing.T) {
	b := newBox(t, nil, nil)
	clock := time.Date(2040, 2, 3, 4, 5, 6, 0, time.UTC)
	b.handler.orgs = organization.New(b.db, func() time.Time { return clock }, nil)
	create := func(body string, want int) (made api.NewToken) {
		t.Helper()
		w := b.do(http.MethodPost, api.PathTokens, b.member, body)
		if w.Code != want {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		return made
	}
	if made := create(`{}`, http.StatusOK); made.Expires == nil || !made.Expires.Equal(clock.AddDate(0, 0, 90)) || !made.Created.Equal(clock) {
		t.Errorf("made %s, until %v; want %s and 90 days", made.Created, made.Expires, clock)
	}
	create(`{"expires":"2040-02-03T04:05:06Z"}`, http.StatusBadRequest)
	create(`{"expires":"2039-02-03T04:05:06Z"}`, http.StatusBadRequest)
	for expires, soon := range map[string]bool{
		"2040-02-03T04:05:07Z": true, "2040-02-10T04:05:05Z": true, "2040-02-10T04:05:06Z": false, "2040-05-03T00:00:00Z": false,
	} {
		token := create(`{"expires":"`+expires+`"}`, http.StatusOK).Token
		says := b.do(http.MethodGet, api.PathWhoAmI, token, "").Header().Get(api.HeaderTokenExpires)
		if (says != "") != soon || soon && says[:19]+"Z" != expires {
			t.Errorf("a token until %s says %q, with the clock at %s", expires, says, clock)
		}
	}
}

package server_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/servertest"
)

// How well the time of an answer tells what the answer does not (S11): a repo that
// another organization has against one that nobody has, and a repo that was taken away
// against one that is not there. Two kinds of request take turns at random; the figure
// is the chance that of one answer of each kind the slower is of the first, which is a
// half where time tells nothing. TEAMMEM_TIMING=N asks for N requests of each kind;
// the few that are made without it find what is plain to see, also on a busy machine.
func TestTimeTellsNothing(t *testing.T) {
	n := 300
	if asked := os.Getenv("TEAMMEM_TIMING"); asked != "" {
		var err error
		if n, err = strconv.Atoi(asked); err != nil {
			t.Fatalf("TEAMMEM_TIMING=%s: a number of requests is wanted", asked)
		}
	}
	for name, options := range onStores {
		t.Run(name, func(t *testing.T) {
			s := stranger{t, servertest.Start(t, options(t)...)}
			admin, dana, eve := s.box.TokenOf("acme", "root", api.Admin), s.box.TokenOf("acme", "dana", api.Member), s.box.TokenOf("other", "eve", api.Member)
			many := map[string]any{}
			for i := range 500 {
				many[fmt.Sprintf("f%03d.md", i)] = strings.Repeat("x", 200)
			}
			s.want(s.put(eve, "acme/theirs", many), http.StatusOK)
			s.want(s.put(dana, "acme/taken", many), http.StatusOK)
			for _, repo := range []string{"acme/taken", "acme/gone1"} {
				s.want(s.do(http.MethodPut, api.PathGrants+"?kind=member&name=dana&pattern="+repo, admin, `{"role":"none"}`), http.StatusOK)
			}
			for _, c := range []struct {
				what, one, other string
				status           int
			}{
				{"the same address twice", "acme/none01", "acme/none01", http.StatusNotFound},
				{"another organization's repo against none", "acme/theirs", "acme/none02", http.StatusNotFound},
				{"a repo that was taken away against none", "acme/taken", "acme/gone1", http.StatusForbidden},
			} {
				one, other := s.race(n, dana, c.one, c.other, c.status)
				chance, doubt := apart(one, other)
				t.Logf("%s: %.4f ± %.4f (a half tells nothing); medians %s and %s", c.what, chance, doubt, median(one), median(other))
				if math.Abs(chance-0.5) > 0.02+4*doubt {
					t.Errorf("%s: the time tells them apart, %.4f ± %.4f", c.what, chance, doubt)
				}
			}
		})
	}
}

// race times n requests of each of two repos, in random order on one connection.
func (s stranger) race(n int, token, one, other string, status int) (ones, others []time.Duration) {
	s.t.Helper()
	client := s.box.Client()
	for range 2 * n {
		repo, into := one, &ones
		if len(ones) == n || len(others) < n && rand.N(2) == 0 {
			repo, into = other, &others
		}
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.box.URL+api.PathTeamMemory+"?repo="+repo, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		began := time.Now()
		resp, err := client.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		took := time.Since(began)
		if _ = resp.Body.Close(); err != nil || resp.StatusCode != status {
			s.t.Fatalf("%s: status %d, want %d (%v)", repo, resp.StatusCode, status, err)
		}
		*into = append(*into, took)
	}
	return ones, others
}

// apart is the chance that of two drawn at random the one of the first is greater, and
// its standard error where both are of one kind (Mann and Whitney's test).
func apart(one, other []time.Duration) (chance, doubt float64) {
	sorted := slices.Sorted(slices.Values(other))
	wins := 0.0
	for _, d := range one {
		below, _ := slices.BinarySearch(sorted, d)
		upTo, _ := slices.BinarySearch(sorted, d+1)
		wins += float64(below) + float64(upTo-below)/2
	}
	n, m := float64(len(one)), float64(len(other))
	return wins / (n * m), math.Sqrt((n + m + 1) / (12 * n * m))
}

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

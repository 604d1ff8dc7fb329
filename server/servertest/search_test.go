package servertest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server"
	"github.com/teammem/teammem/server/servertest"
)

// notes makes notes of some 2 KB: words as often as they are in texts (Zipf), some of
// scripts without spaces, headers of every type.
func notes(n int) map[api.Key]string {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 8, 30_000)
	syllables := []string{"re", "lease", "ka", "to", "mi", "ver", "sion", "ing", "de", "ploy", "ro", "ll", "back", "qu", "é"}
	scripts := []string{"東京都の天気", "發布流程", "배포절차를", "ภาษาไทย", "Straße", "ﬁnal"}
	kinds := []string{"feedback", "project", "reference", "user"}
	word := func() string {
		var b strings.Builder
		for k := zipf.Uint64() + 16; k > 0; k /= 15 {
			b.WriteString(syllables[k%15])
		}
		return b.String()
	}
	all := map[api.Key]string{}
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "---\nname: %s %s\ndescription: %s %s %s\ntype: %s\n---\n", word(), word(), word(), word(), word(), kinds[i%4])
		for b.Len() < 2048 {
			if random.IntN(60) == 0 {
				b.WriteString(scripts[random.IntN(len(scripts))] + " ")
			}
			b.WriteString(word() + []string{" ", " ", " ", ", ", ".\n"}[random.IntN(5)])
		}
		all[api.Key(fmt.Sprintf("%s/%s_%05d.md", kinds[i%4], word(), i))] = b.String()
	}
	return all
}

// searcher speaks with one server.
type searcher struct {
	testing.TB
	*servertest.Server
	token string
}

func newSearcher(t testing.TB, options ...servertest.Option) searcher {
	s := servertest.Start(t, options...)
	return searcher{t, s, s.Token(api.Admin)}
}

func (s searcher) call(method, address string, body any) []byte {
	s.Helper()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, s.URL+address, sent)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := s.Client().Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.Fatalf("%s %s: %d %.300s %v", method, address, answer.StatusCode, text, err)
	}
	return text
}

// write pushes entries in batches, in order of their keys.
func (s searcher) write(repo string, entries map[api.Key]string, batch int) {
	s.Helper()
	for keys := range slices.Chunk(api.SortedKeys(entries), batch) {
		push, bases := map[api.Key]string{}, map[api.Key]*api.Checksum{}
		for _, key := range keys {
			push[key], bases[key] = entries[key], nil
		}
		s.call(http.MethodPut, api.PathTeamMemory+"?repo="+repo, map[string]any{"entries": push, "baseChecksums": bases})
	}
}

func (s searcher) find(question, extra string) api.SearchResult {
	s.Helper()
	var result api.SearchResult
	if err := json.Unmarshal(s.call(http.MethodGet, api.PathSearch+"?q="+url.QueryEscape(question)+extra, nil), &result); err != nil {
		s.Fatal(err)
	}
	return result
}

// settle waits until the index holds everything.
func (s searcher) settle() {
	s.Helper()
	org, err := s.Store().Organization(s.Context(), server.FirstOrganization)
	if err != nil {
		s.Fatal(err)
	}
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		lags, err := s.Store().SearchLags(s.Context(), org.ID)
		if err != nil {
			s.Fatal(err)
		}
		if len(lags) == 0 {
			return
		}
		if time.Now().After(until) {
			s.Fatal("the index is not complete after five minutes")
		}
	}
}

// Both databases find the same, in the same order, with the same snippets.
func TestStoresFindTheSame(t *testing.T) {
	stores := []searcher{newSearcher(t), newSearcher(t, servertest.OnPostgres())}
	fixture := notes(120)
	for _, s := range stores {
		s.write("acme/web", fixture, 100)
		s.write("acme/lib", notes(20), 5)
	}
	keys := api.SortedKeys(fixture)
	questions := []string{"release", "rel*", "to re", "東京", "都", "流程 re", "배포", "ภาษา", "strasse", "final mi", "type:feedback ka", "type:user", "repo:lib ve*", "re* author:user*", "md"}
	for i, key := range keys {
		if i%60 != 0 {
			continue
		}
		words := strings.Fields(fixture[key])
		questions = append(questions, words[20], words[30]+" "+words[60], `"`+strings.Join(words[40:43], " ")+`"`, words[50][:2]+"*", string(key))
	}
	found := 0
	for _, question := range questions {
		for _, extra := range []string{"&history=true&limit=50", "&limit=2&cursor=7"} {
			a, b := stores[0].find(question, extra), stores[1].find(question, extra)
			found += len(a.Hits)
			for _, r := range []api.SearchResult{a, b} {
				for i := range r.Hits {
					r.Hits[i].At = api.Time{} // each server has a clock of its own
				}
			}
			if one, other := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); one != other {
				t.Errorf("%s%s:\nSQLite   %.600s\nPostgres %.600s", question, extra, one, other)
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d hits were compared", found)
	}
}

// What is redacted leaves no word behind in the file, nor in what is found.
func TestRedactedWordsAreGone(t *testing.T) {
	s := newSearcher(t)
	const word = "xyzzyplugh"
	s.write("acme/web", map[api.Key]string{"a.md": "the word is " + strings.ToUpper(word), "b.md": "nothing"}, 2)
	if r := s.find(word, "&history=true"); r.Found != 1 {
		t.Fatalf("%+v", r)
	}
	s.call(http.MethodPost, api.PathRedactions, map[string]any{"repo": "acme/web", "key": "a.md", "reason": "a test"})
	if r := s.find(word, "&history=true"); r.Found != 0 || !r.Complete {
		t.Errorf("%+v", r)
	}
	s.Close()
	files, err := filepath.Glob(filepath.Join(s.Config.Data, "teammem.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(content), []byte(word[:8])) {
			t.Errorf("%s holds a word that was redacted", name)
		}
	}
}

// BenchmarkSearch searches 10,000 notes of 2 KB.
func BenchmarkSearch(b *testing.B) {
	fixture := notes(10_000)
	b.Run("sqlite", func(b *testing.B) { benchmarkSearch(b, fixture) })
	b.Run("postgres", func(b *testing.B) { benchmarkSearch(b, fixture, servertest.OnPostgres()) })
}

func benchmarkSearch(b *testing.B, fixture map[api.Key]string, options ...servertest.Option) {
	options = append(options, servertest.Configured(func(c *server.Config) { c.HTTP.Limits.RepoEntries = 20_000 }))
	s := newSearcher(b, options...)
	s.write("acme/web", fixture, 200)
	start := time.Now()
	s.settle()
	b.Logf("the index of %d notes was made in %s", len(fixture), time.Since(start).Round(time.Millisecond))
	words := strings.Fields(fixture[api.SortedKeys(fixture)[len(fixture)/2]])
	for _, question := range []string{
		words[25] + " " + words[26], `"` + strings.Join(words[25:28], " ") + `"`, "rel*", "流程", "type:feedback " + words[30], "re to", "md",
	} {
		b.Run(fmt.Sprintf("%d found", s.find(question, "").Found)+" by "+question, func(b *testing.B) {
			began := processorTime(b)
			for b.Loop() {
				s.find(question, "")
			}
			b.ReportMetric((processorTime(b)-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is what this process has used, of all processors: under load it says more
// than the clock. A database of its own is not in it.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

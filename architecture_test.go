// Package teammem has no code of its own. Its tests hold the whole tree against
// the walls drawn in ARCHITECTURE.md: who may import whom, where each foreign
// library may stand, and what the quiet rooms may not use.
package teammem

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// wall says which packages of ours a package may import.
type wall struct{ pkg, imports, reason string }

// walls has a row for every package. The two wings, server and client, never
// import each other; what both need stands in api.
var walls = []wall{
	{"api", "", "the contract must be importable by anyone, so it stands on nothing of ours"},
	{"api/scan", "api", "both wings scan with it, so it may know the contract and neither wing"},
	{"api/memory", "api", "both wings read memory files with it, so it may know the contract and neither wing; bytes or a file system come in"},
	{"migrations", "", "a cellar: it embeds files and nothing more"},

	{"cmd/server", "api server server/audit server/auth server/auth/provider server/backup server/leak server/ledger server/organization server/signon server/store", "a door: it parses, calls, and maps errors to exit codes; the parts are built in server"},
	{"server", "api api/scan server/audit server/auth server/auth/provider server/backup server/dashboard server/events server/figures server/leak server/ledger server/metrics server/organization server/reading server/rest server/signon server/store server/store/postgres server/store/sqlite server/store/standby", "the one place where the server's parts are put together, and the only one that knows a concrete store"},
	{"server/rest", "api api/memory server/audit server/auth server/events server/figures server/leak server/ledger server/organization server/reading server/search server/store", "it turns requests into calls of the ledger and decides nothing itself; of the store it knows the nouns"},
	{"server/search", "api api/memory server/store", "texts and questions are taken apart on values alone; of the store it knows the nouns"},
	{"server/ledger", "api api/scan server/audit server/events server/search server/store", "the rules are pure: they know the contract, the trail and the storage contract, no HTTP and no SQL"},
	{"server/reading", "api api/memory server/ledger server/store", "what is told of entries beside their bytes stands on the rules and on how an agent reads; it changes nothing"},
	{"server/figures", "api server/ledger server/store", "what happened is counted from what the rules say, and kept as rows; no HTTP and no SQL"},
	{"server/leak", "api server/ledger server/store", "it looks through and withdraws what is kept, by the rules' own means; files and clocks are its business, HTTP and SQL are not"},
	{"server/auth", "api server/store", "who is calling must be known before any rule is asked"},
	{"server/organization", "api server/audit server/auth server/store", "the rules beside the repos: they decide on what the store shows, and auth applies it"},
	{"server/auth/provider", "", "whether a token is a provider's depends on the provider and the token, and on nothing that is kept"},
	{"server/signon", "api server/audit server/auth server/auth/provider server/store", "who comes in is decided on what a provider vouches for and what the store knows; no HTTP and no SQL"},
	{"server/dashboard", "api api/memory server/audit server/auth server/auth/provider server/events server/figures server/leak server/ledger server/organization server/reading server/search server/signon server/store web", "pages for people: they ask the rules and show, and decide nothing"},
	{"web", "", "a cellar: it embeds files and nothing more"},
	{"server/metrics", "", "what is counted comes in as words and numbers; who counts knows nothing of what is counted"},
	{"server/backup", "api server/audit server/store", "a backup is rows in a file: it knows neither SQL nor files, and the same for both databases; an organization that moves has a record of that"},
	{"server/events", "api", "it passes on that something changed; it knows neither who listens nor what is kept"},
	{"server/audit", "api", "the trail's form must not depend on who writes it or where it is kept"},
	{"server/store", "api server/audit", "the storage contract knows the nouns and no rule"},
	{"server/store/schema", "server/store", "migrating is one skill for two databases; it needs the contract's errors only"},
	{"server/store/postgres", "api migrations server/audit server/store server/store/schema", "an implementation of the storage contract"},
	{"server/store/sqlite", "api migrations server/audit server/store server/store/schema", "an implementation of the storage contract"},
	{"server/store/standby", "api server/store", "which of two databases answers is decided on the contract; it knows neither"},
	{"server/store/memory", "api server/audit server/store", "an implementation of the storage contract, for tests and simulation"},
	{"server/store/storetest", "api server/audit server/store", "the suite of the storage contract knows no implementation"},
	{"server/store/postgres/pgtest", "", "it starts a database and knows nothing of what is kept in it"},
	{"devoidc", "", "a provider for tests and for trying out must be a stranger to both wings, as any provider is"},
	{"cmd/devoidc", "devoidc", "a door: it parses and serves"},
	{"sim", "", "the simulation is made of tests; nothing may build on it"},
	{"bench", "", "figures are taken of the built programs from outside, as people run them"},
	{"crash", "", "what is killed are the built programs, as people run them"},
	{"deploy/patroni", "", "what is killed are the built programs and the real database, as people run them"},
	{"server/servertest", "api server server/auth server/store server/store/postgres/pgtest", "a real server in a box is made as a person would make one"},

	{"cmd/client", "api api/memory api/scan client client/archive client/carry client/checkout client/claudemd client/config client/curate client/guard client/hook client/lint client/mcp client/memdir client/merge client/metrics client/project client/proxy client/recall client/remote client/service client/signin client/state client/syncer client/tui", "a door: it parses, calls, prints, and maps errors to exit codes; the parts are built in client"},
	{"client", "api client/config client/guard client/memdir client/metrics client/project client/remote client/state client/syncer client/watch", "the one place where the client's parts are put together; how a person is told is not its business"},
	{"client/archive", "api", "an archive is bytes: whose they are and where they go is not its business"},
	{"client/carry", "api client/archive client/guard client/remote", "a repo is carried over the contract and under the guard, as a sync does it; files and words are the door's"},
	{"client/config", "", "settings are read before anything else is known"},
	{"client/service", "", "what a service manager reads is a text of values; who asks, writes and runs commands is the door"},
	{"client/project", "api client/config", "which project this is must not depend on what is synced"},
	{"client/proxy", "api client/guard", "it passes a stock client's calls on: it knows the protocol and what may leave, and nothing of directories"},
	{"client/metrics", "", "what is counted comes in as words and numbers; who counts knows nothing of what is counted"},
	{"client/memdir", "api", "files of a memory directory, whatever they are wanted for"},
	{"client/claudemd", "api api/memory", "what an agent is told is read from a file system that comes in; it knows neither project nor server"},
	{"client/recall", "api client/memdir api/memory", "which memories matter is asked of files, whoever asks; it knows no server and no project"},
	{"client/hook", "api api/scan client/claudemd client/guard client/hook/settings", "what an agent says is read, judged and answered on values; who syncs, ranks and finds directories is the caller's"},
	{"client/hook/settings", "", "an agent's settings file is a text that is edited, whatever is put into it"},
	{"client/mcp", "api api/scan client/guard client/memdir api/memory", "tools over memory files; ranking, history and syncing come in as functions"},
	{"client/curate", "api api/memory", "what a change to memories comes to is worked out from texts; its caller reads, asks, scans and writes"},
	{"client/lint", "api api/scan client/curate api/memory", "what is wrong with memories is said from texts; the checkout is asked through a contract of its own"},
	{"client/checkout", "", "a working tree is looked through, whatever for"},
	{"client/watch", "", "it says that something changed; what that means is for others"},
	{"client/guard", "api api/scan client/state", "whether a text may leave is asked by the syncer and by commands; it knows neither"},
	{"client/merge", "api", "merging is pure: texts in, text out"},
	{"client/signin", "api client/config", "it speaks with identity providers and keeps what they give; of the server it knows what was announced"},
	{"client/state", "api client/memdir", "what was agreed on, and how it is written safely"},
	{"client/remote", "api", "it speaks the contract and knows nothing of files"},
	{"client/syncer", "api client/guard client/memdir client/merge client/remote client/state", "the plan and the loop that carries it out use the parts; nothing below knows them"},
	{"client/tui", "api", "the terminal's voice; it is told what to say in its own words"},
}

// testWalls says what test files may import beyond that.
var testWalls = []struct{ pkg, imports, reason string }{
	{"...", "api", "every test may speak in the contract's nouns"},
	{"client/... cmd/...", "server/servertest", "a client is tested against a real server in a box"},
	{"cmd/... client", "client/... server server/auth server/auth/provider server/signon server/store", "end to end, what came out is looked at where it lies"},
	{"server/...", "api/scan server/store server/store/memory server/audit server/auth server/figures server/leak server/ledger server/organization server/servertest", "the store in memory is honest, so rules are tested on it; and the box is a server like any other"},
	{"server/ledger", "server/store/sqlite", "real before fake: the rules and their cost are shown on a database too"},
	{"server/dashboard", "server server/auth/provider server/signon server/servertest", "pages are looked at in a real browser, before a real server"},
	{"server/... client/... cmd/...", "devoidc", "real before fake: signing in is tested with a provider that is one"},
	{"server", "server/leak server/ledger", "what a start does to an older database is shown on one that was written by the rules"},
	{"server/store/... server/servertest server", "server/store/...", "every implementation runs the suite, on a database of its own"},
	{"bench", "server/store server/audit server/servertest server/store/postgres/pgtest", "the programs that are measured need a database to stand on and a certificate, and their peers write rows of the same form"},
	{"crash", "server/servertest server server/store/postgres/pgtest", "a database to kill, and a server in a box where only the client is"},
	{"sim", "client/guard client/memdir client/remote client/state client/syncer server/auth server/figures server/leak server/ledger server/rest server/store server/store/memory", "the simulation puts whole clients and a whole server together, with a disk, a wire and a clock of its own"},
	{"client/syncer", "api/scan", "a guard that finds words makes findings, so that no test needs a secret"},
	{"client/...", "client/memdir client/state client/remote", "state and plans are tested on real directories"},
}

// door says where a foreign library may stand. Tests names packages whose test
// files alone may use it.
type door struct{ library, at, tests, reason string }

// doors has a row for every library that is imported. A library behind one door
// can be replaced, and its oddities are known in one place.
var doors = []door{
	{"golang.org/x/text", "api client/recall server/search", "", "keys are compared under NFC and case folding, in one place for both wings; words under NFKC, where they are looked for"},
	{"github.com/zricethezav/gitleaks/v8", "api/scan", "", "its rules find secrets; its findings hold the secret itself and must not travel"},
	{"github.com/rs/zerolog", "", "api/scan", "gitleaks logs through it, and the tests see to it that it is silent"},
	{"github.com/pelletier/go-toml/v2", "api/scan", "", "it reads the rules of gitleaks"},

	{"github.com/go-chi/chi/v5", "server/rest", "", "routes are the contract's; one package turns them into handlers"},
	{"github.com/klauspost/compress/gzhttp", "server/dashboard server/rest", "", "answers are compressed with the ETag kept strong, and pages and their files"},
	{"github.com/klauspost/compress", "client/archive client/state server/backup server/rest server/servertest server/store", "", "each use has a bound of its own on what it unpacks: the wire, bodies in a database, base texts on a client's disk, archives of anybody's; and the black-box suite packs what it sends"},
	{"github.com/prometheus/client_golang", "client/metrics server/metrics", "", "what is counted is told by functions; one package of each wing knows Prometheus, and no registry is global"},
	{"golang.org/x/time", "server/organization", "", "a token bucket bounds the writes of an organization, and the rows that its refusals make"},
	{"golang.org/x/sync", "server/rest server/ledger server/store/storetest client/memdir", "...", "a weighted semaphore bounds the memory of bodies; entries are scanned, and folders walked, side by side; tests run writers so"},
	{"github.com/jackc/pgx/v5", "server/store/postgres server/store/postgres/pgtest", "bench deploy/patroni", "Postgres is known to its own store only, and to the bare peer that the store is measured against; what a cluster holds is read on each machine"},
	{"modernc.org/sqlite", "server/store/sqlite", "bench crash", "SQLite is known to its own store only, to the bare peer that the store is measured against, and to the power cut that asks it whether a file is whole"},
	{"github.com/golang-migrate/migrate/v4", "server/store/schema", "", "its locks differ by database and it closes what it is given: one package knows that"},

	{"github.com/bmatcuk/doublestar/v4", "server/auth client/claudemd", "", "patterns of repos say who may do what, and globs which rules apply to a file; one package of each wing matches them"},

	{"github.com/coreos/go-oidc/v3", "server/auth/provider client/signin", "", "each wing finds out a provider's addresses in one place"},
	{"golang.org/x/oauth2", "server/auth/provider client/signin", "", "the flows of OAuth, where the provider is spoken to"},
	{"github.com/go-jose/go-jose/v4", "server/auth/provider devoidc", "", "signatures are checked with keys that are fetched and bounded by us; the provider for tests signs with it"},
	{"github.com/zitadel/oidc/v3", "devoidc", "", "a certified provider, for tests and for trying out"},
	{"github.com/chromedp/chromedp", "", "...", "a real browser"},
	{"github.com/chromedp/cdproto", "", "server/dashboard", "what the browser is told beside: light or dark, and to look away from the content policy"},
	{"github.com/zalando/go-keyring", "client/config", "", "the system's keyring, where there is one"},
	{"github.com/gofrs/flock", "client/config client/memdir server/store/sqlite server", "", "a lock of the operating system, for one daemon a directory and one migration a file"},
	{"golang.org/x/sys", "client/memdir cmd/client", "crash deploy/patroni", "what os does not show: inode and ctime, for the doctor whether a folder may be written to, and for the crash harness each system call of a client; sockets in a machine's network namespace"},
	{"github.com/yuin/goldmark", "client/claudemd server/dashboard", "", "where code and comments stand in instructions is CommonMark's to say, and how an entry looks on a page"},
	{"github.com/microcosm-cc/bluemonday", "server/dashboard", "", "what is rendered of an entry is sanitised all the same, in one place"},
	{"golang.org/x/net", "", "server/dashboard", "pages are held against the standard's parser"},
	{"github.com/fsnotify/fsnotify", "client/watch", "", "events differ by system and lie; one package settles them"},
	{"go.yaml.in/yaml/v4", "client/lint", "", "front matter is read line by line; a YAML parser is a second opinion, to tell where another agent reads otherwise"},
	{"github.com/cenkalti/backoff/v5", "client/remote", "", "retries are decided where the wire is spoken"},
	{"charm.land/lipgloss/v2", "client/tui", "", "one package owns the terminal"},
	{"github.com/aymanbagabas/go-udiff", "client/tui server/reading server/rest", "", "a diff is for showing only: in the terminal, as the answer of the diff route, and by words and blame beside a text"},
	{"golang.org/x/term", "client/tui cmd/server", "", "whether a person is looking; the client's voice asks for itself, the server's door for a first start"},
	{"github.com/modelcontextprotocol/go-sdk", "client/mcp cmd/client", "", "the protocol's tools and resources are one package's business; the door hands it the standard streams"},
	{"github.com/spf13/cobra", "cmd/client cmd/server", "", "flags and help are the doors' business"},
	{"github.com/spf13/pflag", "cmd/client cmd/server", "", "flags and help are the doors' business"},

	{"pgregory.net/rapid", "server/store/storetest", "...", "properties; the storage suite is a package that only tests import"},
	{"github.com/getkin/kin-openapi", "server/servertest", "...", "answers are held against openapi.yaml in tests only"},
	{"github.com/rogpeppe/go-internal", "", "...", "scripts that a user could read, and archives of files"},
	{"github.com/anishathalye/porcupine", "", "crash", "histories of concurrent clients are checked for linearizability"},
	{"go.uber.org/goleak", "", "...", "no goroutine is left behind"},
}

// quiet says what a package, or one file of it, may not use: packages by their
// path, names as path.Name, and init for functions of that name.
var quiet = []struct{ room, not, but, reason string }{
	{"...", "os.Exit log.Fatal log.Fatalf log.Fatalln", "cmd/server cmd/client cmd/devoidc", "a program ends in its door and nowhere else, so that everything opened is closed"},
	{"...", "init", "", "nothing happens by being imported; what a package needs comes in as an argument"},
	{"api api/scan", "os log/slog database/sql os/exec net time.Now time.Since time.Sleep", "", "the contract is pure: no I/O, no clock, no logging"},
	{"server/ledger server/audit server/search", "net/http database/sql os/exec os time.Now time.Since time.Sleep time.After time.NewTimer", "", "the rules are decided on values alone, so that they can be tested and simulated; the clock is an argument"},
	{"client/memdir", "net/http database/sql os/exec time.Now time.Since time.Sleep", "", "files are compared by what they are, never by when one looks; the clock is an argument"},
	{"client/hook/settings", "net/http os os/exec time.Now time.Since time.Sleep", "", "an edit of a person's file is worked out from its text, so that it can be shown and tested before anything is written"},
	{"api/memory client/curate client/lint", "net/http database/sql os os/exec time.Now time.Since time.Sleep", "", "what an agent reads in a file depends on its bytes alone; where it lies and when one looks come in as arguments"},
	{"client/merge client/syncer/plan.go client/syncer/brake.go", "net/http database/sql os/exec os time.Now time.Since time.Sleep math/rand math/rand/v2", "", "a merge and a plan are values computed from values, so that they can be printed, tested and replayed"},
	{"client/...", "database/sql", "", "the client keeps files, not a database"},
	{"server/store server/store/memory server/store/storetest server/rest server/auth", "database/sql", "", "SQL stands in the two stores that speak it"},
}

func TestArchitecture(t *testing.T) {
	tree, err := readTree(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range violations(tree) {
		t.Error(line)
	}
	packages, libraries := map[string]bool{}, map[string]bool{}
	for _, src := range tree {
		packages[src.pkg] = true
		for _, imported := range src.imports {
			if d := doorOf(imported); d != nil {
				libraries[d.library] = true
			}
		}
	}
	for _, w := range walls {
		if !packages[w.pkg] {
			t.Errorf("walls has a row for %s, which is not there", w.pkg)
		}
	}
	for _, d := range doors {
		if !libraries[d.library] {
			t.Errorf("doors has a row for %s, which nothing imports", d.library)
		}
	}
	if len(packages) < 20 {
		t.Errorf("only %d packages were read", len(packages))
	}
}

// The checker finds what is planted, and says why it is wrong.
func TestArchitectureFindsWhatIsPlanted(t *testing.T) {
	for _, c := range []struct{ path, text, want string }{
		{"server/rest/x.go", `package rest; import _ "github.com/teammem/teammem/server/store/sqlite"`, "decides nothing itself"},
		{"server/rest/x.go", `package rest; import _ "github.com/teammem/teammem/client/remote"`, "decides nothing itself"},
		{"client/x.go", `package client; import _ "github.com/teammem/teammem/server"`, "client's parts are put together"},
		{"client/x_test.go", `package client; import _ "github.com/teammem/teammem/server/rest"`, "no row of testWalls"},
		{"api/x.go", `package api; import _ "github.com/teammem/teammem/server"`, "importable by anyone"},
		{"api/x_windows.go", `package api; import _ "github.com/teammem/teammem/client"`, "importable by anyone"},
		{"client/syncer/x.go", `package syncer; import _ "github.com/teammem/teammem/client/tui"`, "nothing below knows them"},
		{"server/store/sqlite/x.go", `package sqlite; import _ "github.com/jackc/pgx/v5"`, "known to its own store only"},
		{"server/store/sqlite/x.go", `package sqlite; import _ "github.com/golang-migrate/migrate/v4/source/iofs"`, "one package knows that"},
		{"client/merge/x.go", `package merge; import _ "pgregory.net/rapid"`, "only tests import"},
		{"server/ledger/x_test.go", `package ledger; import _ "example.org/new"`, "without a row in doors"},
		{"newroom/x.go", `package newroom`, "stands in no row of walls"},
		{"server/ledger/x.go", `package ledger; import "net/http"; var _ http.Handler`, "decided on values alone"},
		{"server/ledger/x.go", `package ledger; import clock "time"; var _ = clock.Now`, "decided on values alone"},
		{"client/memdir/x.go", `package memdir; import "time"; func f() { _ = time.Now() }`, "never by when one looks"},
		{"client/syncer/plan.go", `package syncer; import _ "os/exec"`, "computed from values"},
		{"client/tui/x.go", `package tui; import "os"; func f() { os.Exit(1) }`, "ends in its door"},
		{"server/auth/x.go", `package auth; func init() {}`, "by being imported"},
		{"server/rest/x.go", `package rest; import _ "database/sql"`, "the two stores that speak it"},
	} {
		found := planted(t, c.path, c.text)
		if len(found) != 1 || !strings.Contains(found[0], c.want) || !strings.Contains(found[0], strings.TrimSuffix(c.path, "/x.go")) {
			t.Errorf("%s: %s\nfound %q, want one line with %q", c.path, c.text, found, c.want)
		}
	}
	for _, c := range []struct{ path, text string }{
		{"server/rest/x.go", `package rest; import _ "github.com/teammem/teammem/server/ledger"`},
		{"client/x_test.go", `package client; import _ "github.com/teammem/teammem/server/servertest"`},
		{"server/ledger/x_test.go", `package ledger; import "time"; var _ = time.Now`},
		{"server/ledger/x.go", `package ledger; import "time"; var _ time.Time; type T struct{}; func (T) init() {}`},
		{"cmd/server/x.go", `package main; import "os"; func f() { os.Exit(1) }`},
		{"client/syncer/loop.go", `package syncer; import _ "os"`},
		{"api/testdata/x.go", `package x; import _ "os"`},
		{"tools/x.go", `package tools; import _ "example.org/tool"`},
		{".ci/x.go", `package x`},
	} {
		if found := planted(t, c.path, c.text); len(found) != 0 {
			t.Errorf("%s: %s\nfound %q, want nothing", c.path, c.text, found)
		}
	}
}

func planted(t *testing.T, path, text string) []string {
	t.Helper()
	tree, err := readTree(fstest.MapFS{path: {Data: []byte(text)}, "tools/go.mod": {}, "main.go": {Data: []byte("package teammem")}})
	if err != nil {
		t.Fatal(err)
	}
	return violations(tree)
}

package bench

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite" // the driver "sqlite", as the product's store uses it

	"github.com/teammem/teammem/api"
)

// bareEntries is the bare handler's one read for hashes. The parameters are written
// as both databases understand them. For the head it makes the product's own read.
const bareEntries = `SELECT r.version, r.checksum, r.last_modified, s.epoch, o.uid, e.key, e.checksum
FROM repos r JOIN organizations o ON o.id = r.org_id JOIN server s ON s.id = 1 JOIN entries e ON e.repo_id = r.id
WHERE r.org_id = $1 AND r.slug = $2 ORDER BY e.key`

// bareRow is a row of either database.
type bareRow interface{ Scan(into ...any) error }

// bareStore is a pool of connections and nothing more.
type bareStore interface {
	head(ctx context.Context, slug string) (version int64, checksum []byte, err error)
	entries(ctx context.Context, slug string, row func(bareRow) error) error
	modified() (into any, value func() time.Time)
}

// bareHTTP is the peer of GET: HTTP KIND DSN ORG. It serves until it is ended.
func bareHTTP(arguments []string) error {
	kind, dsn := arguments[0], arguments[1]
	org, err := strconv.ParseInt(arguments[2], 10, 64)
	if err != nil {
		return err
	}
	var store bareStore
	if kind == "sqlite" {
		store, err = openBareFile(dsn, org)
	} else {
		store, err = openBarePool(dsn, org)
	}
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	return http.Serve(listener, bareHandler(store))
}

func bareHandler(store bareStore) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("view") == "hashes" {
			bareHashes(w, r, store, query.Get("repo"))
			return
		}
		version, checksum, err := store.head(r.Context(), query.Get("repo"))
		if err != nil {
			http.Error(w, "", http.StatusInternalServerError)
			return
		}
		etag := `"sha256:` + hex.EncodeToString(checksum) + `"`
		bareHeader(w, etag, version)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
		}
	})
}

func bareHeader(w http.ResponseWriter, etag string, version int64) {
	header := w.Header()
	header["Cache-Control"] = []string{"no-store"}
	header["X-Content-Type-Options"] = []string{"nosniff"}
	header["Vary"] = []string{"Accept-Encoding"}
	header[api.HeaderRequestID] = []string{"abcdefghij-1"}
	header["Etag"] = []string{etag}
	header[api.HeaderVersion] = []string{strconv.FormatInt(version, 10)}
}

// bareHashes writes what the product writes, with nothing between the rows and the
// bytes.
func bareHashes(w http.ResponseWriter, r *http.Request, store bareStore, slug string) {
	var version int64
	var head, sum []byte
	var epoch, org, key string
	lastModified, when := store.modified()
	sums := make([]byte, 0, 16<<10)
	err := store.entries(r.Context(), slug, func(row bareRow) error {
		if err := row.Scan(&version, &head, lastModified, &epoch, &org, &key, &sum); err != nil {
			return err
		}
		if len(sums) > 0 {
			sums = append(sums, ',')
		}
		sums = strconv.AppendQuote(sums, key)
		sums = append(sums, `:"sha256:`...)
		sums = hex.AppendEncode(sums, sum)
		sums = append(sums, '"')
		return nil
	})
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	checksum := hex.EncodeToString(head)
	body := make([]byte, 0, 2*len(sums)+1024)
	body = fmt.Appendf(body, `{"organizationId":"%s","repo":"%s","version":%d,"epoch":"%s","lastModified":"%s","checksum":"sha256:%s","deleted":{},"entryChecksums":{`,
		org, slug, version, epoch, when().UTC().Format(api.TimeFormat), checksum)
	body = append(body, sums...)
	body = append(body, `},"content":{"entryChecksums":{`...)
	body = append(body, sums...)
	body = append(body, `}}}`...)
	bareHeader(w, `"sha256:`+checksum+`"`, version)
	w.Header()["Content-Type"] = []string{"application/json"}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body)
}

// bareFile reads SQLite through database/sql, with both statements prepared.
type bareFile struct {
	org              int64
	heads, entryRows *sql.Stmt
}

func openBareFile(dsn string, org int64) (*bareFile, error) {
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite://")+"?mode=rw&_pragma=query_only(1)&_busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	s := &bareFile{org: org}
	own, err := readStatements("sqlite")
	if err != nil {
		return nil, err
	}
	if s.heads, err = db.Prepare(own["selectHead"]); err != nil {
		return nil, err
	}
	s.entryRows, err = db.Prepare(bareEntries)
	return s, err
}

func (s *bareFile) head(ctx context.Context, slug string) (version int64, checksum []byte, err error) {
	var id, entries, bytes, modified int64
	err = s.heads.QueryRowContext(ctx, s.org, slug).Scan(&id, &version, &checksum, &entries, &bytes, &modified)
	return version, checksum, err
}

func (s *bareFile) entries(ctx context.Context, slug string, row func(bareRow) error) error {
	rows, err := s.entryRows.QueryContext(ctx, s.org, slug)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *bareFile) modified() (into any, value func() time.Time) {
	var millis int64
	return &millis, func() time.Time { return time.UnixMilli(millis) }
}

// barePool reads Postgres through pgx, which prepares what it is asked often.
type barePool struct {
	org        int64
	pool       *pgxpool.Pool
	selectHead string
}

func openBarePool(dsn string, org int64) (*barePool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 24 // as many as the product's
	own, err := readStatements("postgres")
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return &barePool{org: org, pool: pool, selectHead: own["selectHead"]}, err
}

func (s *barePool) head(ctx context.Context, slug string) (version int64, checksum []byte, err error) {
	var id, entries, bytes int64
	var modified time.Time
	err = s.pool.QueryRow(ctx, s.selectHead, s.org, slug).Scan(&id, &version, &checksum, &entries, &bytes, &modified)
	return version, checksum, err
}

func (s *barePool) entries(ctx context.Context, slug string, row func(bareRow) error) error {
	rows, err := s.pool.Query(ctx, bareEntries, s.org, slug)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s *barePool) modified() (into any, value func() time.Time) {
	var at time.Time
	return &at, func() time.Time { return at }
}

package bench

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// bareSQLite is the peer of PUT on SQLite: SQLITE FILE ORG DURATION. One loop runs
// the product's own statements, prepared, through the product's driver; contents are
// packed beforehand. It says how many pushes a second it made, and what each cost.
func bareSQLite(arguments []string) error {
	org, err := strconv.ParseInt(arguments[1], 10, 64)
	if err != nil {
		return err
	}
	long, err := time.ParseDuration(arguments[2])
	if err != nil {
		return err
	}
	bare, err := openBareWriter(arguments[0], org)
	if err != nil {
		return err
	}
	begun, before, n := time.Now(), cpuOf(os.Getpid()), 0
	for ; time.Since(begun) < long; n++ {
		if err := bare.push(); err != nil {
			return err
		}
	}
	took, used := time.Since(begun), cpuOf(os.Getpid())-before
	fmt.Printf("%f %f\n", float64(n)/took.Seconds(), used.Seconds()/float64(n))
	return bare.db.Close()
}

// bareWriter is a connection with prepared statements.
type bareWriter struct {
	org      int64
	db       *sql.DB
	prepared map[string]*sql.Stmt
	data     [perPut][]byte
	subject  string
}

func openBareWriter(path string, org int64) (*bareWriter, error) {
	own, err := readStatements("sqlite")
	if err != nil {
		return nil, err
	}
	w := &bareWriter{org: org, prepared: map[string]*sql.Stmt{}, subject: subject()}
	if w.db, err = sql.Open("sqlite", "file:"+path+"?_busy_timeout=5000&"+own["durability"]+"&"+own["writing"]); err != nil {
		return nil, err
	}
	w.db.SetMaxOpenConns(1)
	for _, name := range []string{"lockHead", "selectState", "selectWithdrawn", "insertBody", "upsertEntry", "insertHistory", "insertVersion", "insertAudit", "updateHead"} {
		if w.prepared[name], err = w.db.Prepare(own[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for i := range w.data {
		text := words(uint64(i), entrySize)
		w.data[i] = store.Pack(api.ChecksumOf([]byte(text)), []byte(text)).Data
	}
	return w, nil
}

// push is the transaction of a PUT.
func (w *bareWriter) push() error {
	tx, err := w.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var repo, version, skipped int64
	var sum, set, chain []byte
	err = tx.Stmt(w.prepared["lockHead"]).QueryRow(w.org, writtenRepo(rand.IntN(writtenRepos))).
		Scan(&repo, &version, &sum, &skipped, &skipped, &skipped, &skipped, &skipped, &set, &chain)
	if err != nil {
		return err
	}
	keys := make([]string, perPut)
	for i := range keys {
		keys[i] = topic(rand.IntN(standing/perPut)*perPut + i)
	}
	if err := w.readState(tx, repo, keys); err != nil {
		return err
	}
	contents := make([][]byte, perPut)
	for i := range contents {
		contents[i] = binary.LittleEndian.AppendUint64(make([]byte, 24, 32), rand.Uint64())
	}
	if err := w.checkWithdrawn(tx, contents); err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	version++
	for i, key := range keys {
		if err := w.writeEntry(tx, repo, version, now, key, contents[i], w.data[i]); err != nil {
			return err
		}
	}
	if _, err := tx.Stmt(w.prepared["insertVersion"]).Exec(repo, version, now, 1, 1, "bench", sum); err != nil {
		return err
	}
	_, err = tx.Stmt(w.prepared["insertAudit"]).Exec(repo, version, now, "push", "dana", "tok_0123456789abcdef", "bench", w.subject, chain, chain)
	if err != nil {
		return err
	}
	if _, err := tx.Stmt(w.prepared["updateHead"]).Exec(repo, version, sum, standing, 2048000, now, set, chain, 0, 0); err != nil {
		return err
	}
	return tx.Commit()
}

func (w *bareWriter) readState(tx *sql.Tx, repo int64, keys []string) error {
	own, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	withFolder, err := json.Marshal(append([]string{"notes"}, keys...))
	if err != nil {
		return err
	}
	rows, err := tx.Stmt(w.prepared["selectState"]).Query(repo, string(own), string(withFolder), string(own))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var key string
		var sum []byte
		var deleted, size, version int64
		var modified any
		if err := rows.Scan(&key, &sum, &deleted, &size, &modified, &version); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (w *bareWriter) checkWithdrawn(tx *sql.Tx, sums [][]byte) error {
	list := make([]string, len(sums))
	for i, sum := range sums {
		list[i] = hex.EncodeToString(sum)
	}
	brought, err := json.Marshal(list)
	if err != nil {
		return err
	}
	rows, err := tx.Stmt(w.prepared["selectWithdrawn"]).Query(w.org, string(brought))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if rows.Next() {
		return errors.New("a content was withdrawn")
	}
	return rows.Err()
}

func (w *bareWriter) writeEntry(tx *sql.Tx, repo, version, now int64, key string, sum, data []byte) error {
	if _, err := tx.Stmt(w.prepared["insertBody"]).Exec(w.org, sum, entrySize, 1, data); err != nil {
		return err
	}
	if _, err := tx.Stmt(w.prepared["upsertEntry"]).Exec(repo, version, key, key, false, sum, entrySize, now); err != nil {
		return err
	}
	_, err := tx.Stmt(w.prepared["insertHistory"]).Exec(repo, version, key, false, sum, sum, entrySize, now)
	return err
}

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// statements are those of the ways that every request takes, prepared once a
// connection. The writer's are used on the writer only.
type statements struct {
	selectHead, selectEntries, selectNear, selectFar, selectBody, selectToken *sql.Stmt

	lockHead, insertRepo, selectState, selectWithdrawn                             *sql.Stmt
	insertBody, upsertEntry, insertHistory, insertVersion, insertAudit, updateHead *sql.Stmt
}

func (s *statements) prepare(ctx context.Context, db *DB) error {
	for _, one := range []struct {
		handle *sql.DB
		into   **sql.Stmt
		text   string
	}{
		{db.reader, &s.selectHead, selectHead},
		{db.reader, &s.selectEntries, selectEntries},
		{db.reader, &s.selectNear, selectEntriesNear},
		{db.reader, &s.selectFar, selectEntriesFar},
		{db.reader, &s.selectBody, selectBody},
		{db.reader, &s.selectToken, selectTokenByHash},
		{db.writer, &s.lockHead, lockHead},
		{db.writer, &s.insertRepo, insertRepo},
		{db.writer, &s.selectState, selectState},
		{db.writer, &s.selectWithdrawn, selectWithdrawn},
		{db.writer, &s.insertBody, insertBody},
		{db.writer, &s.upsertEntry, upsertEntry},
		{db.writer, &s.insertHistory, insertHistory},
		{db.writer, &s.insertVersion, insertVersion},
		{db.writer, &s.insertAudit, insertAudit},
		{db.writer, &s.updateHead, updateHead},
	} {
		statement, err := one.handle.PrepareContext(ctx, one.text)
		if err != nil {
			return fail(ctx, fmt.Sprintf("preparing %.40q", one.text), err)
		}
		*one.into = statement
	}
	return nil
}

func (s *statements) close() (err error) {
	for _, statement := range []*sql.Stmt{
		s.selectHead, s.selectEntries, s.selectNear, s.selectFar, s.selectBody, s.selectToken, s.lockHead, s.insertRepo, s.selectState,
		s.selectWithdrawn, s.insertBody, s.upsertEntry, s.insertHistory, s.insertVersion, s.insertAudit, s.updateHead,
	} {
		if statement != nil {
			err = errors.Join(err, statement.Close())
		}
	}
	return err
}

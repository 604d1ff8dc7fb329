package servertest

import (
	"testing"

	"github.com/teammem/teammem/server/store/postgres/pgtest"
)

// OnPostgres runs the server on a fresh database of a real Postgres. The test is
// skipped where there is none, see pgtest.
func OnPostgres(options ...pgtest.Option) Option {
	return func(t testing.TB, s *Server) { s.Config.Database = pgtest.DSN(t, options...) }
}

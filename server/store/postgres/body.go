package postgres

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// bodiesAtOnce bounds what Bodies holds in memory, and for how long it holds a
// connection: fn may be as slow as a client's network.
const bodiesAtOnce = 32

const (
	selectBodies = `SELECT b.checksum, b.size, b.coding, b.data FROM unnest($2::bytea[]) AS wanted
CROSS JOIN LATERAL (SELECT * FROM bodies WHERE org_id = $1 AND checksum = wanted LIMIT 1) b`

	insertBodies = `INSERT INTO bodies (org_id, checksum, size, coding, data)
SELECT $1, w.* FROM unnest($2::bytea[], $3::integer[], $4::smallint[], $5::bytea[]) AS w
ON CONFLICT (org_id, checksum) DO NOTHING`
)

// Bodies calls fn with each content, in order, verified. No connection is held
// while fn runs.
func (db *DB) Bodies(ctx context.Context, org store.OrgID, sums []api.Checksum, fn func(api.Checksum, []byte) error) error {
	for piece := range slices.Chunk(sums, bodiesAtOnce) {
		found, err := db.bodies(ctx, org, piece)
		if err != nil {
			return err
		}
		for _, sum := range piece {
			content, err := store.Unpack(found, sum)
			if err != nil {
				return err
			}
			if err := fn(sum, content); err != nil {
				return err
			}
		}
	}
	return nil
}

func (db *DB) bodies(ctx context.Context, org store.OrgID, sums []api.Checksum) (map[api.Checksum]*store.Body, error) {
	wanted := make([][]byte, len(sums))
	for i, sum := range sums {
		wanted[i] = raw(sum)
	}
	found := make(map[api.Checksum]*store.Body, len(sums))
	err := db.read(ctx, "bodies", func(conn *pgxpool.Conn) error {
		batch := &pgx.Batch{}
		batch.Queue(beginRead)
		batch.Queue(setRead)
		batch.Queue(selectBodies, int64(org), wanted)
		batch.Queue(commit)
		return db.send(ctx, conn, batch, func(results pgx.BatchResults) error {
			if err := skip(results, 2); err != nil {
				return err
			}
			rows, err := results.Query()
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
				body := &store.Body{}
				err := row.Scan((*checksum)(&body.Checksum), &body.Size, (*int16)(&body.Coding), &body.Data)
				found[body.Checksum] = body
				return struct{}{}, err
			})
			return err
		})
	})
	return found, err
}

// contents are a bytea[] of which the driver's buffer is told the size. It would grow
// by doubling, from nothing at every statement, which is a quarter of all memory that
// a PUT takes.
type contents [][]byte

// makeRoom lets the driver encode contents.
func makeRoom(value any) (pgtype.WrappedEncodePlanNextSetter, any, bool) {
	all, ok := value.(contents)
	if !ok {
		return nil, nil, false
	}
	return &roomy{}, [][]byte(all), true
}

// roomy makes room and has the driver do the rest.
type roomy struct{ next pgtype.EncodePlan }

// SetNext says who encodes.
func (r *roomy) SetNext(next pgtype.EncodePlan) { r.next = next }

// Encode appends to buf.
func (r *roomy) Encode(value any, buf []byte) ([]byte, error) {
	all := [][]byte(value.(contents))
	size := 64
	for _, one := range all {
		size += 4 + len(one)
	}
	return r.next.Encode(all, slices.Grow(buf, size))
}

// bodyColumns are the arguments of insertBodies. The order keeps two transactions
// that bring the same contents from waiting for each other.
func bodyColumns(change *store.Change) (sums [][]byte, sizes []int32, codings []int16, data contents) {
	bodies := make([]*store.Body, 0, len(change.Writes))
	for i := range change.Writes {
		if body := change.Writes[i].Body; body != nil {
			bodies = append(bodies, body)
		}
	}
	for i := range change.Proposals {
		if body := change.Proposals[i].Body; body != nil {
			bodies = append(bodies, body)
		}
	}
	slices.SortFunc(bodies, func(a, b *store.Body) int { return bytes.Compare(raw(a.Checksum), raw(b.Checksum)) })
	for i, body := range bodies {
		if i > 0 && body.Checksum == bodies[i-1].Checksum {
			continue
		}
		sums = append(sums, raw(body.Checksum))
		sizes = append(sizes, int32(body.Size))
		codings = append(codings, int16(body.Coding))
		data = append(data, body.Data)
	}
	return sums, sizes, codings, data
}

package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammem/server/store"
)

const (
	// channel is what the servers of one database notify each other on. Databases
	// have channels of their own.
	channel = "teammem_changes"

	// notify must not be part of the transaction that it tells of: a commit that
	// notifies holds one lock for the whole database. And word of a change need
	// not survive a power cut.
	notify = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, said) FROM unnest($2::text[]) AS said`
	listen = `LISTEN ` + channel

	// listenerName is what the listening session is called in pg_stat_activity.
	listenerName = "teammem listener"

	// mostQueued is how many repos may wait to be announced. More become one
	// announcement that says nothing but: look.
	mostQueued = 1024
	// lookText is that announcement.
	lookText = "look"

	// A listening session that was silent for so long has to prove that it still
	// hears, and gets so long for it.
	silentTime = 20 * time.Second
	proofTime  = 5 * time.Second

	// Pauses after a fault double from the first to the longest, each drawn between
	// its half and its whole.
	firstPause   = 50 * time.Millisecond
	longestPause = 10 * time.Second

	// lastWords is what the announcements get that wait when a server ends.
	lastWords = time.Second
)

// queue holds what waits to be announced: of each repo the newest version.
type queue struct {
	mu      sync.Mutex
	waiting map[place]store.Announcement
	look    bool // there were too many
	wake    chan struct{}
}

type place struct{ org, repo string }

func newQueue() *queue {
	return &queue{waiting: map[place]store.Announcement{}, wake: make(chan struct{}, 1)}
}

func (q *queue) add(a store.Announcement) {
	at := place{a.OrgUID, string(a.Slug)}
	q.mu.Lock()
	if !q.look && q.waiting[at].Version < a.Version {
		q.waiting[at] = a
	}
	if len(q.waiting) > mostQueued {
		q.overflow()
	}
	q.mu.Unlock()
	q.poke()
}

// overflow forgets the single repos.
func (q *queue) overflow() {
	clear(q.waiting)
	q.look = true
}

func (q *queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (q *queue) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var said []string
	if q.look {
		said = append(said, lookText)
	}
	for _, a := range q.waiting {
		text, err := json.Marshal(a)
		if err != nil {
			continue // strings and a number: there is no such error
		}
		said = append(said, string(text))
	}
	clear(q.waiting)
	q.look = false
	return said
}

// lose notes that what was taken did not get out.
func (q *queue) lose() {
	q.mu.Lock()
	q.overflow()
	q.mu.Unlock()
	q.poke()
}

// Announce queues word of a change for [DB.Exchange].
func (db *DB) Announce(a store.Announcement) { db.queue.add(a) }

// Exchange tells the other servers, and listens to them, until ctx ends.
func (db *DB) Exchange(ctx context.Context, heard func(store.Announcement), missed func(context.Context)) {
	var sender sync.WaitGroup
	sender.Go(func() { db.sendQueued(ctx) })
	defer sender.Wait()
	l := &listener{db: db, self: rand.Text(), heard: heard, missed: missed, pause: firstPause}
	for ctx.Err() == nil {
		err := l.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if !l.troubled {
			l.troubled = true
			db.log.Warn("no word from other servers on this database; looking for changes now and then until there is", "error", err)
		}
		pause(ctx, &l.pause)
	}
}

// sendQueued notifies until ctx ends, and then once more.
func (db *DB) sendQueued(ctx context.Context) {
	wait := firstPause
	for {
		select {
		case <-db.queue.wake:
			if db.notify(ctx) == nil {
				wait = firstPause
				continue
			}
			pause(ctx, &wait)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			_ = db.notify(last) // the others find out when they are asked
			return
		}
	}
}

// notify sends what waits, in one statement.
func (db *DB) notify(ctx context.Context) error {
	said := db.queue.take()
	if len(said) == 0 {
		return nil
	}
	err := db.say(ctx, said)
	if err != nil {
		db.queue.lose()
	}
	return err
}

func (db *DB) say(ctx context.Context, said []string) error {
	return db.read(ctx, "notify", func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, notify, channel, said)
		return err
	})
}

// listener is the side of Exchange that hears.
type listener struct {
	db       *DB
	self     string // tells this server's proofs from those of others
	heard    func(store.Announcement)
	missed   func(context.Context)
	pause    time.Duration
	troubled bool
}

// errDeaf: the session does not carry notifications.
var errDeaf = errors.New("the session does not hear what the server itself says: its connection is dead, or a pooler in transaction mode takes it away, which an address past the pooler cures")

// session listens on one connection until that breaks. What was said before is
// made up for, whether or not it gets so far: on a way that carries no
// notifications the tries themselves keep listeners up to date.
func (l *listener) session(ctx context.Context) error {
	config := l.db.pool.Config().ConnConfig
	config.RuntimeParams["application_name"] = listenerName
	config.OnNotification = nil // the connection keeps them until they are waited for
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fail(ctx, "connecting to listen", err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(end)
	}()
	if _, err := conn.Exec(ctx, listen); err != nil {
		return fail(ctx, "listening", err)
	}
	l.missed(ctx)
	for {
		if err := l.prove(ctx, conn); err != nil {
			return err
		}
		if l.troubled {
			l.db.log.Info("word from other servers on this database again")
		}
		l.pause, l.troubled = firstPause, false
		if err := l.hearUntilSilence(ctx, conn); err != nil {
			return err
		}
	}
}

// prove lets the pool say something that the session must hear, without asking for
// it. A pooler keeps a session's notifications only by chance, and a connection whose
// other end has gone without a word is found as well.
func (l *listener) prove(ctx context.Context, conn *pgx.Conn) error {
	proof := l.self + "." + rand.Text()
	wait, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	if err := l.db.say(wait, []string{proof}); err != nil {
		return err
	}
	for {
		said, err := conn.WaitForNotification(wait)
		switch {
		case err != nil && ctx.Err() == nil && wait.Err() != nil:
			return errDeaf
		case err != nil:
			return fail(ctx, "listening", err)
		case said.Payload == proof:
			return nil
		}
		l.take(ctx, said.Payload)
	}
}

// hearUntilSilence returns nil after a silence.
func (l *listener) hearUntilSilence(ctx context.Context, conn *pgx.Conn) error {
	for {
		wait, cancel := context.WithTimeout(ctx, silentTime)
		said, err := conn.WaitForNotification(wait)
		silent := wait.Err() != nil
		cancel()
		switch {
		case err != nil && silent && ctx.Err() == nil && !conn.IsClosed():
			return nil
		case err != nil:
			return fail(ctx, "listening", err)
		}
		l.take(ctx, said.Payload)
	}
}

// take passes on what was said. What it does not know is another server's proof,
// or of a newer server.
func (l *listener) take(ctx context.Context, said string) {
	if said == lookText {
		l.missed(ctx)
		return
	}
	var a store.Announcement
	if json.Unmarshal([]byte(said), &a) == nil && a.OrgUID != "" && a.Slug != "" && a.Version > 0 {
		l.heard(a)
	}
}

// pause waits, and makes the next wait longer.
func pause(ctx context.Context, wait *time.Duration) {
	timer := time.NewTimer(*wait/2 + mathrand.N(*wait/2+1))
	defer timer.Stop()
	*wait = min(2**wait, longestPause)
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

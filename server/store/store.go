// Package store is the storage contract of the server, method by method. It has
// two implementations, store/sqlite (embedded, the default) and store/postgres;
// store/storetest is the suite that both must pass.
//
// What is kept: organizations, their users, tokens and policies; repos, each with a head
// (version, checksum, counts); the current row of every key, tombstones
// included; one row a version and one a change of a key, append-only; bodies by
// checksum, once an organization, compressed; and the audit trail.
//
// What is promised: a [Store.Commit] is one transaction under the repo's lock, which
// others that wait may share ([Gather]), durable when it returns, seen whole or not at
// all; reads see one instant; no
// method takes a second connection inside a transaction. The store knows no
// rules: which change is allowed is decided by the ledger, inside Commit, on the
// state that Commit read under the lock. Times are kept to the millisecond and
// come back in UTC.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/audit"
)

// Errors of the contract. Implementations wrap them; callers use errors.Is.
var (
	// ErrNotFound: no such organization, token or repo.
	ErrNotFound = errors.New("not found")
	// ErrExists: the name is taken.
	ErrExists = errors.New("already exists")
	// ErrBusy: the database cannot serve this now and may in a moment (no free
	// connection, a lock timeout, a failover). Nothing was changed.
	ErrBusy = errors.New("the database is busy")
	// ErrUnsure: the database was lost while it was to say whether a change stands.
	// Whoever asks for the same again is told.
	ErrUnsure = errors.New("the database did not say whether the change stands")
	// ErrCorrupt: what was read does not have the checksum it was stored under.
	ErrCorrupt = errors.New("stored content does not match its checksum")
)

// OrgID, UserID, TokenID and RepoID are the database's own row numbers. They never
// leave the server.
type (
	OrgID   int64
	UserID  int64
	TokenID int64
	RepoID  int64
)

// Store is the contract. All methods are safe for concurrent use.
type Store interface {
	// Ping answers nil when the store can serve.
	Ping(ctx context.Context) error
	// Epoch is the database's epoch, see [api.Epoch].
	Epoch(ctx context.Context) (api.Epoch, error)

	// CreateOrganization adds an organization, with the first records of its chain.
	// [ErrExists] when its name is taken.
	CreateOrganization(ctx context.Context, org Organization, records ...audit.Record) (Organization, error)
	// Organizations lists all, by name.
	Organizations(ctx context.Context) ([]Organization, error)
	// Organization finds one by name. [ErrNotFound].
	Organization(ctx context.Context, name string) (Organization, error)

	// Access reads what decides about an organization's requests, as of one
	// instant. [ErrNotFound].
	Access(ctx context.Context, org OrgID) (Access, error)
	// Members lists an organization's members by name, removed ones included.
	Members(ctx context.Context, org OrgID) ([]Member, error)
	// Memberships lists the organizations that a user is in, by name.
	Memberships(ctx context.Context, user UserID) ([]Membership, error)
	// Repos lists an organization's repos that have memory, by slug.
	Repos(ctx context.Context, org OrgID) ([]RepoInfo, error)
	// Administer runs one change of an organization: it locks the organization,
	// reads its state, asks decide, and carries out the change that decide
	// returns together with its audit record, durably. The contract of decide is
	// that of [Store.Commit]. It returns the record as it was chained, or the
	// zero Record when there was nothing to do.
	Administer(ctx context.Context, org OrgID, about About, decide DecideOrg) (audit.Record, error)
	// OrgAudit reads an organization's audit chain after sequence number after,
	// oldest first, at most limit.
	OrgAudit(ctx context.Context, org OrgID, after int64, limit int) ([]audit.Record, error)
	// FindAudit reads the records of one chain that a query asks for.
	FindAudit(ctx context.Context, org OrgID, q AuditQuery) ([]audit.Record, error)
	// AuditEnds gives where the organization's chain ends, and where chains
	// begin that do not begin at their first record.
	AuditEnds(ctx context.Context, org OrgID) (head AuditPlace, anchors []AuditAnchor, err error)

	// CreateToken adds a token, and the user and the membership it needs where
	// they are new; a membership of a lower role is raised to the token's.
	// [ErrNotFound] when the organization is.
	CreateToken(ctx context.Context, token Token) (Token, error)
	// Tokens lists an organization's tokens, newest first, revoked and expired
	// ones included.
	Tokens(ctx context.Context, org OrgID) ([]Token, error)
	// TokenByHash finds a token, revoked and expired ones included, and the name
	// of its organization, in one indexed read. [ErrNotFound].
	TokenByHash(ctx context.Context, hash [32]byte) (Token, error)
	// RevokeToken ends a token by its public id. Ending it twice is no error and
	// keeps the first time. [ErrNotFound].
	RevokeToken(ctx context.Context, org OrgID, uid string, at time.Time) error
	// TouchToken notes when a token was last used.
	TouchToken(ctx context.Context, id TokenID, at time.Time) error

	// Policy reads the policy in force, and the organization's fingerprint key, in
	// one indexed read. [ErrNotFound] when the organization is. Another one is put in
	// force by Administer.
	Policy(ctx context.Context, org OrgID) (Policy, error)
	// Identity finds the user of a provider's subject. [ErrNotFound].
	Identity(ctx context.Context, issuer, subject string) (UserID, error)
	// BindIdentity says who a provider's subject is; without a user that is a new
	// one. A subject that is bound already stays who it is: whoever it is now is
	// returned.
	BindIdentity(ctx context.Context, id Identity) (UserID, error)
	// Vouch notes when a token of the subject was issued. It reports whether none
	// that was noted is newer; the newest stays.
	Vouch(ctx context.Context, issuer, subject string, issued time.Time) (bool, error)
	// AddSession adds a session, and drops those whose time was over
	// [SessionKept] before. One that is there already stays.
	AddSession(ctx context.Context, s Session) error
	// Session finds a session, ended ones included. [ErrNotFound].
	Session(ctx context.Context, hash [32]byte) (Session, error)
	// TouchSession notes when a session was last used. It never goes back.
	TouchSession(ctx context.Context, hash [32]byte, at time.Time) error
	// RenewSession notes that the provider of a session is asked, or was, and what it
	// takes next time. It changes nothing, and says so, where the session does not
	// stand as in was, or has ended: of several who want to ask only one does.
	RenewSession(ctx context.Context, hash [32]byte, was, is Asks, renewal string) (bool, error)
	// EndSession ends a session. Of several who do only one succeeds; the others
	// get [ErrNotFound].
	EndSession(ctx context.Context, hash [32]byte, at time.Time) (Session, error)
	// EndSessions ends all of a user's sessions of a kind, and says how many.
	EndSessions(ctx context.Context, user UserID, kind SessionKind, at time.Time) (int, error)
	// Invitations lists those of an organization (0: of all) to an address (empty:
	// to all).
	Invitations(ctx context.Context, org OrgID, email string) ([]Invitation, error)

	// Head reads a repo's head in one indexed read. A repo without memory has
	// the zero Head and no error.
	Head(ctx context.Context, ref RepoRef) (Head, error)
	// View reads a repo's head and the rows that changed after version since (0:
	// all), as of one instant, in key order, without bodies.
	View(ctx context.Context, ref RepoRef, since api.Version) (View, error)
	// Bodies calls fn with the body of each checksum, in the order asked for.
	// Bodies never change, so this may be called after the View they belong to,
	// in pieces. [ErrCorrupt] when one is missing, damaged, or not what its
	// checksum says; fn is never given wrong data.
	Bodies(ctx context.Context, org OrgID, sums []api.Checksum, fn func(sum api.Checksum, content []byte) error) error

	// Commit runs one change of a repo: it locks the repo, reads the state that
	// concerns the touched keys, asks decide, and carries out the change that
	// decide returns, durably. A nil change leaves everything as it is, and so
	// does an error of decide, which Commit returns as it is. decide may be
	// called again when the transaction has to be repeated, and on another's
	// goroutine, while the caller waits; it must not block.
	// Commit returns the head as it stands afterwards.
	Commit(ctx context.Context, ref RepoRef, touched []api.Key, decide Decide) (Head, error)

	// History reads the changes of one key, or of all keys when key is empty,
	// newest version first and within one in key order, below version before
	// (0: from the newest), of at most limit versions. A version is never cut in
	// two, so the last one's number is the next page's before.
	History(ctx context.Context, ref RepoRef, key api.Key, before api.Version, limit int) ([]Past, error)
	// Vacuum takes away what of an organization's history a cut names, and contents that
	// nothing refers to, in short transactions; a commit that runs meanwhile loses
	// nothing. Of each key the oldest changes go first, so that what stays is whole.
	Vacuum(ctx context.Context, org OrgID, cut Cut) (Vacuumed, error)
	// Forgotten is the newest version of a repo as of which an entry's text went; 0: none
	// has.
	Forgotten(ctx context.Context, ref RepoRef) (api.Version, error)
	// Authors lists who last changed each live entry, and when, in key order.
	Authors(ctx context.Context, ref RepoRef) ([]Authored, error)
	// Proposals lists those of an organization.
	Proposals(ctx context.Context, org OrgID, query ProposalQuery) ([]Proposal, error)
	// Proposal finds one by its public id. [ErrNotFound].
	Proposal(ctx context.Context, org OrgID, uid string) (Proposal, error)
	// Findings lists what was found in the live entries as they stand, in key
	// order and as they were written, of keys after the one named (empty: of all),
	// of at most limit keys.
	Findings(ctx context.Context, ref RepoRef, after api.Key, limit int) ([]Finding, error)
	// Audit reads a repo's audit trail after sequence number after, oldest
	// first, at most limit.
	Audit(ctx context.Context, ref RepoRef, after int64, limit int) ([]audit.Record, error)

	// Redactions reads those of the contents named that were withdrawn, or with nil
	// all, the oldest first.
	Redactions(ctx context.Context, org OrgID, sums []api.Checksum) ([]Redaction, error)
	// CountErased counts the contents of all organizations that were withdrawn and are
	// gone, so that a server hears of what a command beside it did.
	CountErased(ctx context.Context) (int64, error)
	// Withdraw notes that contents are withdrawn. Once it returned no Commit stores
	// them: it waits for those under way, and later ones are a [RedactedError]. What
	// was noted before stays as it was.
	Withdraw(ctx context.Context, org OrgID, all []Redaction) error
	// Holders lists the versions of a repo that hold contents.
	Holders(ctx context.Context, ref RepoRef, query HolderQuery) ([]Holder, error)
	// Erase takes away the bodies of withdrawn contents, for good, and notes that it
	// is done.
	Erase(ctx context.Context, org OrgID, sums []api.Checksum) error
	// Scrub does what the database can so that deleted bytes are not left in its
	// files either. With rewrite all that stands is written anew, whatever it costs;
	// without, only where that is a matter of seconds.
	Scrub(ctx context.Context, rewrite bool) (Scrubbed, error)

	// SearchLags lists the repos of an organization of which the index lacks
	// something, by slug.
	SearchLags(ctx context.Context, org OrgID) ([]SearchLag, error)
	// AddSearchDocs adds to a repo's index, and notes that it goes from one place to
	// another. What was withdrawn is left out, also where that is noted at this very
	// moment; what a redaction names leaves the index in its transaction. [ErrExists]
	// when somebody else added: the index does not end at from.
	AddSearchDocs(ctx context.Context, ref RepoRef, from, to SearchPlace, docs []SearchDoc) error
	// Search finds the newest versions of entries that a query asks for, of one time by
	// repo and key.
	Search(ctx context.Context, org OrgID, q SearchQuery) ([]SearchHit, error)
	// CountSearch counts what a query finds, up to its Limit.
	CountSearch(ctx context.Context, org OrgID, q SearchQuery) (int, error)

	// NotePulls notes that repos were served. The oldest and the newest version count.
	NotePulls(ctx context.Context, pulls []Pull) error
	// Pulls lists whom a repo was served to, by user and client.
	Pulls(ctx context.Context, ref RepoRef) ([]Pull, error)

	// NoteFigures adds what happened to what was noted before. A repo without memory
	// is noted as none.
	NoteFigures(ctx context.Context, all []Figure) error
	// Figures lists what happened in an organization from an hour on, in the order of
	// time and repo.
	Figures(ctx context.Context, org OrgID, from time.Time) ([]Figure, error)
	// DropFigures takes away the hours before.
	DropFigures(ctx context.Context, before time.Time) error
	// NoteClients notes what clients said of themselves, unless something later is
	// noted; of a user's clients [MostDirectories] are kept.
	NoteClients(ctx context.Context, all []Client) error
	// Clients lists an organization's clients, or with a user theirs, the one that was
	// heard of last first.
	Clients(ctx context.Context, org OrgID, user UserID) ([]Client, error)
	// DropClients takes away those of whom nothing was heard since.
	DropClients(ctx context.Context, before time.Time) error
	// NoteReads adds how often texts were served. The repos are their own row numbers, of
	// a head that the caller was let see.
	NoteReads(ctx context.Context, all []Reads) error
	// Reads says how often the texts of a repo's entries were served, of those that were.
	Reads(ctx context.Context, repo RepoID, keys []api.Key) (map[api.Key]int64, error)
	// Storage is how many bytes an organization's contents take, packed. It looks at
	// each of them.
	Storage(ctx context.Context, org OrgID) (int64, error)

	// CreateScan adds a scan.
	CreateScan(ctx context.Context, scan Scan) (Scan, error)
	// SaveScan writes how far a scan came, and what it found since. [ErrExists] when
	// somebody else went on with it: its Step is not the one after the stored one.
	SaveScan(ctx context.Context, scan Scan, found [][]byte) error
	// Scans lists scans of an organization, or with none of all, newest first.
	Scans(ctx context.Context, org OrgID, limit int) ([]Scan, error)
	// Scan finds one by its public id. [ErrNotFound].
	Scan(ctx context.Context, org OrgID, uid string) (Scan, error)
	// ScanFindings reads what a scan found, from number after on, as it was saved.
	ScanFindings(ctx context.Context, id int64, after, limit int) ([][]byte, error)

	// Close frees everything. No other method may be called afterwards.
	Close() error
}

// Announcer is what a store has in addition where several servers may share its
// database: a way to tell one another of changes. It carries word of a change, not
// the change; what is lost on the way is made up for by missed.
type Announcer interface {
	// Announce queues word of a change that is committed. It never waits, and of
	// several changes of one repo only the newest is sent.
	Announce(Announcement)
	// Exchange sends what is queued, and calls heard for what any server
	// announces, this one included, until ctx ends; what is queued then is still
	// sent, within a bound. It calls missed whenever word may have been lost: at
	// its start and after every loss of a connection. Both are called by one
	// goroutine, one at a time.
	Exchange(ctx context.Context, heard func(Announcement), missed func(context.Context))
}

// Announcement says that a repo has reached a version.
type Announcement struct {
	OrgUID   string       `json:"o"`
	Slug     api.RepoSlug `json:"r"`
	Version  api.Version  `json:"v"`
	Checksum api.Checksum `json:"c"`
}

// RepoRef names a repo within an organization.
type RepoRef struct {
	Org  OrgID
	Slug api.RepoSlug
	// For names whose standing proposals View and Commit show beside what everybody
	// sees; zero for nobody's. It is no part of the repo's name.
	For UserID
}

// Token is a bearer token of one user in one organization. The secret itself is
// never stored.
type Token struct {
	ID            TokenID
	UID           string // public, random: "tok_…"
	Org           OrgID
	OrgUID        string // filled by reads
	OrgName       string // filled by reads
	User          UserID // filled by reads and by CreateToken
	UserName      string
	Role          api.Role // a cap on its user's
	Hash          [32]byte // SHA-256 of the secret
	Prefix        string   // the secret's first characters, for people
	Created       time.Time
	Expires       time.Time // zero: never
	Revoked       time.Time // zero: not
	LastUsed      time.Time // zero: never
	Label         string    // what it is for, in its maker's words
	Scope         api.Scope // empty: all that the role holds
	Repos         Names     // patterns of the repos it is for; empty: all
	OrgMaxEntries int       // filled by reads: the organization's MaxEntries
	Member        Member    // filled by TokenByHash: its user, as of the same instant
}

// Head is the state of a repo in a few numbers. The zero Head is a repo without
// memory.
type Head struct {
	ID           RepoID
	Version      api.Version
	Checksum     api.Checksum // of the set of live entries
	Set          []byte       // the ledger's accumulator behind Checksum; read by Commit, and by View where Mine is not empty
	Entries      int          // live ones
	Bytes        int64        // of live entries' contents
	LastModified time.Time
	Proposals    int         // standing ones, of all authors
	Redacted     api.Version // the newest in which contents were withdrawn; 0: none
	AuditHead    [32]byte    // hash of the newest audit record; read by Commit only
}

// Row is the current state of one key.
type Row struct {
	Key      api.Key
	Checksum api.Checksum // of the content; of a tombstone: of what was deleted
	Deleted  bool
	Size     int
	Modified time.Time   // the file's own time as the writer named it
	Version  api.Version // of the last change of this key
}

// View is what a repo held at one instant.
type View struct {
	Head Head
	Rows []Row    // in key order
	Mine []Shadow // all that are standing of [RepoRef.For], in key order
	// Redacted are the contents that were withdrawn after the version asked from.
	Redacted []api.Checksum
}

// State is what Commit shows to decide: the head, and the rows of the touched
// keys (tombstones included), of their live twins, of live keys that are a
// directory of a touched key, and, for each touched key that is a directory of
// live keys that are not touched themselves, at least one of these. All comparing
// is by [api.Key.Fold].
type State struct {
	Head Head
	Rows map[api.Key]Row
	Mine []Shadow // as in [View]
}

// Decide makes the change, or returns nil for none, or an error for a refusal.
type Decide func(State) (*Change, error)

// Change is one new version of a repo.
type Change struct {
	Head   Head // as it shall be; ID is ignored
	Author Author
	Writes []Write
	// Findings are those of the writes, in the order in which they are listed.
	Findings  []Finding
	Proposals []ProposalWrite
	// Redacted are withdrawn contents that readers are told of with this version. What
	// was found in them goes, and open proposals of them are closed.
	Redacted []api.Checksum
	Audit    audit.Record // of this change
}

// Write is one key of a Change.
type Write struct {
	Key      api.Key
	Fold     string       // the key's Fold
	Checksum api.Checksum // of the content; of a deletion: of what is deleted
	Previous api.Checksum // what was live before; empty for nothing
	Deleted  bool
	Size     int
	Modified time.Time
	Body     *Body // nil for a deletion, and for what is Stored
	Stored   bool  // the content is there already, as that of a proposal
}

// Author is who made a change, and from where.
type Author struct {
	User   UserID
	Token  TokenID
	Client string // the machine's name for itself, see [api.HeaderClient]
}

// Past is one change of one key, as history keeps it.
type Past struct {
	Write    // without Body and Fold
	Version  api.Version
	At       time.Time
	UserName string
	Client   string
}

// Authored says who last changed a live entry.
type Authored struct {
	Key      api.Key
	Version  api.Version
	At       time.Time
	UserName string
	Client   string
}

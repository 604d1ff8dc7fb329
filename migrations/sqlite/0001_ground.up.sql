-- The ground: organizations with their people and tokens, and the memory of
-- their repos. The same nouns as the Postgres migration of this number, which
-- says where later issues will put what they add.
--
-- Times are milliseconds since 1970, UTC. Tables of small rows that are read by
-- their key are kept in its order (WITHOUT ROWID); those that hold contents are
-- not, because a large row in an ordered tree costs a page at every level.
--
-- Tables that a PUT writes in bulk carry no foreign keys, as on Postgres.

-- One row. The epoch is one life of this database: restoring a backup changes it.
CREATE TABLE server (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    epoch   TEXT    NOT NULL,
    created INTEGER NOT NULL
) STRICT;

CREATE TABLE organizations (
    id          INTEGER PRIMARY KEY,
    uid         TEXT    NOT NULL UNIQUE CHECK (uid <> ''),
    name        TEXT    NOT NULL UNIQUE CHECK (name <> ''),
    max_entries INTEGER NOT NULL,
    created     INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id      INTEGER PRIMARY KEY,
    created INTEGER NOT NULL
) STRICT;

-- name is what the person is called in this organization.
CREATE TABLE memberships (
    org_id  INTEGER NOT NULL REFERENCES organizations,
    user_id INTEGER NOT NULL REFERENCES users,
    name    TEXT    NOT NULL CHECK (name <> ''),
    created INTEGER NOT NULL,
    PRIMARY KEY (org_id, user_id),
    UNIQUE (org_id, name)
) STRICT, WITHOUT ROWID;

-- hash is the SHA-256 of the secret, prefix its first characters, for people.
CREATE TABLE tokens (
    id        INTEGER PRIMARY KEY,
    uid       TEXT    NOT NULL UNIQUE,
    org_id    INTEGER NOT NULL,
    user_id   INTEGER NOT NULL,
    role      TEXT    NOT NULL,
    hash      BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    prefix    TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    expires   INTEGER,
    revoked   INTEGER,
    last_used INTEGER,
    FOREIGN KEY (org_id, user_id) REFERENCES memberships
) STRICT;

CREATE INDEX tokens_of_organization ON tokens (org_id, id);

-- A repo's head. set_state is the accumulator behind checksum, about 2 KB; it
-- stands last, so that reading the rest does not pass it.
CREATE TABLE repos (
    id            INTEGER PRIMARY KEY,
    org_id        INTEGER NOT NULL REFERENCES organizations,
    slug          TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    checksum      BLOB,
    entries       INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    last_modified INTEGER,
    audit_head    BLOB    NOT NULL,
    set_state     BLOB,
    UNIQUE (org_id, slug)
) STRICT;

-- The current row of every key, tombstones included. fold is what twins have in
-- common. What changed after a version is asked of history, not of an index here.
CREATE TABLE entries (
    repo_id  INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    fold     TEXT    NOT NULL,
    deleted  INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    checksum BLOB    NOT NULL,
    size     INTEGER NOT NULL,
    modified INTEGER,
    version  INTEGER NOT NULL,
    PRIMARY KEY (repo_id, key)
) STRICT, WITHOUT ROWID;

-- No two live keys of a repo are twins. Directories are looked for here too.
CREATE UNIQUE INDEX entries_live ON entries (repo_id, fold) WHERE deleted = 0;

-- One row a version: who, from where, when, and the set's checksum it led to. Its
-- parent is the version before.
CREATE TABLE versions (
    repo_id  INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    user_id  INTEGER NOT NULL,
    token_id INTEGER NOT NULL,
    client   TEXT    NOT NULL,
    checksum BLOB    NOT NULL,
    PRIMARY KEY (repo_id, version)
) STRICT, WITHOUT ROWID;

-- One row a change of a key, append-only. The newest row of a key must outlive
-- any pruning: delta reads are answered from here. previous is NULL for nothing.
CREATE TABLE history (
    repo_id  INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    deleted  INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    checksum BLOB    NOT NULL,
    previous BLOB,
    size     INTEGER NOT NULL,
    modified INTEGER,
    PRIMARY KEY (repo_id, version, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX history_of_key ON history (repo_id, key, version);

-- Contents by checksum, once an organization, packed by us (coding says how).
CREATE TABLE bodies (
    org_id   INTEGER NOT NULL,
    checksum BLOB    NOT NULL CHECK (length(checksum) = 32),
    size     INTEGER NOT NULL,
    coding   INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    UNIQUE (org_id, checksum)
) STRICT;

-- A repo's audit chain. subject is canonical JSON and must come back byte for
-- byte. previous and hash link the rows.
CREATE TABLE audit (
    repo_id   INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    action    TEXT    NOT NULL,
    user_name TEXT    NOT NULL,
    token_uid TEXT    NOT NULL,
    client    TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    previous  BLOB    NOT NULL,
    hash      BLOB    NOT NULL,
    UNIQUE (repo_id, seq)
) STRICT;

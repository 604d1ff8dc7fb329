-- The schema that the migrations result in, as SQLite keeps it. Written by:
-- go test ./server/store/sqlite -run TestSchema -update

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

CREATE TABLE audit_anchors (
    org_id  INTEGER NOT NULL,
    repo_id INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    hash    BLOB    NOT NULL,
    PRIMARY KEY (org_id, repo_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_checkpoints (
    repo_id INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT;

CREATE TABLE bodies (
    org_id   INTEGER NOT NULL,
    checksum BLOB    NOT NULL CHECK (length(checksum) = 32),
    size     INTEGER NOT NULL,
    coding   INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    UNIQUE (org_id, checksum)
) STRICT;

CREATE TABLE clients (
    org_id   INTEGER NOT NULL REFERENCES organizations,
    user_id  INTEGER NOT NULL,
    uid      TEXT    NOT NULL,
    seen     INTEGER NOT NULL,
    document TEXT    NOT NULL,
    PRIMARY KEY (org_id, user_id, uid)
) STRICT, WITHOUT ROWID;

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

CREATE UNIQUE INDEX entries_live ON entries (repo_id, fold) WHERE deleted = 0;

CREATE TABLE entry_reads (
    repo_id INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    reads   INTEGER NOT NULL,
    PRIMARY KEY (repo_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE figures (
    org_id    INTEGER NOT NULL REFERENCES organizations,
    hour      INTEGER NOT NULL,
    repo_id   INTEGER NOT NULL,
    versions  INTEGER NOT NULL,
    created   INTEGER NOT NULL,
    changed   INTEGER NOT NULL,
    deleted   INTEGER NOT NULL,
    conflicts INTEGER NOT NULL,
    refused   INTEGER NOT NULL,
    held      INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    PRIMARY KEY (org_id, hour, repo_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE findings (
    repo_id     INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    rule        TEXT    NOT NULL,
    class       TEXT    NOT NULL,
    line        INTEGER NOT NULL,
    fingerprint TEXT    NOT NULL,
    PRIMARY KEY (repo_id, key, version, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE forgotten (
    repo_id INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT;

CREATE TABLE grants (
    org_id  INTEGER NOT NULL REFERENCES organizations,
    kind    TEXT    NOT NULL CHECK (kind IN ('everyone', 'group', 'member')),
    name    TEXT    NOT NULL,
    pattern TEXT    NOT NULL,
    role    TEXT    NOT NULL,
    PRIMARY KEY (org_id, kind, name, pattern)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE identities (
    issuer  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users,
    created INTEGER NOT NULL,
    vouched INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE invitations (
    org_id    INTEGER NOT NULL REFERENCES organizations,
    email     TEXT    NOT NULL,
    user_name TEXT    NOT NULL,
    role      TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    PRIMARY KEY (org_id, email)
) STRICT, WITHOUT ROWID;

CREATE TABLE memberships (
    org_id  INTEGER NOT NULL REFERENCES organizations,
    user_id INTEGER NOT NULL REFERENCES users,
    name    TEXT    NOT NULL CHECK (name <> ''),
    created INTEGER NOT NULL, role TEXT NOT NULL DEFAULT '', provider_groups TEXT NOT NULL DEFAULT '', service INTEGER NOT NULL DEFAULT 0, removed INTEGER,
    PRIMARY KEY (org_id, user_id),
    UNIQUE (org_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE org_audit (
    org_id    INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    action    TEXT    NOT NULL,
    user_name TEXT    NOT NULL,
    token_uid TEXT    NOT NULL,
    client    TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    previous  BLOB    NOT NULL,
    hash      BLOB    NOT NULL,
    UNIQUE (org_id, seq)
) STRICT;

CREATE TABLE organizations (
    id          INTEGER PRIMARY KEY,
    uid         TEXT    NOT NULL UNIQUE CHECK (uid <> ''),
    name        TEXT    NOT NULL UNIQUE CHECK (name <> ''),
    max_entries INTEGER NOT NULL,
    created     INTEGER NOT NULL
, fingerprint_key BLOB, max_repos INTEGER NOT NULL DEFAULT 0, max_bytes INTEGER NOT NULL DEFAULT 0, writes_per_minute INTEGER NOT NULL DEFAULT 0, audit_days INTEGER NOT NULL DEFAULT 0, audit_seq INTEGER NOT NULL DEFAULT 0, audit_head BLOB NOT NULL DEFAULT X'0000000000000000000000000000000000000000000000000000000000000000', history_days INTEGER NOT NULL DEFAULT 0, history_keep INTEGER NOT NULL DEFAULT 0, trash_days INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE policies (
    org_id    INTEGER NOT NULL REFERENCES organizations,
    version   INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    user_name TEXT    NOT NULL,
    token_uid TEXT    NOT NULL,
    document  TEXT    NOT NULL,
    PRIMARY KEY (org_id, version)
) STRICT;

CREATE TABLE proposals (
    id        INTEGER PRIMARY KEY,
    uid       TEXT    NOT NULL UNIQUE,
    repo_id   INTEGER NOT NULL,
    key       TEXT    NOT NULL,
    author    INTEGER NOT NULL,
    client    TEXT    NOT NULL,
    state     TEXT    NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'withdrawn')),
    standing  INTEGER NOT NULL CHECK (standing IN (0, 1)),
    deleted   INTEGER NOT NULL CHECK (deleted IN (0, 1)),
    checksum  BLOB    NOT NULL,
    base      BLOB,
    size      INTEGER NOT NULL,
    modified  INTEGER,
    version   INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    closed    INTEGER NOT NULL,
    closed_at INTEGER,
    closed_by TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    detail    TEXT    NOT NULL
) STRICT;

CREATE INDEX proposals_of_repo ON proposals (repo_id, id);

CREATE UNIQUE INDEX proposals_standing ON proposals (repo_id, author, key) WHERE standing = 1;

CREATE TABLE pulls (
    repo_id  INTEGER NOT NULL,
    user_id  INTEGER NOT NULL,
    token_id INTEGER NOT NULL,
    client   TEXT    NOT NULL,
    oldest   INTEGER NOT NULL,
    newest   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (repo_id, user_id, token_id, client)
) STRICT, WITHOUT ROWID;

CREATE TABLE redactions (
    org_id    INTEGER NOT NULL REFERENCES organizations,
    checksum  BLOB    NOT NULL CHECK (length(checksum) = 32),
    at        INTEGER NOT NULL,
    user_name TEXT    NOT NULL,
    token_uid TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    done      INTEGER NOT NULL CHECK (done IN (0, 1)),
    PRIMARY KEY (org_id, checksum)
) STRICT, WITHOUT ROWID;

CREATE TABLE repo_aliases (
    org_id  INTEGER NOT NULL,
    slug    TEXT    NOT NULL,
    repo_id INTEGER NOT NULL REFERENCES repos,
    PRIMARY KEY (org_id, slug)
) STRICT, WITHOUT ROWID;

CREATE TABLE repo_redactions (
    repo_id  INTEGER NOT NULL,
    checksum BLOB    NOT NULL,
    version  INTEGER NOT NULL,
    PRIMARY KEY (repo_id, checksum)
) STRICT, WITHOUT ROWID;

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
    set_state     BLOB, proposals INTEGER NOT NULL DEFAULT 0, redacted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (org_id, slug)
) STRICT;

CREATE TABLE scan_findings (
    scan_id  INTEGER NOT NULL REFERENCES scans,
    n        INTEGER NOT NULL,
    document TEXT    NOT NULL,
    PRIMARY KEY (scan_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE scans (
    id        INTEGER PRIMARY KEY,
    uid       TEXT    NOT NULL UNIQUE,
    org_id    INTEGER NOT NULL REFERENCES organizations,
    slug      TEXT    NOT NULL,
    origin    TEXT    NOT NULL,
    user_name TEXT    NOT NULL,
    state     TEXT    NOT NULL CHECK (state IN ('running', 'done', 'stopped')),
    step      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    updated   INTEGER NOT NULL,
    found     INTEGER NOT NULL,
    place     TEXT    NOT NULL
) STRICT;

CREATE INDEX scans_of_organization ON scans (org_id, id);

CREATE TABLE schema_migrations (version INTEGER NOT NULL PRIMARY KEY, dirty INTEGER NOT NULL) STRICT;

CREATE TRIGGER search_docs_deleted AFTER DELETE ON search_docs BEGIN
    DELETE FROM search_words WHERE rowid = old.id;
END;

CREATE TABLE search_docs (
    id          INTEGER PRIMARY KEY,
    repo_id     INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    checksum    BLOB    NOT NULL,
    type        TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    UNIQUE (repo_id, key, version)
) STRICT;

CREATE INDEX search_docs_of_content ON search_docs (repo_id, checksum);

CREATE TABLE search_repos (
    repo_id INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    key     TEXT    NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search_words USING fts5(org, head, words, tokenize = 'ascii', detail = column);

CREATE TABLE 'search_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'search_words_content'(id INTEGER PRIMARY KEY, c0, c1, c2);

CREATE TABLE 'search_words_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'search_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB);

CREATE TABLE 'search_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE server (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    epoch   TEXT    NOT NULL,
    created INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    hash    BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    kind    TEXT    NOT NULL CHECK (kind IN ('browser', 'link', 'bearer')),
    user_id INTEGER NOT NULL REFERENCES users,
    created INTEGER NOT NULL,
    seen    INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    ended   INTEGER
, issuer TEXT NOT NULL DEFAULT '', renewal BLOB NOT NULL DEFAULT x'', asked INTEGER NOT NULL DEFAULT 0, asking INTEGER) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_of_user ON sessions (user_id);

CREATE INDEX sessions_until ON sessions (until);

CREATE TABLE tallies (
    key   TEXT    NOT NULL PRIMARY KEY,
    began INTEGER NOT NULL,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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
    last_used INTEGER, label TEXT NOT NULL DEFAULT '', scope TEXT NOT NULL DEFAULT '', repos TEXT NOT NULL DEFAULT '',
    FOREIGN KEY (org_id, user_id) REFERENCES memberships
) STRICT;

CREATE INDEX tokens_of_organization ON tokens (org_id, id);

CREATE TABLE users (
    id      INTEGER PRIMARY KEY,
    created INTEGER NOT NULL
) STRICT;

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

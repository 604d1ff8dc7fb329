-- The ground: organizations with their people and tokens, and the memory of
-- their repos.
--
-- What later issues will add, and where it goes:
--   identities (issuer, subject) point at users, which therefore carry no name:
--     a person may be in several organizations and be called differently there;
--   the roles of people, as distinct from their tokens', become a column of memberships;
--   proposals and reviews stand beside entries, keyed by (repo_id, key, author);
--   search gets tables of its own, fed from entries;
--   organization-wide audit chains get a table of their own with the head in
--     organizations, so that a sign-in never waits for a repo's lock.
--
-- Tables that a PUT writes in bulk carry no foreign keys: their rows are only
-- ever written under the lock on their repo's row, and a check would lock the
-- organization's and the user's row against every other writer.

-- One row. The epoch is one life of this database: restoring a backup changes it.
CREATE TABLE server (
    id      smallint    PRIMARY KEY CHECK (id = 1),
    epoch   text        NOT NULL,
    created timestamptz NOT NULL
);

CREATE TABLE organizations (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid         text        NOT NULL UNIQUE CHECK (uid <> ''),
    name        text        NOT NULL UNIQUE CHECK (name <> ''),
    max_entries integer     NOT NULL,
    created     timestamptz NOT NULL
);

CREATE TABLE users (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created timestamptz NOT NULL
);

-- name is what the person is called in this organization.
CREATE TABLE memberships (
    org_id  bigint      NOT NULL REFERENCES organizations,
    user_id bigint      NOT NULL REFERENCES users,
    name    text        NOT NULL CHECK (name <> ''),
    created timestamptz NOT NULL,
    PRIMARY KEY (org_id, user_id),
    UNIQUE (org_id, name)
);

-- hash is the SHA-256 of the secret, prefix its first characters, for people.
-- last_used changes often and is in no index, so that the change stays on its page.
CREATE TABLE tokens (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid       text        NOT NULL UNIQUE,
    org_id    bigint      NOT NULL,
    user_id   bigint      NOT NULL,
    role      text        NOT NULL,
    hash      bytea       NOT NULL UNIQUE CHECK (length(hash) = 32),
    prefix    text        NOT NULL,
    created   timestamptz NOT NULL,
    expires   timestamptz,
    revoked   timestamptz,
    last_used timestamptz,
    FOREIGN KEY (org_id, user_id) REFERENCES memberships
) WITH (fillfactor = 70);

CREATE INDEX tokens_of_organization ON tokens (org_id, id);

-- A repo's head. Every PUT locks and rewrites this row, so set_state (the
-- accumulator behind checksum, about 2 KB of noise) stays in the row, uncompressed,
-- and a page keeps room for two more versions of its one row.
CREATE TABLE repos (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org_id        bigint      NOT NULL REFERENCES organizations,
    slug          text        COLLATE "C" NOT NULL,
    version       bigint      NOT NULL,
    checksum      bytea,
    entries       integer     NOT NULL,
    bytes         bigint      NOT NULL,
    last_modified timestamptz,
    audit_head    bytea       NOT NULL,
    set_state     bytea,
    UNIQUE (org_id, slug)
) WITH (fillfactor = 30, toast_tuple_target = 8160);

ALTER TABLE repos ALTER COLUMN set_state SET STORAGE EXTERNAL;

-- The current row of every key, tombstones included. fold is what twins have in
-- common. What changed after a version is asked of history, not of an index here:
-- with version in no index an update rewrites nothing but the row.
CREATE TABLE entries (
    repo_id  bigint      NOT NULL,
    key      text        COLLATE "C" NOT NULL,
    fold     text        COLLATE "C" NOT NULL,
    deleted  boolean     NOT NULL,
    checksum bytea       NOT NULL,
    size     integer     NOT NULL,
    modified timestamptz,
    version  bigint      NOT NULL,
    PRIMARY KEY (repo_id, key)
) WITH (fillfactor = 80);

-- No two live keys of a repo are twins. Directories are looked for here too.
CREATE UNIQUE INDEX entries_live ON entries (repo_id, fold) WHERE NOT deleted;

-- One row a version: who, from where, when, and the set's checksum it led to. Its
-- parent is the version before.
CREATE TABLE versions (
    repo_id  bigint      NOT NULL,
    version  bigint      NOT NULL,
    at       timestamptz NOT NULL,
    user_id  bigint      NOT NULL,
    token_id bigint      NOT NULL,
    client   text        NOT NULL,
    checksum bytea       NOT NULL,
    PRIMARY KEY (repo_id, version)
);

-- One row a change of a key, append-only. The newest row of a key must outlive
-- any pruning: delta reads are answered from here. previous is NULL for nothing.
CREATE TABLE history (
    repo_id  bigint      NOT NULL,
    version  bigint      NOT NULL,
    key      text        COLLATE "C" NOT NULL,
    deleted  boolean     NOT NULL,
    checksum bytea       NOT NULL,
    previous bytea,
    size     integer     NOT NULL,
    modified timestamptz,
    PRIMARY KEY (repo_id, version, key)
);

CREATE INDEX history_of_key ON history (repo_id, key, version);

-- Contents by checksum, once an organization, packed by us (coding says how), so
-- the database need not try. Up to half a page they stay in the row.
CREATE TABLE bodies (
    org_id   bigint   NOT NULL,
    checksum bytea    NOT NULL CHECK (length(checksum) = 32),
    size     integer  NOT NULL,
    coding   smallint NOT NULL,
    data     bytea    NOT NULL,
    PRIMARY KEY (org_id, checksum)
) WITH (toast_tuple_target = 4080);

ALTER TABLE bodies ALTER COLUMN data SET STORAGE EXTERNAL;

-- A repo's audit chain. subject is canonical JSON and must come back byte for
-- byte, so it is text. previous and hash link the rows.
CREATE TABLE audit (
    repo_id   bigint      NOT NULL,
    seq       bigint      NOT NULL,
    at        timestamptz NOT NULL,
    action    text        NOT NULL,
    user_name text        NOT NULL,
    token_uid text        NOT NULL,
    client    text        NOT NULL,
    subject   text        NOT NULL,
    previous  bytea       NOT NULL,
    hash      bytea       NOT NULL,
    PRIMARY KEY (repo_id, seq)
) WITH (toast_tuple_target = 8160);

ALTER TABLE audit ALTER COLUMN subject SET STORAGE EXTERNAL;

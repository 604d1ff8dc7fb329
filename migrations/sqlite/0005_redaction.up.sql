-- Leak response: what was withdrawn, who may have read it, and the scans that look
-- for it. The same nouns as the Postgres migration of this number, which explains
-- them.
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

CREATE TABLE repo_redactions (
    repo_id  INTEGER NOT NULL,
    checksum BLOB    NOT NULL,
    version  INTEGER NOT NULL,
    PRIMARY KEY (repo_id, checksum)
) STRICT, WITHOUT ROWID;

ALTER TABLE repos ADD COLUMN redacted INTEGER NOT NULL DEFAULT 0;

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

CREATE TABLE scan_findings (
    scan_id  INTEGER NOT NULL REFERENCES scans,
    n        INTEGER NOT NULL,
    document TEXT    NOT NULL,
    PRIMARY KEY (scan_id, n)
) STRICT, WITHOUT ROWID;

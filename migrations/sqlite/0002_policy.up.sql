-- What must not cross: the policy of an organization, what the scan found in what
-- was let through, and what waits to be approved. The same nouns as the Postgres
-- migration of this number.

-- Keys the fingerprints of an organization's findings. New ones come with it.
ALTER TABLE organizations ADD COLUMN fingerprint_key BLOB;
UPDATE organizations SET fingerprint_key = randomblob(32);

-- Append-only: the newest row of an organization is in force, the others say what
-- was, and who set it. No row means the defaults. document is JSON.
CREATE TABLE policies (
    org_id    INTEGER NOT NULL REFERENCES organizations,
    version   INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    user_name TEXT    NOT NULL,
    token_uid TEXT    NOT NULL,
    document  TEXT    NOT NULL,
    PRIMARY KEY (org_id, version)
) STRICT;

-- What was found in an entry that was stored, by the version that stored it. No
-- text. line 0 is the key.
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

-- How many rows of proposals are standing in the repo. It is read with every head,
-- so that a repo without any is served as if there were none. It stands behind
-- set_state, in the same page as that.
ALTER TABLE repos ADD COLUMN proposals INTEGER NOT NULL DEFAULT 0;

-- Changes of one key that wait, or waited, for approval. Only the author is served
-- them. standing: this row is what the author's view of the key is made of, an
-- open proposal or the tombstone of a closed one; there is at most one. checksum
-- is of the content, of a deletion that of what shall be deleted; base is what was
-- live when it was proposed, NULL for nothing. detail is JSON: why it was held and
-- who approved.
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

CREATE UNIQUE INDEX proposals_standing ON proposals (repo_id, author, key) WHERE standing = 1;
CREATE INDEX proposals_of_repo ON proposals (repo_id, id);

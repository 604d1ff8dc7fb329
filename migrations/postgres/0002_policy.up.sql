-- What must not cross: the policy of an organization, what the scan found in what
-- was let through, and what waits to be approved.

-- Keys the fingerprints of an organization's findings. New ones come with it.
-- gen_random_uuid is the one source of strong randomness that needs no extension.
ALTER TABLE organizations ADD COLUMN fingerprint_key bytea;
UPDATE organizations SET fingerprint_key = decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');

-- Append-only: the newest row of an organization is in force, the others say what
-- was, and who set it. No row means the defaults. document is JSON.
CREATE TABLE policies (
    org_id    bigint      NOT NULL REFERENCES organizations,
    version   bigint      NOT NULL,
    at        timestamptz NOT NULL,
    user_name text        NOT NULL,
    token_uid text        NOT NULL,
    document  text        NOT NULL,
    PRIMARY KEY (org_id, version)
);

-- What was found in an entry that was stored, by the version that stored it. No
-- text. line 0 is the key.
CREATE TABLE findings (
    repo_id     bigint  NOT NULL,
    key         text    COLLATE "C" NOT NULL,
    version     bigint  NOT NULL,
    n           integer NOT NULL,
    rule        text    NOT NULL,
    class       text    NOT NULL,
    line        integer NOT NULL,
    fingerprint text    NOT NULL,
    PRIMARY KEY (repo_id, key, version, n)
);

-- How many rows of proposals are standing in the repo. It is read with every head,
-- so that a repo without any is served as if there were none.
ALTER TABLE repos ADD COLUMN proposals integer NOT NULL DEFAULT 0;

-- Changes of one key that wait, or waited, for approval. Only the author is served
-- them. standing: this row is what the author's view of the key is made of, an
-- open proposal or the tombstone of a closed one; there is at most one. checksum
-- is of the content, of a deletion that of what shall be deleted; base is what was
-- live when it was proposed, NULL for nothing. detail is JSON: why it was held and
-- who approved.
CREATE TABLE proposals (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid       text        NOT NULL UNIQUE,
    repo_id   bigint      NOT NULL,
    key       text        COLLATE "C" NOT NULL,
    author    bigint      NOT NULL,
    client    text        NOT NULL,
    state     text        NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'withdrawn')),
    standing  boolean     NOT NULL,
    deleted   boolean     NOT NULL,
    checksum  bytea       NOT NULL,
    base      bytea,
    size      integer     NOT NULL,
    modified  timestamptz,
    version   bigint      NOT NULL,
    at        timestamptz NOT NULL,
    closed    bigint      NOT NULL,
    closed_at timestamptz,
    closed_by text        NOT NULL,
    reason    text        NOT NULL,
    detail    text        NOT NULL
);

CREATE UNIQUE INDEX proposals_standing ON proposals (repo_id, author, key) WHERE standing;
CREATE INDEX proposals_of_repo ON proposals (repo_id, id);

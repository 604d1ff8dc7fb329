-- Leak response: what was withdrawn, who may have read it, and the scans that look
-- for it.

-- Contents that an administrator withdrew from an organization. They are not stored
-- again. done: their bytes are gone from bodies and what they stood in says so; until
-- then whoever finds the row completes it.
CREATE TABLE redactions (
    org_id    bigint      NOT NULL REFERENCES organizations,
    checksum  bytea       NOT NULL CHECK (length(checksum) = 32),
    at        timestamptz NOT NULL,
    user_name text        NOT NULL,
    token_uid text        NOT NULL,
    reason    text        NOT NULL,
    done      boolean     NOT NULL,
    PRIMARY KEY (org_id, checksum)
);

-- In which version the readers of a repo are told of a withdrawn content, once for
-- each repo that ever held it.
CREATE TABLE repo_redactions (
    repo_id  bigint NOT NULL,
    checksum bytea  NOT NULL,
    version  bigint NOT NULL,
    PRIMARY KEY (repo_id, checksum)
);

-- The newest of these versions, 0 for none. It is read with every head, so that a
-- repo without any is served as if there were none.
ALTER TABLE repos ADD COLUMN redacted bigint NOT NULL DEFAULT 0;

-- Whom a repo was served to: the oldest and the newest version that a user's client
-- was given, and when the newest was.
CREATE TABLE pulls (
    repo_id  bigint      NOT NULL,
    user_id  bigint      NOT NULL,
    token_id bigint      NOT NULL,
    client   text        NOT NULL,
    oldest   bigint      NOT NULL,
    newest   bigint      NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (repo_id, user_id, token_id, client)
);

-- Scans of what an organization holds and held. slug is the one repo looked at, empty
-- for all. place is JSON: where it goes on. step rises with every write, so that of
-- two that go on with one scan the slower stops.
CREATE TABLE scans (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid       text        NOT NULL UNIQUE,
    org_id    bigint      NOT NULL REFERENCES organizations,
    slug      text        NOT NULL,
    origin    text        NOT NULL,
    user_name text        NOT NULL,
    state     text        NOT NULL CHECK (state IN ('running', 'done', 'stopped')),
    step      bigint      NOT NULL,
    at        timestamptz NOT NULL,
    updated   timestamptz NOT NULL,
    found     integer     NOT NULL,
    place     text        NOT NULL
);

CREATE INDEX scans_of_organization ON scans (org_id, id);

-- What a scan found, in the order in which it did. document is JSON and holds no text.
CREATE TABLE scan_findings (
    scan_id  bigint  NOT NULL REFERENCES scans,
    n        integer NOT NULL,
    document text    NOT NULL,
    PRIMARY KEY (scan_id, n)
);

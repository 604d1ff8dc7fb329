-- What the dashboard draws: what happened in each hour, and which clients there are.

-- What happened in an hour, by repo; repo_id 0 is what belongs to none: a push to a
-- repo that has no memory. Servers on one database each add what they counted. Rows
-- go after some weeks.
CREATE TABLE figures (
    org_id    bigint      NOT NULL REFERENCES organizations,
    hour      timestamptz NOT NULL,
    repo_id   bigint      NOT NULL,
    versions  bigint      NOT NULL,
    created   bigint      NOT NULL,
    changed   bigint      NOT NULL,
    deleted   bigint      NOT NULL,
    conflicts bigint      NOT NULL,
    refused   bigint      NOT NULL,
    held      bigint      NOT NULL,
    bytes     bigint      NOT NULL,
    PRIMARY KEY (org_id, hour, repo_id)
);

-- What a client last said of itself: one row a synced directory. uid is the client's
-- own name for that directory, random. document is JSON. A row goes when nothing was
-- heard for a month, or when its user has too many.
CREATE TABLE clients (
    org_id   bigint      NOT NULL REFERENCES organizations,
    user_id  bigint      NOT NULL,
    uid      text        COLLATE "C" NOT NULL,
    seen     timestamptz NOT NULL,
    document text        NOT NULL,
    PRIMARY KEY (org_id, user_id, uid)
);

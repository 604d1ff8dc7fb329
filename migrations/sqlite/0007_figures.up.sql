-- What the dashboard draws: what happened in each hour, and which clients there are.
-- The same nouns as the Postgres migration of this number, which explains them.
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

CREATE TABLE clients (
    org_id   INTEGER NOT NULL REFERENCES organizations,
    user_id  INTEGER NOT NULL,
    uid      TEXT    NOT NULL,
    seen     INTEGER NOT NULL,
    document TEXT    NOT NULL,
    PRIMARY KEY (org_id, user_id, uid)
) STRICT, WITHOUT ROWID;

-- What of its history an organization keeps. The same nouns as the Postgres migration of
-- this number, which explains them.
ALTER TABLE organizations ADD COLUMN history_days INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN history_keep INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN trash_days INTEGER NOT NULL DEFAULT 0;

CREATE TABLE forgotten (
    repo_id INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT;

-- Who may do what in an organization. The same nouns as the Postgres migration of
-- this number, which explains them.
ALTER TABLE organizations ADD COLUMN max_repos INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN max_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN writes_per_minute INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN audit_days INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN audit_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organizations ADD COLUMN audit_head BLOB NOT NULL DEFAULT X'0000000000000000000000000000000000000000000000000000000000000000';

ALTER TABLE memberships ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE memberships ADD COLUMN provider_groups TEXT NOT NULL DEFAULT '';
ALTER TABLE memberships ADD COLUMN service INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memberships ADD COLUMN removed INTEGER;

-- Until now a token's role was its user's: nobody loses anything.
UPDATE memberships SET role = CASE (
    SELECT max(CASE t.role WHEN 'admin' THEN 4 WHEN 'maintainer' THEN 3 WHEN 'member' THEN 2 WHEN 'viewer' THEN 1 ELSE 0 END)
    FROM tokens t WHERE t.org_id = memberships.org_id AND t.user_id = memberships.user_id AND t.revoked IS NULL)
    WHEN 4 THEN 'admin' WHEN 3 THEN 'maintainer' WHEN 2 THEN 'member' WHEN 1 THEN 'viewer' ELSE '' END;

ALTER TABLE tokens ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN repos TEXT NOT NULL DEFAULT '';

CREATE TABLE grants (
    org_id  INTEGER NOT NULL REFERENCES organizations,
    kind    TEXT    NOT NULL CHECK (kind IN ('everyone', 'group', 'member')),
    name    TEXT    NOT NULL,
    pattern TEXT    NOT NULL,
    role    TEXT    NOT NULL,
    PRIMARY KEY (org_id, kind, name, pattern)
) STRICT, WITHOUT ROWID;

CREATE TABLE repo_aliases (
    org_id  INTEGER NOT NULL,
    slug    TEXT    NOT NULL,
    repo_id INTEGER NOT NULL REFERENCES repos,
    PRIMARY KEY (org_id, slug)
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

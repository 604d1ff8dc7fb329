-- How people are known besides by a token of ours. The same nouns as the Postgres
-- migration of this number, which explains them.
CREATE TABLE identities (
    issuer  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users,
    created INTEGER NOT NULL,
    vouched INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    hash    BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    kind    TEXT    NOT NULL CHECK (kind IN ('browser', 'link', 'bearer')),
    user_id INTEGER NOT NULL REFERENCES users,
    created INTEGER NOT NULL,
    seen    INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    ended   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_until ON sessions (until);

CREATE TABLE invitations (
    org_id    INTEGER NOT NULL REFERENCES organizations,
    email     TEXT    NOT NULL,
    user_name TEXT    NOT NULL,
    role      TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    PRIMARY KEY (org_id, email)
) STRICT, WITHOUT ROWID;

-- How people are known besides by a token of ours: as whom a provider vouches for
-- them, and in a browser.

-- Who a provider's subject is. The e-mail is no part of it: addresses change hands.
-- vouched is when the newest token was issued whose groups were taken over: an older
-- one that comes later does not bring back a group.
CREATE TABLE identities (
    issuer  text        COLLATE "C" NOT NULL,
    subject text        COLLATE "C" NOT NULL,
    user_id bigint      NOT NULL REFERENCES users,
    created timestamptz NOT NULL,
    vouched timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);

-- kind browser: a browser that is signed in; link: a sign-in link that was given
-- out; bearer: a provider's token that was signed out before its end. hash is the
-- SHA-256 of the secret. Rows go a day after they end by themselves.
CREATE TABLE sessions (
    hash    bytea       PRIMARY KEY CHECK (length(hash) = 32),
    kind    text        NOT NULL CHECK (kind IN ('browser', 'link', 'bearer')),
    user_id bigint      NOT NULL REFERENCES users,
    created timestamptz NOT NULL,
    seen    timestamptz NOT NULL,
    until   timestamptz NOT NULL,
    ended   timestamptz
);

CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_until ON sessions (until);

-- An address that may join, by its first sign-in; user_name is what the member is
-- called, be it one there already.
CREATE TABLE invitations (
    org_id    bigint      NOT NULL REFERENCES organizations,
    email     text        COLLATE "C" NOT NULL,
    user_name text        NOT NULL,
    role      text        NOT NULL,
    created   timestamptz NOT NULL,
    until     timestamptz NOT NULL,
    PRIMARY KEY (org_id, email)
);

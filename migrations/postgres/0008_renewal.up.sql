-- What a provider takes for a fresh word on whoever is signed in: their groups, and
-- whether they are still there. issuer is the provider; renewal its refresh token,
-- sealed with a key that is made of the session's secret, so that nobody who reads
-- the database can use it; asked is when it was used last.
ALTER TABLE sessions
    ADD COLUMN issuer  text        COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN renewal bytea       NOT NULL DEFAULT '',
    ADD COLUMN asked   timestamptz NOT NULL DEFAULT 'epoch';

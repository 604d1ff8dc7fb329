-- What a provider takes for a fresh word on whoever is signed in. The same nouns as
-- the Postgres migration of this number, which explains them.
ALTER TABLE sessions ADD COLUMN issuer TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN renewal BLOB NOT NULL DEFAULT x'';
ALTER TABLE sessions ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;

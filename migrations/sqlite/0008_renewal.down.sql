ALTER TABLE sessions DROP COLUMN asked;
ALTER TABLE sessions DROP COLUMN renewal;
ALTER TABLE sessions DROP COLUMN issuer;

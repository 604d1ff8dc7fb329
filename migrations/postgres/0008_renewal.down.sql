ALTER TABLE sessions
    DROP COLUMN asked,
    DROP COLUMN renewal,
    DROP COLUMN issuer;

ALTER TABLE sessions
    DROP COLUMN asking;

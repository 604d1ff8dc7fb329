-- How often an entry's text was served. The same nouns as the Postgres migration of this
-- number, which explains them.
CREATE TABLE entry_reads (
    repo_id INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    reads   INTEGER NOT NULL,
    PRIMARY KEY (repo_id, key)
) STRICT, WITHOUT ROWID;

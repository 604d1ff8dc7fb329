-- The same nouns as the Postgres migration of this number, which explains them. One
-- server has a file to itself and counts in memory; the table is there so that a backup
-- of one database fits the other.
CREATE TABLE tallies (
    key   TEXT    NOT NULL PRIMARY KEY,
    began INTEGER NOT NULL,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

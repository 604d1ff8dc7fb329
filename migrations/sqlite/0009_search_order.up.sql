-- Search finds the newest first: the ids of search_docs, and with them those of
-- search_words, are from now on in the order of time. The index is made anew, by the
-- server, behind its start.
DELETE FROM search_repos;
DROP TRIGGER search_docs_deleted;
DROP TABLE search_words;
DROP TABLE search_docs;

-- id: the version's time in milliseconds, times 2^20, and the place among those of
-- that time.
CREATE TABLE search_docs (
    id          INTEGER PRIMARY KEY,
    repo_id     INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    checksum    BLOB    NOT NULL,
    type        TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    UNIQUE (repo_id, key, version)
) STRICT;

CREATE INDEX search_docs_of_content ON search_docs (repo_id, checksum);

CREATE VIRTUAL TABLE search_words USING fts5(org, head, words, tokenize = 'ascii', detail = column);

INSERT INTO search_words (search_words, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER search_docs_deleted AFTER DELETE ON search_docs BEGIN
    DELETE FROM search_words WHERE rowid = old.id;
END;

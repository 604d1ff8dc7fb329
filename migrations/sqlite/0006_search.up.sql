-- Search: the words of every version of an entry, as the server takes a text apart.
-- The same nouns as the Postgres migration of this number, which explains them.
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

-- org holds one word, the letter o and the organization's number. The tokenizer
-- splits at ASCII characters only that are neither letters nor digits, so at the
-- spaces between our words and nowhere else.
CREATE VIRTUAL TABLE search_words USING fts5(org, head, words, tokenize = 'ascii', detail = column);

-- What is deleted leaves the index at once, and not when it is next merged.
INSERT INTO search_words (search_words, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER search_docs_deleted AFTER DELETE ON search_docs BEGIN
    DELETE FROM search_words WHERE rowid = old.id;
END;

CREATE TABLE search_repos (
    repo_id INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    key     TEXT    NOT NULL
) STRICT;

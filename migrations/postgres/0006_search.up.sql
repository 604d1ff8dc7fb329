-- Search: the words of every version of an entry, as the server takes a text apart.
-- Neither database splits, folds or stems anything: both are given the same words.
-- What stands here can be made anew from history and bodies at any time.

-- One row a version of an entry that wrote a text, with what its header says.
CREATE TABLE search_docs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repo_id     bigint NOT NULL,
    key         text   COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    checksum    bytea  NOT NULL,
    type        text   NOT NULL,
    name        text   NOT NULL,
    description text   NOT NULL,
    UNIQUE (repo_id, key, version)
);

CREATE INDEX search_docs_of_content ON search_docs (repo_id, checksum);

-- The words in their order, one space before and behind each, so that words in a row
-- are a part of the text: head of the key, name and description, words of all of it.
-- lexemes holds each once; with @ before it those of the head, with = the number of
-- the organization. It has no positions, which end at 16,383.
CREATE TABLE search_words (
    id      bigint   PRIMARY KEY REFERENCES search_docs ON DELETE CASCADE,
    head    text     NOT NULL,
    words   text     NOT NULL,
    lexemes tsvector NOT NULL
);

-- Without a list of what is pending, which every search would have to read through.
CREATE INDEX search_words_lexemes ON search_words USING gin (lexemes) WITH (fastupdate = off);

-- How far a repo is in the index: all that (version, key) is not greater than.
CREATE TABLE search_repos (
    repo_id bigint PRIMARY KEY,
    version bigint NOT NULL,
    key     text   COLLATE "C" NOT NULL
);

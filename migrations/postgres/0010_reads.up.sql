-- How often an entry's text was served, all its versions together. Servers on one
-- database each add what they counted.
CREATE TABLE entry_reads (
    repo_id bigint NOT NULL,
    key     text   COLLATE "C" NOT NULL,
    reads   bigint NOT NULL,
    PRIMARY KEY (repo_id, key)
) WITH (fillfactor = 70);

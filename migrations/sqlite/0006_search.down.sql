-- Takes the index away. It is made anew from history and bodies.
DROP TABLE search_repos;
DROP TRIGGER search_docs_deleted;
DROP TABLE search_words;
DROP TABLE search_docs;

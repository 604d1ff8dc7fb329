-- Takes the index away. It is made anew from history and bodies.
DROP TABLE search_repos;
DROP TABLE search_words;
DROP TABLE search_docs;

-- SQLite's ids of search_docs are in the order of time from this number on. Here nothing
-- is to be changed: what is found is sorted, which costs this database little.
SELECT 1;

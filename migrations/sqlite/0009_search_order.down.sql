-- The ids stay: any are good for an older server, which adds higher ones.
DELETE FROM search_repos WHERE false;

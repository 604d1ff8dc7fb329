-- Takes the ground away, and with it every memory that the database holds.
DROP TABLE audit, bodies, history, versions, entries, repos, tokens, memberships, users, organizations, server;

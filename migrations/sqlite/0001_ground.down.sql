-- Takes the ground away, and with it every memory that the database holds.
DROP TABLE audit;
DROP TABLE bodies;
DROP TABLE history;
DROP TABLE versions;
DROP TABLE entries;
DROP TABLE repos;
DROP TABLE tokens;
DROP TABLE memberships;
DROP TABLE users;
DROP TABLE organizations;
DROP TABLE server;

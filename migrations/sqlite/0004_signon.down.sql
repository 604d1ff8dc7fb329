DROP TABLE invitations;
DROP TABLE sessions;
DROP TABLE identities;

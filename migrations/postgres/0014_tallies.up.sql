-- What the servers of one database count together, for limits: failed sign-ins of an
-- address or an account, and an organization's writes. A row counts from its begin for a
-- minute. The key is a hash, so that the table holds no address.
CREATE TABLE tallies (
    key   text        COLLATE "C" NOT NULL PRIMARY KEY,
    began timestamptz NOT NULL,
    count bigint      NOT NULL
) WITH (fillfactor = 50);

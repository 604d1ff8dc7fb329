-- What of its history an organization keeps: earlier texts for so many days, but of each
-- entry so many changes however old they are, and the texts of deleted entries for so
-- many days. 0 days are for ever.
ALTER TABLE organizations
    ADD COLUMN history_days integer NOT NULL DEFAULT 0,
    ADD COLUMN history_keep integer NOT NULL DEFAULT 0,
    ADD COLUMN trash_days   integer NOT NULL DEFAULT 0;

-- The newest version of a repo as of which an entry's text went: who asks for an earlier text is
-- told that it may have gone, and not that it never was.
CREATE TABLE forgotten (
    repo_id bigint PRIMARY KEY,
    version bigint NOT NULL
);

DROP TABLE forgotten;

ALTER TABLE organizations
    DROP COLUMN history_days, DROP COLUMN history_keep, DROP COLUMN trash_days;

DROP TABLE forgotten;

ALTER TABLE organizations DROP COLUMN history_days;
ALTER TABLE organizations DROP COLUMN history_keep;
ALTER TABLE organizations DROP COLUMN trash_days;

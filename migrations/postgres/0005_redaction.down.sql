-- Takes away the records of redactions, pulls and scans. What was withdrawn stays
-- gone; it may be stored again from then on.
DROP TABLE scan_findings;
DROP TABLE scans;
DROP TABLE pulls;
ALTER TABLE repos DROP COLUMN redacted;
DROP TABLE repo_redactions;
DROP TABLE redactions;

-- Takes policies, findings and proposals away. What was proposed and not approved
-- is lost with them.
DROP TABLE proposals;
ALTER TABLE repos DROP COLUMN proposals;
DROP TABLE findings, policies;
ALTER TABLE organizations DROP COLUMN fingerprint_key;

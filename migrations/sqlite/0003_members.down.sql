-- Takes away who may do what, and the organizations' audit chains with it. Roles
-- are the tokens' again.
DROP TABLE audit_checkpoints;
DROP TABLE audit_anchors;
DROP TABLE org_audit;
DROP TABLE repo_aliases;
DROP TABLE grants;
ALTER TABLE tokens DROP COLUMN label;
ALTER TABLE tokens DROP COLUMN scope;
ALTER TABLE tokens DROP COLUMN repos;
ALTER TABLE memberships DROP COLUMN role;
ALTER TABLE memberships DROP COLUMN provider_groups;
ALTER TABLE memberships DROP COLUMN service;
ALTER TABLE memberships DROP COLUMN removed;
ALTER TABLE organizations DROP COLUMN max_repos;
ALTER TABLE organizations DROP COLUMN max_bytes;
ALTER TABLE organizations DROP COLUMN writes_per_minute;
ALTER TABLE organizations DROP COLUMN audit_days;
ALTER TABLE organizations DROP COLUMN audit_seq;
ALTER TABLE organizations DROP COLUMN audit_head;

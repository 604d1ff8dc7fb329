-- Takes away who may do what, and the organizations' audit chains with it. Roles
-- are the tokens' again.
DROP TABLE audit_checkpoints, audit_anchors, org_audit, repo_aliases, grants;
ALTER TABLE tokens DROP COLUMN label, DROP COLUMN scope, DROP COLUMN repos;
ALTER TABLE memberships DROP COLUMN role, DROP COLUMN provider_groups, DROP COLUMN service, DROP COLUMN removed;
ALTER TABLE organizations
    DROP COLUMN max_repos, DROP COLUMN max_bytes, DROP COLUMN writes_per_minute, DROP COLUMN audit_days,
    DROP COLUMN audit_seq, DROP COLUMN audit_head;

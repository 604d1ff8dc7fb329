-- Who may do what in an organization: the roles of people as distinct from their
-- tokens', what groups and single repos change of them, tokens with a scope, other
-- names of repos, limits, and the organization's own audit chain.

-- The limits are 0 where the server's default holds, or none. audit_seq and
-- audit_head are the head of the organization's chain: a sign-in or a change of a
-- right locks this row, never a repo's.
ALTER TABLE organizations
    ADD COLUMN max_repos         integer NOT NULL DEFAULT 0,
    ADD COLUMN max_bytes         bigint  NOT NULL DEFAULT 0,
    ADD COLUMN writes_per_minute integer NOT NULL DEFAULT 0,
    ADD COLUMN audit_days        integer NOT NULL DEFAULT 0,
    ADD COLUMN audit_seq         bigint  NOT NULL DEFAULT 0,
    ADD COLUMN audit_head        bytea   NOT NULL DEFAULT decode(repeat('00', 32), 'hex');

-- role is given by hand and empty where only groups give one. provider_groups are
-- those of the last sign-in, one a line. A member that was removed keeps its row:
-- history and audit name it.
ALTER TABLE memberships
    ADD COLUMN role            text    NOT NULL DEFAULT '',
    ADD COLUMN provider_groups text    NOT NULL DEFAULT '',
    ADD COLUMN service         boolean NOT NULL DEFAULT false,
    ADD COLUMN removed         timestamptz;

-- Until now a token's role was its user's: nobody loses anything.
UPDATE memberships m SET role = coalesce((
    SELECT (ARRAY['viewer', 'member', 'maintainer', 'admin'])[max(array_position(ARRAY['viewer', 'member', 'maintainer', 'admin'], t.role))]
    FROM tokens t WHERE t.org_id = m.org_id AND t.user_id = m.user_id AND t.revoked IS NULL), '');

-- scope is empty (all that the role holds), read or write; repos are patterns, one
-- a line, and empty for all.
ALTER TABLE tokens
    ADD COLUMN label text NOT NULL DEFAULT '',
    ADD COLUMN scope text NOT NULL DEFAULT '',
    ADD COLUMN repos text NOT NULL DEFAULT '';

-- What a group, a member or everyone is on the repos of a pattern. A group's
-- pattern may be empty: then it is what the group is in the organization.
CREATE TABLE grants (
    org_id  bigint NOT NULL REFERENCES organizations,
    kind    text   NOT NULL CHECK (kind IN ('everyone', 'group', 'member')),
    name    text   COLLATE "C" NOT NULL,
    pattern text   COLLATE "C" NOT NULL,
    role    text   NOT NULL,
    PRIMARY KEY (org_id, kind, name, pattern)
);

-- The names that a repo had before.
CREATE TABLE repo_aliases (
    org_id  bigint NOT NULL,
    slug    text   COLLATE "C" NOT NULL,
    repo_id bigint NOT NULL REFERENCES repos,
    PRIMARY KEY (org_id, slug)
);

-- The organization's chain, in the form of a repo's.
CREATE TABLE org_audit (
    org_id    bigint      NOT NULL,
    seq       bigint      NOT NULL,
    at        timestamptz NOT NULL,
    action    text        NOT NULL,
    user_name text        NOT NULL,
    token_uid text        NOT NULL,
    client    text        NOT NULL,
    subject   text        NOT NULL,
    previous  bytea       NOT NULL,
    hash      bytea       NOT NULL,
    PRIMARY KEY (org_id, seq)
);

-- Where a chain begins since its older records went: the last one that went. A
-- record of the organization's chain says the same. repo_id 0 is that chain itself.
CREATE TABLE audit_anchors (
    org_id  bigint NOT NULL,
    repo_id bigint NOT NULL,
    seq     bigint NOT NULL,
    hash    bytea  NOT NULL,
    PRIMARY KEY (org_id, repo_id)
);

-- Up to which version a repo's head stands in the organization's chain.
CREATE TABLE audit_checkpoints (
    repo_id bigint PRIMARY KEY,
    version bigint NOT NULL
);

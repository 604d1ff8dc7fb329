-- The schema that the migrations result in, as PostgreSQL's catalogue describes it. Written by:
-- go test ./server/store/postgres -run TestSchema -update

CREATE TABLE audit (
    repo_id bigint NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    action text NOT NULL,
    user_name text NOT NULL,
    token_uid text NOT NULL,
    client text NOT NULL,
    subject text STORAGE EXTERNAL NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_pkey PRIMARY KEY (repo_id, seq)
) WITH (toast_tuple_target=8160);

CREATE TABLE audit_anchors (
    org_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_anchors_pkey PRIMARY KEY (org_id, repo_id)
);

CREATE TABLE audit_checkpoints (
    repo_id bigint NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT audit_checkpoints_pkey PRIMARY KEY (repo_id)
);

CREATE TABLE bodies (
    org_id bigint NOT NULL,
    checksum bytea NOT NULL,
    size integer NOT NULL,
    coding smallint NOT NULL,
    data bytea STORAGE EXTERNAL NOT NULL,
    CONSTRAINT bodies_checksum_check CHECK ((length(checksum) = 32)),
    CONSTRAINT bodies_pkey PRIMARY KEY (org_id, checksum)
) WITH (toast_tuple_target=4080);

CREATE TABLE clients (
    org_id bigint NOT NULL,
    user_id bigint NOT NULL,
    uid text COLLATE "C" NOT NULL,
    seen timestamp with time zone NOT NULL,
    document text NOT NULL,
    CONSTRAINT clients_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT clients_pkey PRIMARY KEY (org_id, user_id, uid)
);

CREATE TABLE entries (
    repo_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    fold text COLLATE "C" NOT NULL,
    deleted boolean NOT NULL,
    checksum bytea NOT NULL,
    size integer NOT NULL,
    modified timestamp with time zone,
    version bigint NOT NULL,
    CONSTRAINT entries_pkey PRIMARY KEY (repo_id, key)
) WITH (fillfactor=80);
CREATE UNIQUE INDEX entries_live ON public.entries USING btree (repo_id, fold) WHERE (NOT deleted);

CREATE TABLE entry_reads (
    repo_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    reads bigint NOT NULL,
    CONSTRAINT entry_reads_pkey PRIMARY KEY (repo_id, key)
) WITH (fillfactor=70);

CREATE TABLE figures (
    org_id bigint NOT NULL,
    hour timestamp with time zone NOT NULL,
    repo_id bigint NOT NULL,
    versions bigint NOT NULL,
    created bigint NOT NULL,
    changed bigint NOT NULL,
    deleted bigint NOT NULL,
    conflicts bigint NOT NULL,
    refused bigint NOT NULL,
    held bigint NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT figures_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT figures_pkey PRIMARY KEY (org_id, hour, repo_id)
);

CREATE TABLE findings (
    repo_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    n integer NOT NULL,
    rule text NOT NULL,
    class text NOT NULL,
    line integer NOT NULL,
    fingerprint text NOT NULL,
    CONSTRAINT findings_pkey PRIMARY KEY (repo_id, key, version, n)
);

CREATE TABLE forgotten (
    repo_id bigint NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT forgotten_pkey PRIMARY KEY (repo_id)
);

CREATE TABLE grants (
    org_id bigint NOT NULL,
    kind text NOT NULL,
    name text COLLATE "C" NOT NULL,
    pattern text COLLATE "C" NOT NULL,
    role text NOT NULL,
    CONSTRAINT grants_kind_check CHECK ((kind = ANY (ARRAY['everyone'::text, 'group'::text, 'member'::text]))),
    CONSTRAINT grants_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT grants_pkey PRIMARY KEY (org_id, kind, name, pattern)
);

CREATE TABLE history (
    repo_id bigint NOT NULL,
    version bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    deleted boolean NOT NULL,
    checksum bytea NOT NULL,
    previous bytea,
    size integer NOT NULL,
    modified timestamp with time zone,
    CONSTRAINT history_pkey PRIMARY KEY (repo_id, version, key)
);
CREATE INDEX history_of_key ON public.history USING btree (repo_id, key, version);

CREATE TABLE identities (
    issuer text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    user_id bigint NOT NULL,
    created timestamp with time zone NOT NULL,
    vouched timestamp with time zone NOT NULL,
    CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject),
    CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);

CREATE TABLE invitations (
    org_id bigint NOT NULL,
    email text COLLATE "C" NOT NULL,
    user_name text NOT NULL,
    role text NOT NULL,
    created timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    CONSTRAINT invitations_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT invitations_pkey PRIMARY KEY (org_id, email)
);

CREATE TABLE memberships (
    org_id bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    created timestamp with time zone NOT NULL,
    role text NOT NULL DEFAULT ''::text,
    provider_groups text NOT NULL DEFAULT ''::text,
    service boolean NOT NULL DEFAULT false,
    removed timestamp with time zone,
    CONSTRAINT memberships_name_check CHECK ((name <> ''::text)),
    CONSTRAINT memberships_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT memberships_org_id_name_key UNIQUE (org_id, name),
    CONSTRAINT memberships_pkey PRIMARY KEY (org_id, user_id),
    CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);

CREATE TABLE org_audit (
    org_id bigint NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    action text NOT NULL,
    user_name text NOT NULL,
    token_uid text NOT NULL,
    client text NOT NULL,
    subject text NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT org_audit_pkey PRIMARY KEY (org_id, seq)
);

CREATE TABLE organizations (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    uid text NOT NULL,
    name text NOT NULL,
    max_entries integer NOT NULL,
    created timestamp with time zone NOT NULL,
    fingerprint_key bytea,
    max_repos integer NOT NULL DEFAULT 0,
    max_bytes bigint NOT NULL DEFAULT 0,
    writes_per_minute integer NOT NULL DEFAULT 0,
    audit_days integer NOT NULL DEFAULT 0,
    audit_seq bigint NOT NULL DEFAULT 0,
    audit_head bytea NOT NULL DEFAULT decode(repeat('00'::text, 32), 'hex'::text),
    history_days integer NOT NULL DEFAULT 0,
    history_keep integer NOT NULL DEFAULT 0,
    trash_days integer NOT NULL DEFAULT 0,
    CONSTRAINT organizations_name_check CHECK ((name <> ''::text)),
    CONSTRAINT organizations_name_key UNIQUE (name),
    CONSTRAINT organizations_pkey PRIMARY KEY (id),
    CONSTRAINT organizations_uid_check CHECK ((uid <> ''::text)),
    CONSTRAINT organizations_uid_key UNIQUE (uid)
);

CREATE TABLE policies (
    org_id bigint NOT NULL,
    version bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    user_name text NOT NULL,
    token_uid text NOT NULL,
    document text NOT NULL,
    CONSTRAINT policies_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT policies_pkey PRIMARY KEY (org_id, version)
);

CREATE TABLE proposals (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    uid text NOT NULL,
    repo_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    author bigint NOT NULL,
    client text NOT NULL,
    state text NOT NULL,
    standing boolean NOT NULL,
    deleted boolean NOT NULL,
    checksum bytea NOT NULL,
    base bytea,
    size integer NOT NULL,
    modified timestamp with time zone,
    version bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    closed bigint NOT NULL,
    closed_at timestamp with time zone,
    closed_by text NOT NULL,
    reason text NOT NULL,
    detail text NOT NULL,
    CONSTRAINT proposals_pkey PRIMARY KEY (id),
    CONSTRAINT proposals_state_check CHECK ((state = ANY (ARRAY['open'::text, 'approved'::text, 'rejected'::text, 'withdrawn'::text]))),
    CONSTRAINT proposals_uid_key UNIQUE (uid)
);
CREATE INDEX proposals_of_repo ON public.proposals USING btree (repo_id, id);
CREATE UNIQUE INDEX proposals_standing ON public.proposals USING btree (repo_id, author, key) WHERE standing;

CREATE TABLE pulls (
    repo_id bigint NOT NULL,
    user_id bigint NOT NULL,
    token_id bigint NOT NULL,
    client text NOT NULL,
    oldest bigint NOT NULL,
    newest bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT pulls_pkey PRIMARY KEY (repo_id, user_id, token_id, client)
);

CREATE TABLE redactions (
    org_id bigint NOT NULL,
    checksum bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    user_name text NOT NULL,
    token_uid text NOT NULL,
    reason text NOT NULL,
    done boolean NOT NULL,
    CONSTRAINT redactions_checksum_check CHECK ((length(checksum) = 32)),
    CONSTRAINT redactions_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT redactions_pkey PRIMARY KEY (org_id, checksum)
);

CREATE TABLE repo_aliases (
    org_id bigint NOT NULL,
    slug text COLLATE "C" NOT NULL,
    repo_id bigint NOT NULL,
    CONSTRAINT repo_aliases_pkey PRIMARY KEY (org_id, slug),
    CONSTRAINT repo_aliases_repo_id_fkey FOREIGN KEY (repo_id) REFERENCES repos(id)
);

CREATE TABLE repo_redactions (
    repo_id bigint NOT NULL,
    checksum bytea NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT repo_redactions_pkey PRIMARY KEY (repo_id, checksum)
);

CREATE TABLE repos (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    org_id bigint NOT NULL,
    slug text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    checksum bytea,
    entries integer NOT NULL,
    bytes bigint NOT NULL,
    last_modified timestamp with time zone,
    audit_head bytea NOT NULL,
    set_state bytea STORAGE EXTERNAL,
    proposals integer NOT NULL DEFAULT 0,
    redacted bigint NOT NULL DEFAULT 0,
    CONSTRAINT repos_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT repos_org_id_slug_key UNIQUE (org_id, slug),
    CONSTRAINT repos_pkey PRIMARY KEY (id)
) WITH (fillfactor=30, toast_tuple_target=8160);

CREATE TABLE scan_findings (
    scan_id bigint NOT NULL,
    n integer NOT NULL,
    document text NOT NULL,
    CONSTRAINT scan_findings_pkey PRIMARY KEY (scan_id, n),
    CONSTRAINT scan_findings_scan_id_fkey FOREIGN KEY (scan_id) REFERENCES scans(id)
);

CREATE TABLE scans (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    uid text NOT NULL,
    org_id bigint NOT NULL,
    slug text NOT NULL,
    origin text NOT NULL,
    user_name text NOT NULL,
    state text NOT NULL,
    step bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    found integer NOT NULL,
    place text NOT NULL,
    CONSTRAINT scans_org_id_fkey FOREIGN KEY (org_id) REFERENCES organizations(id),
    CONSTRAINT scans_pkey PRIMARY KEY (id),
    CONSTRAINT scans_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'stopped'::text]))),
    CONSTRAINT scans_uid_key UNIQUE (uid)
);
CREATE INDEX scans_of_organization ON public.scans USING btree (org_id, id);

CREATE TABLE schema_migrations (
    version bigint NOT NULL,
    dirty boolean NOT NULL,
    CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE search_docs (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    repo_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    checksum bytea NOT NULL,
    type text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    CONSTRAINT search_docs_pkey PRIMARY KEY (id),
    CONSTRAINT search_docs_repo_id_key_version_key UNIQUE (repo_id, key, version)
);
CREATE INDEX search_docs_of_content ON public.search_docs USING btree (repo_id, checksum);

CREATE TABLE search_repos (
    repo_id bigint NOT NULL,
    version bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    CONSTRAINT search_repos_pkey PRIMARY KEY (repo_id)
);

CREATE TABLE search_words (
    id bigint NOT NULL,
    head text NOT NULL,
    words text NOT NULL,
    lexemes tsvector NOT NULL,
    CONSTRAINT search_words_id_fkey FOREIGN KEY (id) REFERENCES search_docs(id) ON DELETE CASCADE,
    CONSTRAINT search_words_pkey PRIMARY KEY (id)
);
CREATE INDEX search_words_lexemes ON public.search_words USING gin (lexemes) WITH (fastupdate=off);

CREATE TABLE server (
    id smallint NOT NULL,
    epoch text NOT NULL,
    created timestamp with time zone NOT NULL,
    CONSTRAINT server_id_check CHECK ((id = 1)),
    CONSTRAINT server_pkey PRIMARY KEY (id)
);

CREATE TABLE sessions (
    hash bytea NOT NULL,
    kind text NOT NULL,
    user_id bigint NOT NULL,
    created timestamp with time zone NOT NULL,
    seen timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    ended timestamp with time zone,
    issuer text COLLATE "C" NOT NULL DEFAULT ''::text,
    renewal bytea NOT NULL DEFAULT '\x'::bytea,
    asked timestamp with time zone NOT NULL DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone,
    asking timestamp with time zone,
    CONSTRAINT sessions_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT sessions_kind_check CHECK ((kind = ANY (ARRAY['browser'::text, 'link'::text, 'bearer'::text]))),
    CONSTRAINT sessions_pkey PRIMARY KEY (hash),
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX sessions_of_user ON public.sessions USING btree (user_id);
CREATE INDEX sessions_until ON public.sessions USING btree (until);

CREATE TABLE tallies (
    key text COLLATE "C" NOT NULL,
    began timestamp with time zone NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT tallies_pkey PRIMARY KEY (key)
) WITH (fillfactor=50);

CREATE TABLE tokens (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    uid text NOT NULL,
    org_id bigint NOT NULL,
    user_id bigint NOT NULL,
    role text NOT NULL,
    hash bytea NOT NULL,
    prefix text NOT NULL,
    created timestamp with time zone NOT NULL,
    expires timestamp with time zone,
    revoked timestamp with time zone,
    last_used timestamp with time zone,
    label text NOT NULL DEFAULT ''::text,
    scope text NOT NULL DEFAULT ''::text,
    repos text NOT NULL DEFAULT ''::text,
    CONSTRAINT tokens_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT tokens_hash_key UNIQUE (hash),
    CONSTRAINT tokens_org_id_user_id_fkey FOREIGN KEY (org_id, user_id) REFERENCES memberships(org_id, user_id),
    CONSTRAINT tokens_pkey PRIMARY KEY (id),
    CONSTRAINT tokens_uid_key UNIQUE (uid)
) WITH (fillfactor=70);
CREATE INDEX tokens_of_organization ON public.tokens USING btree (org_id, id);

CREATE TABLE users (
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    created timestamp with time zone NOT NULL,
    CONSTRAINT users_pkey PRIMARY KEY (id)
);

CREATE TABLE versions (
    repo_id bigint NOT NULL,
    version bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    user_id bigint NOT NULL,
    token_id bigint NOT NULL,
    client text NOT NULL,
    checksum bytea NOT NULL,
    CONSTRAINT versions_pkey PRIMARY KEY (repo_id, version)
);

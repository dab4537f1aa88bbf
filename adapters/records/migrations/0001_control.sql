-- Who runs what: limit groups, rooms, API keys, signing keys. Times are milliseconds since 1970 (UTC), bytes are hex.

-- The last number given out, by what is numbered: without gaps, and in the order of commits.
CREATE TABLE counters (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('api_key', 0);

CREATE TABLE limit_groups (
    id TEXT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL,
    version BIGINT NOT NULL
);

CREATE TABLE rooms (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    limit_group TEXT REFERENCES limit_groups (id),
    identity TEXT NOT NULL,
    title_ko TEXT NOT NULL,
    title_en TEXT NOT NULL,
    target_url TEXT NOT NULL,
    on_store_failure TEXT NOT NULL,
    settings TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX rooms_by_group ON rooms (limit_group);

CREATE TABLE api_keys (
    id TEXT NOT NULL PRIMARY KEY,
    no BIGINT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT
);

CREATE TABLE signing_keys (
    id BIGINT NOT NULL PRIMARY KEY,
    secret TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

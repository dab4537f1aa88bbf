-- What the sites of tenants need: rooms that hand a token over, the keys that sign it, and API keys that end by themselves.

ALTER TABLE rooms ADD COLUMN handover TEXT NOT NULL DEFAULT 'cookie';

ALTER TABLE api_keys ADD COLUMN expires_at BIGINT;

CREATE TABLE site_keys (
    id TEXT NOT NULL PRIMARY KEY,
    no BIGINT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    seed TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    signs_from BIGINT NOT NULL,
    ends_at BIGINT
);
CREATE INDEX site_keys_by_tenant ON site_keys (tenant);

INSERT INTO counters (name, value) VALUES ('site_key', 0);

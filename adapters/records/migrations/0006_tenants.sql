-- Whose rooms and keys they are. Until now a tenant was a word on them: each word that is in use becomes a tenant, and so
-- does that of an installation which serves one.

CREATE TABLE tenants (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    settings TEXT NOT NULL,
    version BIGINT NOT NULL
);

INSERT INTO tenants (id, name, settings, version)
SELECT DISTINCT word.tenant, word.tenant, '{"schema":1,"settings":{"rooms_max":100000}}', 1
FROM (SELECT 'default' AS tenant UNION SELECT tenant FROM rooms UNION SELECT tenant FROM api_keys) AS word;

-- Each entry names the hash of the one before it (`core/audit` has the rule). Entries that are there have none yet:
-- `chaining.rs` copies them over from the old table, which the next step drops.

ALTER TABLE audit RENAME TO audit_unchained;
DROP INDEX audit_by_target;

CREATE TABLE audit (
    no BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    was TEXT NOT NULL,
    is_now TEXT NOT NULL,
    form BIGINT NOT NULL,
    -- No two entries follow the same one: the chain cannot fork.
    prev_hash TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL
);
CREATE INDEX audit_by_target ON audit (target, no);

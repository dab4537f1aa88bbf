-- What operators and tenants did, numbered 1, 2, 3, ... without gaps.

INSERT INTO counters (name, value) VALUES ('audit', 0);

CREATE TABLE audit (
    no BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    was TEXT NOT NULL,
    is_now TEXT NOT NULL
);
CREATE INDEX audit_by_target ON audit (target, no);

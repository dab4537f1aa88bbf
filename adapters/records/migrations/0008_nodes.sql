-- Nodes that use these records, and which lines each of them has: two of them with different ones would serve each room twice.

CREATE TABLE nodes (
    node TEXT NOT NULL PRIMARY KEY,
    lines TEXT NOT NULL,
    place TEXT NOT NULL,
    since BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);

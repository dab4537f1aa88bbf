-- Raised by each write of a definition or key, so that several nodes notice each other's.

INSERT INTO counters (name, value) VALUES ('revision', 0);

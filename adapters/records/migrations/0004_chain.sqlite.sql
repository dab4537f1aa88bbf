-- SQLite's words for "append only": the old ones went with the old table, by whatever name.

DROP TRIGGER audit_keeps_entries;
DROP TRIGGER audit_loses_none;

CREATE TRIGGER audit_keeps_entries BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit entries are never changed');
END;

CREATE TRIGGER audit_loses_none BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit entries are never deleted');
END;

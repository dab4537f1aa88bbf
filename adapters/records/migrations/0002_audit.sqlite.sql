-- SQLite's words for "append only": each database has its own.

CREATE TRIGGER audit_keeps_entries BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit entries are never changed');
END;

CREATE TRIGGER audit_loses_none BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit entries are never deleted');
END;

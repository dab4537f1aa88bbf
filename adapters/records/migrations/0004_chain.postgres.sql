-- PostgreSQL's words for "append only": triggers belong to a table, and the old ones stay with the old one.

CREATE TRIGGER audit_keeps_entries BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept();

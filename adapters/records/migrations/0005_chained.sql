-- Every entry was copied into the chain.

DROP TABLE audit_unchained;

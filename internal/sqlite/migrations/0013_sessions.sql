-- Who is signed in to a console: a session ends here when somebody signs out,
-- and on every node with it. key_id is empty for an operator's.

CREATE TABLE console_sessions (
  hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
  key_id     TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX console_sessions_by_key ON console_sessions (key_id, started_at);
CREATE INDEX console_sessions_by_end ON console_sessions (ends_at);

-- Pages of keys, the newest first, and how many of them are live.
CREATE INDEX api_keys_by_age ON api_keys (workspace, created_at, id);
CREATE INDEX api_keys_live ON api_keys (workspace, expires_at) WHERE revoked_at IS NULL;

-- What each key did on each UTC day, which begins at day in Unix seconds.

CREATE TABLE key_days (
  workspace     INTEGER NOT NULL,
  key           TEXT NOT NULL,
  day           INTEGER NOT NULL,
  success       INTEGER NOT NULL,
  not_modified  INTEGER NOT NULL,
  client_errors INTEGER NOT NULL,
  limited       INTEGER NOT NULL,
  server_errors INTEGER NOT NULL,
  deprecated    INTEGER NOT NULL, -- requests of operations that will end
  PRIMARY KEY (workspace, key, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX key_days_by_day ON key_days (day);

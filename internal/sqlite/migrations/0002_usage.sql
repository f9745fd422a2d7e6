-- What the workspaces did, by the minute and by the hour: step is 60 or 3600
-- seconds, start is in Unix seconds. l0 to l9 are a histogram of latencies.

CREATE TABLE usage (
  workspace     INTEGER NOT NULL,
  step          INTEGER NOT NULL,
  start         INTEGER NOT NULL,
  success       INTEGER NOT NULL,
  not_modified  INTEGER NOT NULL,
  client_errors INTEGER NOT NULL,
  limited       INTEGER NOT NULL,
  server_errors INTEGER NOT NULL,
  l0 INTEGER NOT NULL,
  l1 INTEGER NOT NULL,
  l2 INTEGER NOT NULL,
  l3 INTEGER NOT NULL,
  l4 INTEGER NOT NULL,
  l5 INTEGER NOT NULL,
  l6 INTEGER NOT NULL,
  l7 INTEGER NOT NULL,
  l8 INTEGER NOT NULL,
  l9 INTEGER NOT NULL,
  PRIMARY KEY (workspace, step, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_start ON usage (step, start);

-- What the workspaces did, by the minute and by the hour: step is 60 or 3600
-- seconds, start is in Unix seconds. l0 to l9 are a histogram of latencies.
-- Every node adds to the same rows.

CREATE TABLE usage (
  workspace     bigint NOT NULL,
  step          bigint NOT NULL,
  start         bigint NOT NULL,
  success       bigint NOT NULL,
  not_modified  bigint NOT NULL,
  client_errors bigint NOT NULL,
  limited       bigint NOT NULL,
  server_errors bigint NOT NULL,
  l0 bigint NOT NULL,
  l1 bigint NOT NULL,
  l2 bigint NOT NULL,
  l3 bigint NOT NULL,
  l4 bigint NOT NULL,
  l5 bigint NOT NULL,
  l6 bigint NOT NULL,
  l7 bigint NOT NULL,
  l8 bigint NOT NULL,
  l9 bigint NOT NULL,
  PRIMARY KEY (workspace, step, start)
) WITH (fillfactor = 70);
CREATE INDEX usage_by_start ON usage (step, start);

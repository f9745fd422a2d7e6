-- beside: 2
--
-- What each key did on each UTC day, which begins at day in Unix seconds.

CREATE TABLE key_days (
  workspace     bigint NOT NULL,
  key           text NOT NULL,
  day           bigint NOT NULL,
  success       bigint NOT NULL,
  not_modified  bigint NOT NULL,
  client_errors bigint NOT NULL,
  limited       bigint NOT NULL,
  server_errors bigint NOT NULL,
  deprecated    bigint NOT NULL, -- requests of operations that will end
  PRIMARY KEY (workspace, key, day)
);

CREATE INDEX key_days_by_day ON key_days (day);

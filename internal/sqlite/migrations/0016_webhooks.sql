-- Webhooks, and what is due to them. The events of the feed up to reached have a row in
-- deliveries, unless they are of other types. Who delivers to a webhook is its holder,
-- until held_until. The secrets are kept as they are: they have to sign.

CREATE TABLE webhooks (
  id            TEXT PRIMARY KEY,
  workspace     INTEGER NOT NULL,
  url           TEXT NOT NULL,
  types         TEXT NOT NULL, -- each between commas; '' for all
  description   TEXT NOT NULL,
  state         TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  reached       INTEGER NOT NULL,
  failing_since INTEGER,
  secret        TEXT NOT NULL,
  old_secret    TEXT NOT NULL, -- '' for none
  old_until     INTEGER,
  holder        TEXT NOT NULL,
  held_until    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_workspace ON webhooks (workspace);

CREATE TABLE deliveries (
  webhook   TEXT NOT NULL,
  event     INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  type      TEXT NOT NULL,
  state     TEXT NOT NULL,
  tries     INTEGER NOT NULL,
  tried_at  INTEGER,
  next_at   INTEGER, -- NULL if it has ended
  status    INTEGER NOT NULL, -- 0 if no answer came
  answer    TEXT NOT NULL,
  error     TEXT NOT NULL,
  latency   INTEGER NOT NULL,
  PRIMARY KEY (webhook, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (webhook, next_at, event) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_ended ON deliveries (webhook, tried_at) WHERE next_at IS NULL;
CREATE INDEX deliveries_workspace ON deliveries (workspace);

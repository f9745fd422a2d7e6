-- Instants are milliseconds since the Unix epoch. The workspace stands first in each
-- key of a shop's tables: it is the unit of isolation.

PRAGMA application_id = 0x50455447; -- marks the file as ours: "PETG" in ASCII

CREATE TABLE migrations (
  version INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  at      INTEGER NOT NULL
) STRICT;

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Workspaces, and keys with their bans. Each change of them changes the state, which tells servers
-- that what they know of keys may be old.

CREATE TABLE access_state (
  only  INTEGER PRIMARY KEY CHECK (only = 1),
  state INTEGER NOT NULL
) STRICT;
INSERT INTO access_state (only, state) VALUES (1, 1);

CREATE TABLE workspaces (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL UNIQUE,
  plan       TEXT NOT NULL,
  per_minute INTEGER NOT NULL CHECK (per_minute >= 1),
  per_day    INTEGER NOT NULL CHECK (per_day >= 1),
  created_at INTEGER NOT NULL,
  low_stock  INTEGER NOT NULL DEFAULT 3 CHECK (low_stock BETWEEN 0 AND 100), -- the stock of a pet is low with so many units or fewer
  shop       INTEGER UNIQUE,           -- the id of its pets and of all else that a reset removes; NULL for that of the workspace
  expires_at INTEGER,                  -- of a sandbox: when it is removed; NULL for others
  catalogue  TEXT NOT NULL DEFAULT '', -- of a sandbox: what it has after a reset
  made_from  TEXT NOT NULL DEFAULT ''  -- of a sandbox: the address of who made it
) STRICT;
CREATE INDEX workspaces_sandboxes ON workspaces (expires_at) WHERE expires_at IS NOT NULL;

-- The shops whose rows are being removed step by step, in many transactions: after a
-- reset, or because their workspaces were deleted.
CREATE TABLE removals (
  workspace INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE api_keys (
  id           TEXT PRIMARY KEY,
  workspace    INTEGER NOT NULL,
  name         TEXT NOT NULL,
  prefix       TEXT NOT NULL,
  hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  scopes       INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  rotated_to   TEXT NOT NULL DEFAULT '',
  last_used    INTEGER NOT NULL DEFAULT 0,
  banned_at    INTEGER,
  banned_until INTEGER, -- NULL if it is not banned
  ban_level    INTEGER NOT NULL DEFAULT 0,
  ban_reason   TEXT NOT NULL DEFAULT '',
  banned_by    TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_age ON api_keys (workspace, created_at, id);
CREATE INDEX api_keys_live ON api_keys (workspace, expires_at) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_banned ON api_keys (banned_until) WHERE banned_until IS NOT NULL;

CREATE TABLE audit (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace INTEGER NOT NULL, -- that it is about, 0 for none
  at        INTEGER NOT NULL,
  actor     TEXT NOT NULL,
  action    TEXT NOT NULL,
  subject   TEXT NOT NULL,
  detail    TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_workspace ON audit (workspace, id);

-- Who is signed in to a console. key_id is empty for an operator.
CREATE TABLE console_sessions (
  hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
  key_id     TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX console_sessions_by_key ON console_sessions (key_id, started_at);
CREATE INDEX console_sessions_by_end ON console_sessions (ends_at);

-- Tokens for the operator's API. The row of a revoked token stays, so that its owner
-- can be named.
CREATE TABLE operator_tokens (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  prefix     TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- What the rate limiter keeps over a restart.

CREATE TABLE limit_windows (
  subject      TEXT PRIMARY KEY,
  minute_start INTEGER NOT NULL,
  minute_used  INTEGER NOT NULL,
  day          INTEGER NOT NULL,
  day_used     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the workspaces did, by the minute and by the hour, and each key by the UTC day: step
-- is 60, 3600 or 86400 seconds, start is in Unix seconds. l0 to l9 are a histogram of
-- latencies, of workspaces only.
CREATE TABLE usage (
  workspace     INTEGER NOT NULL,
  step          INTEGER NOT NULL,
  key           TEXT NOT NULL, -- '' for the whole workspace
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
  deprecated    INTEGER NOT NULL, -- requests of operations that will end; of a key only
  PRIMARY KEY (workspace, step, start, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_start ON usage (step, start);

-- The shops. The counters hold the last id issued of each kind. They outlive the rows,
-- so that no id is issued again. Events with an id up to forgotten are not kept.

CREATE TABLE counters (
  workspace  INTEGER PRIMARY KEY,
  pets       INTEGER NOT NULL DEFAULT 0,
  categories INTEGER NOT NULL DEFAULT 0,
  orders     INTEGER NOT NULL DEFAULT 0,
  movements  INTEGER NOT NULL DEFAULT 0,
  events     INTEGER NOT NULL DEFAULT 0,
  forgotten  INTEGER NOT NULL DEFAULT 0,
  letters    TEXT NOT NULL DEFAULT '' -- those of all names that pets had, folded; a long text may lack some
) STRICT;

CREATE TABLE categories (
  workspace   INTEGER NOT NULL,
  id          INTEGER NOT NULL,
  name        TEXT NOT NULL,
  folded      TEXT NOT NULL, -- the name in the form in which texts are compared
  description TEXT,
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

-- There are no foreign keys: whoever writes to a workspace locks its counters. For
-- one to the category SQLite would read all pets of the workspace, whatever their index.
CREATE TABLE pets (
  workspace     INTEGER NOT NULL,
  id            INTEGER NOT NULL,
  name          TEXT NOT NULL,
  category      INTEGER NOT NULL,
  status        TEXT NOT NULL CHECK (status = 'available' OR status = 'pending' OR status = 'sold'), -- IN would build a table of three rows for every write
  quantity      INTEGER NOT NULL CHECK (quantity >= 0),
  open_orders   INTEGER NOT NULL CHECK (open_orders >= 0),
  movements     INTEGER NOT NULL, -- how many there are of the pet
  last_movement INTEGER NOT NULL DEFAULT 0, -- 0 for none
  folded        TEXT NOT NULL, -- the name in the form in which texts are compared
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pets_by_status ON pets (workspace, status, id);
CREATE INDEX pets_by_category ON pets (workspace, category, status, id);
CREATE INDEX pets_by_low_stock ON pets (workspace, status, quantity) WHERE quantity <= 100; -- with all quantities, each order would change the index

-- An order keeps the id of its pet when that is deleted: no foreign key.
CREATE TABLE orders (
  workspace INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  pet       INTEGER NOT NULL,
  quantity  INTEGER NOT NULL CHECK (quantity > 0),
  ship_date INTEGER,
  complete  INTEGER NOT NULL CHECK (complete IN (0, 1)),
  placed    INTEGER NOT NULL DEFAULT 0, -- the movement that placed it; 0 if it was imported
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX orders_by_pet ON orders (workspace, pet, complete, id);
CREATE INDEX orders_by_complete ON orders (workspace, complete, id);
CREATE INDEX orders_by_ship_date ON orders (workspace, complete, ship_date) WHERE ship_date IS NOT NULL;

-- The ledger. A new movement comes at the end, whichever pet it is of, and names the
-- movement before it of the same pet. The row of a pet names its last movement. The last
-- movement of a pet that was deleted is the one of the kind 'deleted'.
CREATE TABLE movements (
  workspace INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  before    INTEGER NOT NULL CHECK (before < id), -- 0 for a pet's first
  pet       INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  order_id  INTEGER,
  delta     INTEGER NOT NULL,
  quantity  INTEGER NOT NULL CHECK (quantity >= 0),
  at        INTEGER NOT NULL,
  by_key    TEXT NOT NULL DEFAULT '', -- the id of an API key; '' for a command
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX movements_ended ON movements (workspace, order_id) WHERE kind = 'completed' OR kind = 'cancelled';
CREATE UNIQUE INDEX movements_deleted ON movements (workspace, pet) WHERE kind = 'deleted';

-- What is done once: the answers to requests with an Idempotency-Key, by their shop; keys
-- that were made and answers to forms, under the negative id of their workspace; and links
-- that were used, under 0.
CREATE TABLE receipts (
  workspace   INTEGER NOT NULL,
  operation   TEXT NOT NULL,
  key         TEXT NOT NULL,
  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
  row_id      INTEGER NOT NULL,
  body        BLOB NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (workspace, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_by_created ON receipts (created_at);

-- The feeds of workspaces: what was changed, in the order of the commits.

CREATE TABLE events (
  workspace INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  type      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  request   TEXT NOT NULL, -- '' for a command
  data      TEXT NOT NULL,
  previous  TEXT NOT NULL, -- '' unless it is an update
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

-- Webhooks, and what is due to them. Each event of the feed up to reached has a row in
-- deliveries, unless the webhook does not want its type. Until held_until only the
-- holder delivers to a webhook. The secrets are kept as they are, because they sign.

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
  failure       TEXT NOT NULL DEFAULT '', -- what came of the latest try that failed since then
  failing_for   INTEGER NOT NULL DEFAULT 0, -- milliseconds, as those who held it saw them
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
  earlier   TEXT NOT NULL DEFAULT '', -- the tries before the latest, in JSON; '' for none
  PRIMARY KEY (webhook, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (webhook, next_at, event) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_ended ON deliveries (webhook, tried_at) WHERE next_at IS NULL;
CREATE INDEX deliveries_workspace ON deliveries (workspace);

-- The search by a part of a name: an index of every three letters of the folded names. A
-- row is numbered by its workspace and its id, so that matches come in the order of ids.
-- The view says which names the index has. With a trigger for new pets, FTS5 would write a
-- part of its index for each of them: so whoever inserts pets inserts their names.
CREATE VIEW indexed_names (number, name) AS
  SELECT (workspace << 40) + id, folded FROM pets WHERE workspace < 1 << 23 AND id < 1 << 40;
CREATE VIRTUAL TABLE pet_names USING fts5 (name, content='indexed_names', content_rowid='number',
  columnsize=0, tokenize='trigram case_sensitive 1');
INSERT INTO pet_names (pet_names, rank) VALUES ('automerge', 8), ('usermerge', 2), ('crisismerge', 1999);
CREATE TRIGGER pets_renamed AFTER UPDATE OF folded ON pets WHEN new.folded <> old.folded AND new.workspace < 1 << 23 AND new.id < 1 << 40 BEGIN
  INSERT INTO pet_names (pet_names, rowid, name) VALUES ('delete', (old.workspace << 40) + old.id, old.folded);
  INSERT INTO pet_names (rowid, name) VALUES ((new.workspace << 40) + new.id, new.folded);
END;
CREATE TRIGGER pets_removed AFTER DELETE ON pets WHEN old.workspace < 1 << 23 AND old.id < 1 << 40 BEGIN
  INSERT INTO pet_names (pet_names, rowid, name) VALUES ('delete', (old.workspace << 40) + old.id, old.folded);
END;

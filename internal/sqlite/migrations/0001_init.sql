-- Instants are milliseconds since the Unix epoch. The workspace stands first
-- in every key: it is the unit of isolation.

CREATE TABLE migrations (
  version INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  at      INTEGER NOT NULL
) STRICT;

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Workspaces, keys and bans. Each change of them takes the next state and
-- stamps its rows with it; a reader of a state before the floor has to read
-- everything, since a row was deleted after it.

CREATE TABLE access_state (
  only  INTEGER PRIMARY KEY CHECK (only = 1),
  state INTEGER NOT NULL,
  floor INTEGER NOT NULL
) STRICT;
INSERT INTO access_state (only, state, floor) VALUES (1, 1, 1);

CREATE TABLE workspaces (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL UNIQUE,
  plan       TEXT NOT NULL,
  per_minute INTEGER NOT NULL CHECK (per_minute >= 1),
  per_day    INTEGER NOT NULL CHECK (per_day >= 1),
  created_at INTEGER NOT NULL,
  state      INTEGER NOT NULL
) STRICT;
CREATE INDEX workspaces_by_state ON workspaces (state);

CREATE TABLE api_keys (
  id         TEXT PRIMARY KEY,
  workspace  INTEGER NOT NULL REFERENCES workspaces (id),
  name       TEXT NOT NULL,
  prefix     TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  scopes     INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  rotated_to TEXT NOT NULL DEFAULT '',
  state      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_workspace ON api_keys (workspace);
CREATE INDEX api_keys_by_state ON api_keys (state);

CREATE TABLE bans (
  key_id     TEXT PRIMARY KEY REFERENCES api_keys (id) ON DELETE CASCADE,
  begins_at  INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL,
  level      INTEGER NOT NULL,
  reason     TEXT NOT NULL,
  imposed_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;

-- What the rate limiter keeps over a restart.

CREATE TABLE limit_windows (
  subject      TEXT PRIMARY KEY,
  minute_start INTEGER NOT NULL,
  minute_used  INTEGER NOT NULL,
  day          INTEGER NOT NULL,
  day_used     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE limit_keys (
  key_id      TEXT PRIMARY KEY,
  workspace   INTEGER NOT NULL,
  day         INTEGER NOT NULL,
  admitted    INTEGER NOT NULL,
  refused     INTEGER NOT NULL,
  last_used   INTEGER NOT NULL,
  level       INTEGER NOT NULL,
  clean_since INTEGER NOT NULL,
  run_from    INTEGER NOT NULL,
  run_until   INTEGER NOT NULL,
  strikes     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The shops. The counters hold the last id issued of each kind; they outlive
-- the rows, so that no id is issued again.

CREATE TABLE counters (
  workspace INTEGER PRIMARY KEY,
  pets       INTEGER NOT NULL DEFAULT 0,
  categories INTEGER NOT NULL DEFAULT 0,
  orders     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE categories (
  workspace   INTEGER NOT NULL,
  id          INTEGER NOT NULL,
  name        TEXT NOT NULL,
  folded      TEXT NOT NULL,
  description TEXT,
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE pets (
  workspace   INTEGER NOT NULL,
  id          INTEGER NOT NULL,
  name        TEXT NOT NULL,
  category    INTEGER NOT NULL,
  status      TEXT NOT NULL CHECK (status = 'available' OR status = 'pending' OR status = 'sold'), -- IN would build a table of three rows for every write
  quantity    INTEGER NOT NULL CHECK (quantity >= 0),
  open_orders INTEGER NOT NULL CHECK (open_orders >= 0),
  movements   INTEGER NOT NULL,
  folded      TEXT NOT NULL,
  PRIMARY KEY (workspace, id),
  FOREIGN KEY (workspace, category) REFERENCES categories (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pets_by_status ON pets (workspace, status, id);
CREATE INDEX pets_by_category ON pets (workspace, category, status, id);

-- An order keeps the id of its pet when that is deleted: no foreign key.
CREATE TABLE orders (
  workspace INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  pet       INTEGER NOT NULL,
  quantity  INTEGER NOT NULL CHECK (quantity > 0),
  ship_date INTEGER,
  complete  INTEGER NOT NULL CHECK (complete IN (0, 1)),
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX orders_by_pet ON orders (workspace, pet, complete, id);
CREATE INDEX orders_by_complete ON orders (workspace, complete, id);

CREATE TABLE movements (
  workspace INTEGER NOT NULL,
  pet       INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  order_id  INTEGER,
  delta     INTEGER NOT NULL,
  quantity  INTEGER NOT NULL CHECK (quantity >= 0),
  at        INTEGER NOT NULL,
  PRIMARY KEY (workspace, pet, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE receipts (
  number      INTEGER PRIMARY KEY,
  workspace   INTEGER NOT NULL,
  operation   TEXT NOT NULL,
  key         TEXT NOT NULL,
  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
  row_id      INTEGER NOT NULL,
  body        BLOB NOT NULL,
  created_at  INTEGER NOT NULL,
  UNIQUE (workspace, operation, key)
) STRICT;
CREATE INDEX receipts_by_created ON receipts (created_at);

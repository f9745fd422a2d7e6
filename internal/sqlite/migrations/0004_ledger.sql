-- The ledger of a workspace grows at its end, whichever animal an entry is of: so
-- the orders of many animals change few pages of it. Each entry names the one
-- before it of the same animal, the animal its last one.

CREATE TABLE entries (
  workspace INTEGER NOT NULL,
  entry     INTEGER NOT NULL,
  before    INTEGER NOT NULL CHECK (before < entry), -- 0 for an animal's first
  pet       INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  order_id  INTEGER,
  delta     INTEGER NOT NULL,
  quantity  INTEGER NOT NULL CHECK (quantity >= 0),
  at        INTEGER NOT NULL,
  PRIMARY KEY (workspace, entry)
) STRICT, WITHOUT ROWID;

INSERT INTO entries (workspace, entry, before, pet, number, kind, order_id, delta, quantity, at)
  SELECT workspace, entry, iif(previous = pet, entry - 1, 0), pet, number, kind, order_id, delta, quantity, at
  FROM (SELECT *, row_number() OVER w AS entry, lag(pet) OVER w AS previous FROM movements
    WINDOW w AS (PARTITION BY workspace ORDER BY pet, number));

-- In a table, since a sort of many movements would take as much memory.
CREATE TABLE lasts (
  workspace INTEGER NOT NULL,
  pet       INTEGER NOT NULL,
  entry     INTEGER NOT NULL,
  PRIMARY KEY (workspace, pet)
) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO lasts (workspace, pet, entry) SELECT workspace, pet, entry FROM entries ORDER BY workspace, entry;

-- The animals that left the catalogue, and their ledgers with them.
CREATE TABLE departed (
  workspace  INTEGER NOT NULL,
  pet        INTEGER NOT NULL,
  last_entry INTEGER NOT NULL,
  PRIMARY KEY (workspace, pet)
) STRICT, WITHOUT ROWID;

INSERT INTO departed (workspace, pet, last_entry)
  SELECT workspace, pet, entry FROM lasts l WHERE NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace = l.workspace AND p.id = l.pet);

ALTER TABLE pets ADD COLUMN last_entry INTEGER NOT NULL DEFAULT 0;
UPDATE pets SET last_entry = coalesce((SELECT entry FROM lasts l WHERE l.workspace = pets.workspace AND l.pet = pets.id), 0);
DROP TABLE lasts;

ALTER TABLE counters ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
UPDATE counters SET entries = coalesce((SELECT max(entry) FROM entries e WHERE e.workspace = counters.workspace), 0);

DROP TABLE movements;
ALTER TABLE entries RENAME TO movements;

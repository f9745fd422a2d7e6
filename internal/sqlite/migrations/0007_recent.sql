-- Where the orders of an animal are: the latest in its own row, see recent.go,
-- which an order changes anyway; those before here. A row that is NULL there, as all
-- are that were written before, has all of its orders here.

CREATE TABLE pet_orders (
  workspace INTEGER NOT NULL,
  pet       INTEGER NOT NULL,
  complete  INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  PRIMARY KEY (workspace, pet, complete, id)
) STRICT, WITHOUT ROWID;
INSERT INTO pet_orders (workspace, pet, complete, id)
  SELECT workspace, pet, complete, id FROM orders INDEXED BY orders_by_pet ORDER BY workspace, pet, complete, id;
DROP INDEX orders_by_pet;
ALTER TABLE pets ADD COLUMN recent BLOB;

-- The latest orders in a pet's row are plain ids from now on. Those that are named in
-- another way go to the others, with all that are there.
DELETE FROM pet_orders;
INSERT INTO pet_orders (workspace, pet, complete, id)
  SELECT workspace, pet, complete, id FROM orders ORDER BY workspace, pet, complete, id;
UPDATE pets SET recent = NULL WHERE recent IS NOT NULL;

-- What the lists by quantity and by ship date are read by. Much stock is not in an
-- index, so that an order of such a pet changes none.
DROP INDEX pets_by_level;
ALTER TABLE pets DROP COLUMN level;
CREATE INDEX pets_by_low_stock ON pets (workspace, status, quantity) WHERE quantity <= 100;

DROP INDEX orders_by_ship_day;
CREATE INDEX orders_by_ship_date ON orders (workspace, complete, ship_date) WHERE ship_date IS NOT NULL;

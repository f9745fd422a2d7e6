-- What the lists by quantity and by ship date are read by. A level is a range of
-- quantities, see levels.go: unlike the quantity it stays as it is at most orders,
-- and so does the index.

CREATE TABLE level_ends (
  greatest INTEGER PRIMARY KEY, -- quantity
  number   INTEGER NOT NULL
) STRICT;
INSERT INTO level_ends (greatest, number)
  WITH RECURSIVE tens (unit, decade) AS (VALUES (1, 0) UNION ALL SELECT unit * 10, decade + 1 FROM tens WHERE decade < 16),
    steps (greatest, number) AS (VALUES (10, 5), (15, 6), (20, 7), (25, 8), (30, 9), (40, 10), (50, 11), (75, 12))
  SELECT greatest * unit, number + 8 * decade FROM tens, steps
  UNION ALL VALUES (0, 0), (1, 1), (2, 2), (3, 3), (5, 4);

ALTER TABLE pets ADD COLUMN level INTEGER NOT NULL DEFAULT 0;
UPDATE pets SET level = (SELECT number FROM level_ends WHERE greatest >= quantity ORDER BY greatest LIMIT 1);
DROP TABLE level_ends;
CREATE INDEX pets_by_level ON pets (workspace, status, level, id);

-- By days of 86,400,000 milliseconds. The date itself is there for the first and
-- the last day of a range.
CREATE INDEX orders_by_ship_day ON orders (workspace, complete, ship_date / 86400000, id, ship_date) WHERE ship_date IS NOT NULL;

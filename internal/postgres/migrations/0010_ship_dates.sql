-- beside: 2
--
-- Orders by ship date; those without one cost nothing. Writes of orders wait while
-- the index is made. Where that takes too long an administrator makes it before the
-- upgrade, with the same text and CONCURRENTLY.

CREATE INDEX IF NOT EXISTS orders_by_ship_date ON orders (workspace, ship_date, id) WHERE ship_date IS NOT NULL;

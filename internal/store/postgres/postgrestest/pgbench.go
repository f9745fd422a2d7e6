package postgrestest

// OrderScript is a script of pgbench that places an order as one statement,
// with two verbs for fmt: how many pets there are, and their workspace. The ids
// come from the sequence order_ids, which the database must have: a row for a
// counter would have all clients wait for each other.
const OrderScript = `\set pet random(1, %d)
WITH taken AS (UPDATE petstore.pets SET quantity = quantity - 1, open_orders = open_orders + 1, movements = movements + 1,
	last_movement = nextval('order_ids') WHERE workspace = %d AND id = :pet AND status = 'available' AND quantity >= 1 RETURNING workspace, id, quantity, movements, last_movement),
placed AS (INSERT INTO petstore.orders (workspace, id, pet, quantity, complete)
	SELECT workspace, nextval('order_ids'), id, 1, false FROM taken RETURNING id)
INSERT INTO petstore.movements (workspace, id, before, pet, number, delta, quantity, at, order_id, kind)
	SELECT t.workspace, t.last_movement, 0, t.id, t.movements, -1, t.quantity, 0, p.id, 'placed' FROM taken t, placed p;
`

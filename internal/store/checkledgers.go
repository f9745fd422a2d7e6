package store

const (
	// succession joins each movement m with the one before it of the same pet.
	succession = " FROM movements m LEFT JOIN movements b ON b.workspace = m.workspace AND b.id = m.before AND b.pet = m.pet AND b.id < m.id WHERE m." + kept + " AND "

	// outcome joins each pet p with its last movement m.
	outcome = " FROM pets p LEFT JOIN movements m ON m.workspace = p.workspace AND m.id = p.last_movement AND m.pet = p.id WHERE p." + kept + " AND "
)

// ledgers compares each movement with the one before it, each pet with its last movement and
// its orders, and the sums of each workspace.
var ledgers = faults{
	{"ledger: pet %d of workspace %d: its ledger lacks the movement %d", "SELECT m.pet, m.workspace, m.before" + succession + "m.before <> 0 AND b.id IS NULL"},
	{"ledger: pet %d of workspace %d: the movement %d follows the movement %d",
		"SELECT m.pet, m.workspace, m.number, coalesce(b.number, 0)" + succession + "m.number <> coalesce(b.number, 0) + 1"},
	{"ledger: pet %d of workspace %d: the movement %d leaves %d, after %d and a change by %d",
		"SELECT m.pet, m.workspace, m.number, m.quantity, coalesce(b.quantity, 0), m.delta" + succession + "m.quantity <> coalesce(b.quantity, 0) + m.delta"},
	{"ledger: pet %d of workspace %d was deleted, and its movements leave %d", "SELECT pet, workspace, quantity FROM movements WHERE kind = 'deleted' AND quantity <> 0 AND " + kept},

	{"ledger: pet %d of workspace %d: its ledger lacks the last movement", "SELECT p.id, p.workspace" + outcome + "m.id IS NULL"},
	{"ledger: pet %d of workspace %d was deleted, and is in the catalogue", "SELECT p.id, p.workspace" + outcome + "m.kind = 'deleted'"},
	{"ledger: pet %d of workspace %d: the quantity is %d, and its last movement says %d",
		"SELECT p.id, p.workspace, p.quantity, coalesce(m.quantity, 0)" + outcome + "p.quantity <> coalesce(m.quantity, 0)"},
	{"ledger: pet %d of workspace %d: the number of movements is %d, and the last one is numbered %d",
		"SELECT p.id, p.workspace, p.movements, coalesce(m.number, 0)" + outcome + "p.movements <> coalesce(m.number, 0)"},
	{"ledger: pet %d of workspace %d: the number of open orders is %d, and the orders say %d", `SELECT id, workspace, open_orders, n FROM (SELECT p.id, p.workspace, p.open_orders,
		(SELECT count(*) FROM orders o WHERE o.workspace = p.workspace AND o.pet = p.id AND o.complete = FALSE) AS n FROM pets p) AS counted WHERE open_orders <> n AND ` + kept},

	sums("open orders", "open_orders", "CASE kind WHEN 'placed' THEN 1 WHEN 'completed' THEN -1 WHEN 'cancelled' THEN -1 ELSE 0 END"),
	sums("movements", "movements", "1 - CASE kind WHEN 'deleted' THEN number ELSE 0 END"), // a deleted pet's last movement has their number
}

// sums compares what a column of all pets of a workspace adds up to with the same of all
// movements.
func sums(what, ofPet, ofMovement string) fault {
	return fault{
		"ledger: workspace %d: its pets have %d " + what + ", and its ledger has %d",
		"SELECT workspace, pets, ledger FROM (SELECT workspace, CAST(sum(" + ofMovement + ") AS bigint) AS ledger," +
			" (SELECT CAST(coalesce(sum(" + ofPet + "), 0) AS bigint) FROM pets p WHERE p.workspace = m.workspace) AS pets" +
			" FROM movements m WHERE " + kept + " GROUP BY workspace) AS sums WHERE pets <> ledger",
	}
}

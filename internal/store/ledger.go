package store

import (
	"context"

	"example.com/petstore/internal/petstore"
)

// SelectLedger selects the movements of the pet $2, the newest first, each with the id of
// the one before it. They begin at the movement with the id $3, or at the last one for 0.
const SelectLedger = `WITH RECURSIVE ledger AS (
		SELECT * FROM movements WHERE workspace = $1 AND pet = $2 AND id = coalesce(nullif(CAST($3 AS bigint), 0),
			(SELECT last_movement FROM pets WHERE workspace = $1 AND id = $2),
			(SELECT id FROM movements WHERE workspace = $1 AND pet = $2 AND kind = 'deleted'))
		UNION ALL
		SELECT m.* FROM ledger l JOIN movements m ON m.workspace = l.workspace AND m.id = l.before AND m.pet = l.pet AND m.id < l.id)
	SELECT ` + movementColumns + `, before, id FROM ledger`

// Movements implements [petstore.Store]. A place is the id of the movement there.
func (s *Store) Movements(ctx context.Context, workspace, petID, from int64, limit int) (page []petstore.Movement, next int64, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		page, next = nil, 0
		return each(tx, SelectLedger+" LIMIT $4", func(row Row) error {
			m, id := petstore.Movement{}, int64(0)
			err := scanMovement(row, &m, &next, &id)
			page = append(page, m)
			return err
		}, workspace, petID, from, int64(limit))
	})
	switch {
	case err != nil:
		return nil, 0, err
	case len(page) == 0:
		return nil, 0, petstore.NoPet(petID)
	}
	return page, next, nil
}

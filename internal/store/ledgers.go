package store

import (
	"math"
	"slices"

	"example.com/petstore/internal/petstore"
)

// Whoever reads whole databases reads pets in pages, each with its ledgers: so many pets,
// and so many movements. A ledger that is longer is read by itself, in pieces.
const (
	petsAtOnce      = "1000"
	movementsAtOnce = 10_000
)

// A petKey names a pet of a workspace.
type petKey struct{ workspace, id int64 }

// A span holds the pets behind one, up to another.
type span struct{ after, upTo petKey }

// everyPet is the span of all pets of all workspaces.
var everyPet = span{upTo: petKey{math.MaxInt64, math.MaxInt64}}

// petsOf returns the span of all pets of a workspace.
func petsOf(workspace int64) span {
	return span{petKey{workspace, 0}, petKey{workspace, math.MaxInt64}}
}

func (s span) args() []any {
	return []any{s.after.workspace, s.after.id, s.upTo.workspace, s.upTo.id}
}

// inSpan is the condition that the columns of a pet's key are in the span $1 to $4.
func inSpan(columns string) string {
	return "(" + columns + ") > ($1, $2) AND (" + columns + ") <= ($3, $4)"
}

var (
	// headsOf selects the first pets of a span and, among them, those that were deleted,
	// with their last movements.
	headsOf = `SELECT * FROM (SELECT workspace, id AS pet, name, category, status, quantity, open_orders, movements, last_movement AS last
			FROM pets WHERE ` + inSpan("workspace, id") + ` ORDER BY workspace, id LIMIT ` + petsAtOnce + `) AS kept
		UNION ALL SELECT * FROM (SELECT workspace, pet, '', 0, '', 0, 0, number, id
			FROM movements m WHERE kind = 'deleted' AND ` + inSpan("workspace, pet") + `
			AND NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace = m.workspace AND p.id = m.pet) ORDER BY workspace, pet LIMIT ` + petsAtOnce + `) AS deleted`
	selectHeads   = "SELECT * FROM (" + headsOf + ") AS heads ORDER BY workspace, pet LIMIT " + petsAtOnce
	selectLedgers = `WITH RECURSIVE ledger AS (
			SELECT m.* FROM (` + headsOf + `) AS heads JOIN movements m ON m.workspace = heads.workspace AND m.id = heads.last AND m.pet = heads.pet
			UNION ALL
			SELECT m.* FROM ledger l JOIN movements m ON m.workspace = l.workspace AND m.id = l.before AND m.pet = l.pet AND m.id < l.id)
		SELECT ` + movementColumns + `, before, id, workspace FROM ledger ORDER BY workspace, pet, id DESC`
)

// A head is a pet, or one that was deleted, with its ledger.
type head struct {
	key  petKey
	pet  petstore.StockedPet
	gone bool  // it was deleted, and of the pet there are the id and the number of movements
	last int64 // the id of its last movement; 0 if there is none

	ledger []storedMovement // from the last movement to the first; nil if there are too many
}

func scanHead(row Row, h *head) error {
	var status string
	p := &h.pet
	err := row.Scan(&h.key.workspace, &p.ID, &p.Name, &p.CategoryID, &status, &p.Quantity, &p.OpenOrders, &p.Movements, &h.last)
	h.key.id, p.Status, h.gone = p.ID, petstore.Status(status), status == ""
	return err
}

// all returns what scan reads of the rows of a statement.
func all[T any](tx Tx, scan func(Row, *T) error, query string, args ...any) (rows []T, err error) {
	err = each(tx, query, func(row Row) error {
		var value T
		err := scan(row, &value)
		rows = append(rows, value)
		return err
	}, args...)
	return rows, err
}

// readHeads returns the first pets of a span with their ledgers, and what is left of it.
func readHeads(tx Tx, s span) (heads []head, rest span, err error) {
	heads, err = all(tx, scanHead, selectHeads, s.args()...)
	if err != nil || len(heads) == 0 {
		return nil, s, err
	}
	movements := int64(0)
	for i := range heads {
		if movements += heads[i].pet.Movements; movements > movementsAtOnce {
			heads = heads[:max(i, 1)]
			break
		}
	}
	end := heads[len(heads)-1].key
	s, rest = span{s.after, end}, span{end, s.upTo}
	if heads[0].long() {
		return heads, rest, nil
	}
	i := 0
	err = each(tx, selectLedgers, func(row Row) error {
		var (
			m         storedMovement
			workspace int64
		)
		err := scanMovement(row, &m.Movement, &m.before, &m.id, &workspace)
		for heads[i].key != (petKey{workspace, m.PetID}) {
			i++
		}
		heads[i].ledger = append(heads[i].ledger, m)
		return err
	}, s.args()...)
	return heads, rest, err
}

// long reports whether the ledger is read by itself.
func (h *head) long() bool { return h.pet.Movements > movementsAtOnce }

// pieces gives the ledger to take, from the last movement to the first, in pieces, none of
// which is empty.
func (h *head) pieces(tx Tx, take func([]storedMovement) error) error {
	if !h.long() {
		if len(h.ledger) == 0 {
			return nil
		}
		return take(h.ledger)
	}
	for next := h.last; next != 0; {
		piece, err := h.piece(tx, next)
		if err != nil || len(piece) == 0 {
			return err
		}
		if err := take(piece); err != nil {
			return err
		}
		next = piece[len(piece)-1].before
	}
	return nil
}

// piece returns a part of a long ledger that begins at the movement with an id.
func (h *head) piece(tx Tx, id int64) ([]storedMovement, error) {
	return all(tx, func(row Row, m *storedMovement) error { return scanMovement(row, &m.Movement, &m.before, &m.id) },
		SelectLedger+" LIMIT $4", h.key.workspace, h.key.id, id, movementsAtOnce)
}

// oldestFirst gives the ledger to take, from the first movement to the last. missing is
// the id of a movement that it lacks, or 0.
func (h *head) oldestFirst(tx Tx, take func(petstore.Movement) error) (missing int64, err error) {
	var starts []int64
	missing = h.last
	err = h.pieces(tx, func(piece []storedMovement) error {
		starts = append(starts, piece[0].id)
		missing = piece[len(piece)-1].before
		return nil
	})
	if err != nil || missing != 0 {
		return missing, err
	}
	for _, id := range slices.Backward(starts) {
		piece := h.ledger
		if h.long() {
			if piece, err = h.piece(tx, id); err != nil {
				return 0, err
			}
		}
		for _, l := range slices.Backward(piece) {
			if err := take(l.Movement); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

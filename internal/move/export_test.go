package move

// InBatches makes m keep so many rows in one transaction.
func InBatches(m *Move, rows int) *Move {
	m.atOnce = rows
	return m
}

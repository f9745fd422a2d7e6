// Package nodes runs several nodes of the binary on one PostgreSQL and one
// Redis, as deploy/compose.yaml does, and breaks what is between them. It has
// tests only. What each store promises by itself is tested beside it, and what
// a ledger finds lost or doubled, in test/faults.
package nodes

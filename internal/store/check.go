package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrDamaged is the beginning of the error of a database whose rows contradict each other.
var ErrDamaged = errors.New("the database is damaged")

// maxProblems bounds what a check returns: a broken database can have millions.
const maxProblems = 100

// A Report takes what a check finds.
type Report = func(format string, args ...any)

// reportTo returns a report that adds to problems, at most a hundred.
func reportTo(problems *[]string) Report {
	return func(format string, args ...any) {
		if len(*problems) < maxProblems {
			*problems = append(*problems, fmt.Sprintf(format, args...))
		}
	}
}

// Check looks for damage and returns what it found, in words, at most a hundred problems;
// none is good. It reads all workspaces, as they are at one moment: the references, and the
// ledger, which must explain for each pet its stock and its open orders. Other calls go on
// beside it.
func (s *Store) Check(ctx context.Context) (problems []string, err error) {
	err = s.db.Snapshot(ctx, func(tx Tx) (err error) {
		problems, err = Check(tx, s.dialect)
		return err
	})
	return problems, err
}

// Check is [Store.Check] of a database that is read by tx, a transaction of one instant.
func Check(tx Tx, own Dialect) (problems []string, err error) {
	report := reportTo(&problems)
	checks := []func(Tx, Report) error{references.check, rules.check, ledgers.check}
	if own.CheckStructure != nil {
		checks = append(checks, own.CheckStructure)
	}
	for _, check := range checks {
		if err := check(tx, report); err != nil {
			return problems, err
		}
	}
	return problems, nil
}

// A fault is a query for rows that must not exist, with the text that reports one. The
// columns of the row are the arguments of the text.
type fault struct{ text, query string }

type faults []fault

func (f faults) check(tx Tx, report Report) error {
	for _, fault := range f {
		err := Each(tx, fault.query, func(row Row) error {
			values, err := valuesOf(row, strings.Count(fault.text, "%"))
			report(fault.text, values...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var references = faults{
	{"references: pet %d of workspace %d names the category %d, which does not exist", `SELECT id, workspace, category FROM pets p
		WHERE NOT EXISTS (SELECT 1 FROM categories c WHERE c.workspace = p.workspace AND c.id = p.category)`},
	{"references: the key %s is of the workspace %d, which does not exist", `SELECT id, workspace FROM api_keys k
		WHERE NOT EXISTS (SELECT 1 FROM workspaces w WHERE w.id = k.workspace)`},
}

// kept is the condition that a row is of no shop whose rows are being removed: of those, some
// are gone already.
const kept = "workspace NOT IN (SELECT workspace FROM removals)"

var rules = faults{
	{"ledger: order %d of workspace %d is open, and its pet %d does not exist", `SELECT id, workspace, pet FROM orders o
		WHERE NOT complete AND NOT EXISTS (SELECT 1 FROM pets p WHERE p.workspace = o.workspace AND p.id = o.pet)`},
	issued("pets"), issued("categories"), issued("orders"), issued("movements"),
}

// issued finds ids that are above their counter, and so would be issued again.
func issued(table string) fault {
	return fault{
		"ids: " + table + " of workspace %d have the id %d, which was never issued",
		"SELECT workspace, max(id) FROM " + table + " t WHERE " + kept + " GROUP BY workspace" +
			" HAVING max(id) > coalesce((SELECT c." + table + " FROM counters c WHERE c.workspace = t.workspace), 0)",
	}
}

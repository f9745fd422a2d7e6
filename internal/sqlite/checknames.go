package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"
)

// A namesCheck holds the index of names against the names, segment by segment.
type namesCheck struct {
	c      *conn
	report func(string, ...any)
	schema int64

	workspace int64
	last      segment                       // the one before
	above     [blockLevel]map[string]halves // the nodes that the last one belongs to
}

const (
	closedGrams  = 8 // the schema from which on grams have their parts beside them
	halvedBlocks = 9 // the schema from which on halves of blocks are told apart
)

// checkNames makes sure that a search finds every animal of which the index says
// that it knows its name.
func checkNames(c *conn, report func(string, ...any)) error {
	var schema int64
	if _, err := c.one("SELECT max(version) FROM migrations", func(row *sqlite.Stmt) { schema = scanInt(row) }); err != nil {
		return err
	}
	var workspaces []int64
	err := c.each("SELECT DISTINCT workspace FROM name_segments", func(row *sqlite.Stmt) { workspaces = append(workspaces, row.ColumnInt64(0)) })
	for i := 0; err == nil && i < len(workspaces); i++ {
		k := &namesCheck{c: c, report: report, schema: schema, workspace: workspaces[i]}
		var segments []segment
		err = c.each("SELECT "+segmentColumns+" FROM name_segments WHERE workspace=? ORDER BY number",
			func(row *sqlite.Stmt) { segments = append(segments, scanSegment(row)) }, k.workspace)
		k.last = segment{number: -1}
		for i := 0; err == nil && i < len(segments); i++ {
			err = k.segment(segments[i])
		}
	}
	return err
}

// segment checks one, given that those before were checked.
func (k *namesCheck) segment(s segment) error {
	name := fmt.Sprintf("names: segment %d of workspace %d", s.number, k.workspace)
	if s.number != k.last.number+1 || s.first != k.last.last+1 || k.last.builder != 0 {
		k.report("%s, from pet %d on, does not follow from the one before", name, s.first)
	}
	before := k.last
	k.last = s
	if s.builder != 0 { // nobody relies on it
		return nil
	}
	want, err := k.c.gramsIn(k.workspace, s)
	if err != nil {
		return err
	}
	have, err := k.node(blockLevel, s.number)
	if err != nil {
		return err
	}
	for gram, in := range want {
		if !have[gram].has(in) {
			k.report("%s lacks the grams of some names of its pets %d to %d", name, s.first, s.last)
			break
		}
	}
	if k.schema >= closedGrams && lacksParts(have) {
		k.report("%s has grams without their parts", name)
	}
	return k.parents(name, have, s.number, before.number)
}

// lacksParts reports whether there is a gram in half a block that a part of it is not in.
func lacksParts(have map[string]halves) (lacks bool) {
	for gram, in := range have {
		eachGram(gram, func(part string) { lacks = lacks || !have[part].has(in) })
	}
	return lacks
}

// parents checks that the levels above have the grams of a segment. What they have
// themselves was checked with the segment before, if it has the same parents.
func (k *namesCheck) parents(name string, have map[string]halves, child, before int64) (err error) {
	for level := blockLevel - 1; level >= 0; level-- {
		node := child / fan
		before /= fan
		known := k.above[level] != nil && before == node
		if !known {
			if k.above[level], err = k.node(level, node); err != nil {
				return err
			}
		}
		for gram := range have {
			if k.above[level][gram].early>>(child%fan)&1 == 0 {
				k.report("%s has grams that level %d of the index lacks", name, level)
				break
			}
		}
		if known {
			return nil
		}
		child, have = node, k.above[level]
	}
	return nil
}

// node returns the grams of a node, and their bits.
func (k *namesCheck) node(level int, node int64) (map[string]halves, error) {
	columns := "early, late"
	if k.schema < halvedBlocks {
		columns = "bits, bits"
	}
	all := map[string]halves{}
	err := k.c.each("SELECT gram, "+columns+" FROM name_grams WHERE workspace=? AND level=? AND node=?", func(row *sqlite.Stmt) {
		all[row.ColumnText(0)] = scanHalves(row, 1)
	}, k.workspace, level, node)
	return all, err
}

package sqlite

import (
	"math/bits"
	"unicode/utf8"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// The index of names says where to look for a part of a name. It knows the
// animals up to the last segment that is ready; of them it may say too much, since
// nothing is taken out when an animal is renamed or deleted, but never too little.
// ADR 11 says why it is made so.
const (
	segmentSize = 4096 // animals, when a segment is made
	fanBits     = 6
	fan         = 1 << fanBits // bits of a row
	blockLevel  = 2            // its rows have bits for blocks; those above, for the nodes below
	mostRunes   = 3            // of a gram

	mostLetters = 32 // of a name whose grams are noted: with rare letters, each is a row or three
	anyGram     = "" // of a longer name, which may have all
)

// A segment is a run of animals by id. Any workspace has at most one that is not
// ready, its last.
type segment struct {
	number, first, last int64
	builder             int64 // 0 if it is ready
}

const segmentColumns = "number, first, last, builder"

func scanSegment(row *sqlite.Stmt) segment {
	return segment{row.ColumnInt64(0), row.ColumnInt64(1), row.ColumnInt64(2), row.ColumnInt64(3)}
}

const (
	selectSegment     = "SELECT " + segmentColumns + " FROM name_segments WHERE workspace=?1 AND number=?2"
	selectSegmentOf   = "SELECT " + segmentColumns + " FROM name_segments WHERE workspace=?1 AND last>=?2 ORDER BY last LIMIT 1"
	selectLastSegment = "SELECT " + segmentColumns + " FROM name_segments WHERE workspace=?1 AND number>=?2 ORDER BY number DESC LIMIT 1"
	selectReady       = "SELECT " + segmentColumns + " FROM name_segments WHERE workspace=?1 AND number>=?2 AND builder=0 ORDER BY number DESC LIMIT 1"
)

// Halves are the bits of a row of the index. Each of a segment's blocks has two: an
// early one for the first half of its ids, and a late one for the second. Above the
// blocks all bits are early.
type halves struct{ early, late uint64 }

func (h halves) or(o halves) halves  { return halves{h.early | o.early, h.late | o.late} }
func (h halves) and(o halves) halves { return halves{h.early & o.early, h.late & o.late} }

// has reports whether all bits of o are there.
func (h halves) has(o halves) bool { return h.and(o) == o }

// either returns the blocks of which a half has its bit.
func (h halves) either() uint64 { return h.early | h.late }

func (h halves) count() int { return bits.OnesCount64(h.early) + bits.OnesCount64(h.late) }

// width returns how many ids a block has.
func (s segment) width() int64 { return (s.last-s.first)/fan + 1 }

// half returns the bit of the half of the block of an id.
func (s segment) half(id int64) halves {
	block, at := (id-s.first)/s.width(), (id-s.first)%s.width()
	if at < s.width()-s.width()/2 {
		return halves{early: 1 << block}
	}
	return halves{late: 1 << block}
}

// ids returns the first and the last id of a block. One behind the last block of
// the segment is empty, and begins where the segment ends.
func (s segment) ids(block int64) (first, last int64) {
	first = min(s.first+block*s.width(), s.last+1)
	return first, min(first+s.width()-1, s.last)
}

// idsOf is ids without a half that has no bit; one has.
func (s segment) idsOf(block int64, in halves) (first, last int64) {
	first, last = s.ids(block)
	late := first + s.width() - s.width()/2
	switch bit := uint64(1) << block; {
	case in.late&bit == 0:
		last = min(last, late-1)
	case in.early&bit == 0:
		first = min(late, last+1)
	}
	return first, last
}

// eachGram calls f with every part of one, two and three runes, often more than
// once with the same, or with anyGram alone for a long name.
func eachGram(folded string, f func(gram string)) {
	if utf8.RuneCountInString(folded) > mostLetters {
		f(anyGram)
		return
	}
	before, last := -1, -1 // where the runes before begin
	for i := 0; i < len(folded); {
		_, size := utf8.DecodeRuneInString(folded[i:])
		end := i + size
		f(folded[i:end])
		if last >= 0 {
			f(folded[last:end])
		}
		if before >= 0 {
			f(folded[before:end])
		}
		before, last, i = last, i, end
	}
}

// addName notes the name that an animal has from now on, and its name before, ""
// if there was none. It does nothing for one that is not indexed yet.
//
// In a segment that is ready a gram of three letters is in half a block with all of its
// parts, so that one that is there spares the looks for five; and so are all grams of
// the name before. One that is not ready may have a gram whose parts are still to be
// added by its builder, who may have read the name before, or may not.
func (c *conn) addName(workspace, id int64, folded, before string) error {
	s, err := find(c, selectSegmentOf, workspace, id, scanSegment)
	if err != nil || s == nil || id < s.first { // the segment that has it is lost: searches read it row by row
		return err
	}
	if s.builder != 0 {
		before = ""
	}
	known := map[string]bool{}
	know := func(gram string) { known[gram] = true }
	eachGram(before, know)
	for size := mostRunes; size >= 0; size-- {
		eachGram(folded, func(gram string) {
			if err != nil || known[gram] || utf8.RuneCountInString(gram) != size {
				return
			}
			known[gram] = true
			var there bool
			if there, err = c.ensureGram(workspace, s, gram, s.half(id)); there {
				eachGram(gram, know)
			}
		})
	}
	return err
}

const (
	selectBits = "SELECT early, late FROM name_grams WHERE workspace=?1 AND level=?2 AND node=?3 AND gram=?4"
	updateBits = "UPDATE name_grams SET early=early|?5, late=late|?6 WHERE workspace=?1 AND level=?2 AND node=?3 AND gram=?4"
	insertBits = "INSERT INTO name_grams (workspace, level, node, gram, early, late) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
	upsertBits = insertBits + " ON CONFLICT DO UPDATE SET early=early|excluded.early, late=late|excluded.late"
)

// ensureGram is addGram for one that is often there, which it reports.
func (c *conn) ensureGram(workspace int64, s *segment, gram string, in halves) (there bool, err error) {
	known, err := c.bits(workspace, blockLevel, s.number, gram)
	switch {
	case err != nil:
	case known.has(in):
		there = true
	case known != halves{}: // and the levels above know
		_, err = c.setBits(updateBits, workspace, blockLevel, s.number, gram, in)
	default:
		err = c.addGram(workspace, s.number, gram, in)
	}
	return there, err
}

// bits returns the bits of a row, none if there is no row.
func (c *conn) bits(workspace, level, node int64, gram string) (halves, error) {
	stmt, err := c.ints(selectBits, workspace, level, node)
	if err != nil {
		return halves{}, err
	}
	stmt.BindText(4, gram)
	found, err := stmt.Step()
	if err != nil || !found {
		return halves{}, err
	}
	return scanHalves(stmt, 0), stmt.Reset()
}

// scanHalves reads two columns, from the given one on.
func scanHalves(row *sqlite.Stmt, column int) halves {
	return halves{uint64(row.ColumnInt64(column)), uint64(row.ColumnInt64(column + 1))} //nolint:gosec // the same 64 bits
}

// addGram notes in which halves of a segment's blocks a gram is.
func (c *conn) addGram(workspace, number int64, gram string, in halves) error {
	_, err := c.setBits(upsertBits, workspace, blockLevel, number, gram, in)
	for level := int64(blockLevel - 1); err == nil && level >= 0; level-- {
		bit := halves{early: 1 << (number % fan)}
		number /= fan
		var there bool
		there, err = c.setBits(updateBits, workspace, level, number, gram, bit)
		if there || err != nil { // and so has a bit in the level above
			return err
		}
		_, err = c.setBits(insertBits, workspace, level, number, gram, bit)
	}
	return err
}

// setBits reports whether the query changed a row.
func (c *conn) setBits(query string, workspace, level, node int64, gram string, in halves) (bool, error) {
	stmt, err := c.ints(query, workspace, level, node)
	if err != nil {
		return false, err
	}
	stmt.BindText(4, gram)
	stmt.BindInt64(5, int64(in.early)) //nolint:gosec // the same 64 bits
	stmt.BindInt64(6, int64(in.late))  //nolint:gosec // the same 64 bits
	if _, err := stmt.Step(); err != nil {
		return false, err
	}
	return c.Changes() > 0, nil
}

const selectNames = "SELECT id, folded FROM pets WHERE workspace=? AND id>=? AND id<=?"

// gramsIn returns the grams of the names of a segment, each with where it is.
func (c *conn) gramsIn(workspace int64, s segment) (map[string]halves, error) {
	grams := make(map[string]halves, 2*segmentSize)
	stmt, err := c.ints(selectNames, workspace, s.first, s.last)
	if err != nil {
		return nil, err
	}
	err = rows(stmt, func(row *sqlite.Stmt) {
		in := s.half(row.ColumnInt64(0))
		eachGram(row.ColumnText(1), func(gram string) { grams[gram] = grams[gram].or(in) })
	})
	return grams, err
}

// addNameOf is addName for a pet that is imported.
func (l *load) addNameOf(p *petstore.Pet) error {
	if l.indexed == nil {
		last, err := find(l.conn, selectLastSegment, l.workspace, 0, scanSegment)
		if err != nil {
			return err
		}
		if l.indexed = last; last == nil {
			l.indexed = &segment{}
		}
	}
	if p.ID > l.indexed.last {
		return nil
	}
	return l.addName(l.workspace, p.ID, petstore.Fold(p.Name), "")
}

package sqlite

// levelEnds are the greatest quantities of the first levels. From 10 on they come
// again at ten times the quantities: 100, 150, and so on.
var levelEnds = [...]int64{0, 1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50, 75}

const levelsPerDecade = 8

// LevelOf returns the level of a quantity, which the column level of pets has: the
// levels are ranges of quantities in ascending order, each up to a number that
// people ask for. An index by level lets lists leave out what is beyond a quantity,
// and most orders leave the level as it is.
func LevelOf(quantity int64) (level int64) {
	for quantity > levelEnds[len(levelEnds)-1] {
		quantity = (quantity-1)/10 + 1
		level += levelsPerDecade
	}
	for _, end := range levelEnds {
		if quantity > end {
			level++
		}
	}
	return level
}

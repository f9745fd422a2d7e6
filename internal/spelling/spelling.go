// Package spelling finds the name that was likely meant by one that is not
// known. It knows nothing of what the names stand for.
package spelling

import (
	"fmt"
	"strings"
)

// farthest is how many bytes may be wrong in a name that is still recognized.
const farthest = 2

// Suggest returns the name that was likely meant by given, in words that end a
// message: "; did you mean serve?". It is the first of those nearest, or begins
// with given; it returns "" if none is near.
func Suggest(given string, names []string) string {
	best, least := "", farthest+1
	for _, name := range names {
		d := distance(given, name)
		if strings.HasPrefix(name, given) {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return DidYouMean(best)
}

// DidYouMean returns the words of Suggest for a name.
func DidYouMean(name string) string { return fmt.Sprintf("; did you mean %s?", name) }

// distance returns how many bytes must be inserted, removed or replaced to make
// a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, change)
		}
	}
	return row[len(b)]
}

package postgres

// nameParts returns the parts of a text by which the index of names is asked: every
// third three characters in a row, and the last. It has no others of less than three.
func nameParts(text string) (parts []string) {
	runes := []rune(text)
	last := len(runes) - 3
	for i := 0; i < last; i += 3 {
		parts = append(parts, string(runes[i:i+3]))
	}
	if last >= 0 {
		parts = append(parts, string(runes[last:]))
	}
	return parts
}

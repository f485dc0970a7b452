package text

// AsksWhen recognises, by their words, questions that want a time.
func AsksWhen(words []Word) bool {
	for i, w := range words {
		switch w.Lower {
		case "when":
			return i < 3
		case "date", "year", "month", "day":
			if i > 0 && (words[i-1].Lower == "what" || words[i-1].Lower == "which") {
				return true
			}
		case "ago", "long":
			if i > 0 && words[i-1].Lower == "how" {
				return true
			}
		}
	}
	return false
}

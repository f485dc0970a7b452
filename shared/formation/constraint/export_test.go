package constraint

// Quote is quote for any clause.
func Quote(content string) (string, float64) {
	return quote(content, func(string) bool { return true })
}

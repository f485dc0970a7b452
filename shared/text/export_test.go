package text

// ForgetDates empties the cache of expressions that the date library has read.
func ForgetDates() {
	for i := range read {
		read[i].Store(nil)
	}
}

package features

// NumberNames are the names of Numbers.
func NumberNames() []string { return numberNames[:] }

// Numbers returns all numbers of a candidate's unit.
func (c Candidate) Numbers() []float32 { return c.numbers }

// Numbers returns the numbers of every unit, and the cosines.
func (x *Index) Numbers(q Query) ([][]float32, []float64) { return x.numbersOf(q, x.analyseQuery(q)) }

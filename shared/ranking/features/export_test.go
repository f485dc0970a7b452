package features

// Features returns the features of every unit, and the cosines.
func (x *Index) Features(q Query) (rows [][]float32, cosines []float64) {
	return x.features(q, x.analyseQuery(q))
}

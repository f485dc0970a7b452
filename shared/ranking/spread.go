package ranking

// DefaultSpread is the deduction for each better candidate of a group, and groupDepth is the number of them that
// count. Both were chosen by recall of synthetic questions that several turns answer (docs/recall.md). The listwise
// loss of the weights takes candidates one by one, and has no term for sets.
const (
	DefaultSpread = 0.2
	groupDepth    = 3
)

// Spread lowers scores so that the places go to several groups. Where a query needs more than one memory, a candidate
// next to a better one of its group adds less than an equal one from another group. Spread lowers the cosines by the
// same amount, so that a later scoring, to learn, has the same order. Group 0 has the candidates that compete with all
// others alike. Within a group, the order stays. discount is the deduction for each better candidate; 0 spreads
// nothing.
func Spread(candidates []Candidate, scores []float64, groups []uint32, discount float64) {
	better := map[uint32]int{}
	for _, i := range Top(candidates, scores, len(candidates)) {
		if g := groups[i]; g != 0 {
			off := float32(discount * float64(min(better[g], groupDepth)))
			candidates[i].Cosine -= off
			scores[i] -= float64(off)
			better[g]++
		}
	}
}

package ranking

// DefaultSpread is the discount for each better candidate of the group. groupDepth is the number of candidates that
// count. Both were chosen by recall of made-up questions with answers in several turns (docs/recall.md). The
// listwise loss of the weights takes candidates one by one, and has no term for sets.
const (
	DefaultSpread = 0.2
	groupDepth    = 3
)

// Spread lowers the scores of candidates so that the places go to several groups. If a query needs more than one
// memory, a second memory of a group adds less than an equally good memory of another group. Spread lowers their
// cosines by the same amount. So a later scoring, for learning, has the same order. Candidates of group 0 compete
// with all alike. Within a group, the order stays. discount is the deduction for each better candidate. 0 changes
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

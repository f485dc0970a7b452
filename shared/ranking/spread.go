package ranking

// DefaultSpread is what each better candidate of its group takes off a score, groupDepth how many of them count. Both were chosen by
// recall of made-up questions that several turns answer (docs/recall.md): the listwise loss that weights are learned by takes candidates
// one by one, and knows no set.
const (
	DefaultSpread = 0.2
	groupDepth    = 3
)

// Spread takes something off the scores of candidates for the places to go to several groups: where more is asked for than one memory can
// tell, what stands beside a better one adds less than as good a one from elsewhere. It takes as much off their cosines, so that who
// scores them again, to learn, has the same order. Group 0 is of those that compete with all alike. Within a group, the order stays.
// discount is what each better candidate takes off; 0 spreads nothing.
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

package corpus

// Split is the use of data. A whole batch is in one split: its writer and its field of topics are in no other.
type Split string

// The splits.
const (
	// Train is for learning weights.
	Train Split = "train"
	// Choose is for choosing options and thresholds.
	Choose Split = "choose"
	// Heldout is for measurement only.
	Heldout Split = "heldout"
)

var splits = map[string]Split{
	"batch-06": Choose, "batch-15": Choose,
	"batch-07": Heldout, "batch-08": Heldout, "batch-16": Heldout,
	"b06": Choose, "b26": Choose, "b34": Choose, "b07": Heldout, "t4": Heldout,
}

// Split returns the split of the pair.
func (p Pair) Split() Split {
	if s, ok := splits[p.Batch]; ok {
		return s
	}
	return Train
}

// Of returns the pairs of a split, in order.
func Of(pairs []Pair, s Split) []Pair {
	var out []Pair
	for _, p := range pairs {
		if p.Split() == s {
			out = append(out, p)
		}
	}
	return out
}

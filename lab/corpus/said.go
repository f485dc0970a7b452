package corpus

import "sync"

// Said is one statement of pairs/ by itself.
type Said struct {
	Text string
	// By is "user", "assistant" or "other".
	By string
	// Kind is the kind of its pair; of a stored statement it is empty.
	Kind string
	// Batch is the file's name without ending.
	Batch string
}

// AllSaid returns the statements of all pairs, of a pair the stored one first.
var AllSaid = sync.OnceValues(func() ([]Said, error) {
	pairs, err := Pairs()
	out := make([]Said, 0, 2*len(pairs))
	for _, p := range pairs {
		out = append(out, Said{p.Stored, p.StoredBy, "", p.Batch}, Said{p.Later, p.LaterBy, p.Kind, p.Batch})
	}
	return out, err
})

// Split is what the statement is for.
func (s Said) Split() Split {
	if split, ok := splits[s.Batch]; ok {
		return split
	}
	return Train
}

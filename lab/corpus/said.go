package corpus

import "sync"

// Said is one statement of pairs/ alone.
type Said struct {
	Text string
	// By is "user", "assistant" or "other".
	By string
	// Kind is the kind of its pair. It is empty for a stored statement.
	Kind string
	// Batch is the name of the file without its ending.
	Batch string
}

// AllSaid returns the statements of all pairs, in each pair the stored one first.
var AllSaid = sync.OnceValues(func() ([]Said, error) {
	pairs, err := Pairs()
	out := make([]Said, 0, 2*len(pairs))
	for _, p := range pairs {
		out = append(out, Said{p.Stored, p.StoredBy, "", p.Batch}, Said{p.Later, p.LaterBy, p.Kind, p.Batch})
	}
	return out, err
})

// Split returns the split of the statement.
func (s Said) Split() Split {
	if split, ok := splits[s.Batch]; ok {
		return split
	}
	return Train
}

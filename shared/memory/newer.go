package memory

// Newer finds the current memories that link to other memories: they may have changed these. T is the caller's name of
// a memory, such as a place in a list.
type Newer[T any] struct {
	of    func(T) Memory
	newer map[string][]T
}

// NewerOf reads the links of the current memories among these.
func NewerOf[T any](all []T, of func(T) Memory) Newer[T] {
	n := Newer[T]{of, map[string][]T{}}
	for _, t := range all {
		m := of(t)
		if m.Status != StatusActive {
			continue
		}
		for _, older := range m.Links {
			n.newer[older] = append(n.newer[older], t)
		}
	}
	return n
}

// IsEmpty reports whether no current memory links to another.
func (n Newer[T]) IsEmpty() bool { return len(n.newer) == 0 }

// Of returns the memories that link to a memory, in the order of NewerOf.
func (n Newer[T]) Of(id string) []T { return n.newer[id] }

// Walk visits the memories that link to one of these ids, and the memories that link to a taken one, and so on. It
// visits at most the first most memories that link to one memory. It may visit a memory repeatedly, so take must refuse
// a memory that it has.
func (n Newer[T]) Walk(ids []string, most int, take func(T) bool) {
	for k := 0; k < len(ids); k++ {
		newer := n.newer[ids[k]]
		for _, t := range newer[:min(most, len(newer))] {
			if take(t) {
				ids = append(ids[:len(ids):len(ids)], n.of(t).ID)
			}
		}
	}
}

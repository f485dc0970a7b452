package wiring

import "github.com/mneme-memory/mneme/shared/formation/parallel"

// Shared returns the same formers with the work on long sessions shared out, as far as a former is divisible.
func (f Formers) Shared(o parallel.Options) Formers {
	out := make(Formers, len(f))
	for w, former := range f {
		out[w] = parallel.New(former, o)
	}
	return out
}

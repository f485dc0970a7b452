package wiring

import (
	"maps"
	"sync"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/parallel"
)

// Shared returns the same formers with divided work on long sessions, for formers that are divisible.
func (f Formers) Shared(o parallel.Options) Formers {
	out := Formers{maps.Clone(f.of), f.trained, &sync.Map{}, func(former formation.Former) formation.Former {
		return parallel.New(former, o)
	}}
	for w, former := range out.of {
		out.of[w] = out.share(former)
	}
	return out
}

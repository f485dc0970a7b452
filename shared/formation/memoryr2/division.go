package memoryr2

import "github.com/mneme-memory/mneme/shared/formation"

var (
	_ formation.Divisible = (*Embedded)(nil)
	_ formation.Divisible = (*LLM)(nil)
)

// Division says that sessions can be extracted in parts and decided in groups.
func (f *Embedded) Division() formation.Division {
	return formation.Division{Extract: true, Decide: true}
}

// Division says that facts can be decided in groups. They are extracted in chunks of text already.
func (f *LLM) Division() formation.Division { return formation.Division{Decide: true} }

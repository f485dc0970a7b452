package memoryr2

import "github.com/mneme-memory/mneme/shared/formation"

var (
	_ formation.Divisible = (*Embedded)(nil)
	_ formation.Divisible = (*LLM)(nil)
)

// Division says that sessions can be extracted in parts. They are decided as a whole: what a statement refines is judged beside
// everything else that was said, so that three groups may do together what no two of them do.
func (f *Embedded) Division() formation.Division { return formation.Division{Extract: true} }

// Division says that facts can be decided in groups. They are extracted in chunks of text already.
func (f *LLM) Division() formation.Division { return formation.Division{Decide: true} }

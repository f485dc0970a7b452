package llm

import (
	"fmt"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Refusals are what of an answer is wrong, part by part. The zero value is ready.
type Refusals struct {
	// Failed are the parts that are wrong and whose turns are known.
	Failed []formation.Failure

	faults []string
	taken  int  // parts that are right
	lost   bool // something is wrong whose turns are not known
}

// Take notes a part that is right.
func (r *Refusals) Take() { r.taken++ }

// Refuse notes one that is not: which it is ("operation 2"), the turns it comes from, none where they are not known, and what is wrong.
func (r *Refusals) Refuse(which string, sources []string, why error) {
	r.faults = append(r.faults, fmt.Sprintf("%s: %v", which, why))
	if len(sources) == 0 {
		r.lost = true
		return
	}
	r.Failed = append(r.Failed, formation.Failure{Sources: sorted(sources), Reason: why.Error()})
}

// Err says all that is wrong, nil where nothing is. Where the rest is right, and the turns of what is wrong are known, it is an error of
// structured.Partly: the rest counts when the model, shown the error, does no better.
func (r *Refusals) Err() error {
	if len(r.faults) == 0 {
		return nil
	}
	err := structured.Faultf("%s", strings.Join(r.faults, "; "))
	if r.taken > 0 && !r.lost {
		return structured.Partly(err, r.taken)
	}
	return err
}

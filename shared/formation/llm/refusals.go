package llm

import (
	"fmt"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Refusals are what of an answer is wrong, part by part. The zero value is ready.
type Refusals struct {
	// Failed are the wrong parts with known turns.
	Failed []formation.Failure

	faults []string
	taken  int  // parts that are right
	lost   bool // something is wrong whose turns are not known
}

// Take notes a part that is right.
func (r *Refusals) Take() { r.taken++ }

// Refuse records a wrong part: its name ("operation 2"), its source turns (empty if unknown), and the fault.
func (r *Refusals) Refuse(which string, sources []string, why error) {
	r.faults = append(r.faults, fmt.Sprintf("%s: %v", which, why))
	if len(sources) == 0 {
		r.lost = true
		return
	}
	r.Failed = append(r.Failed, formation.Failure{Sources: sorted(sources), Reason: why.Error()})
}

// Err returns all faults, or nil without faults. It is an error of structured.Partly where other parts are correct and
// the turns of the wrong parts are known. The correct parts then count if the model's repair does no better.
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

package formationtest

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/formation"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

// DecideWhole returns the former's verdict, for tests that need a decision on every candidate. If some candidates
// failed, there is no verdict, and the error wraps model.ErrMalformed.
func DecideWhole(ctx context.Context, f formation.Former, b formation.Bundle) (formation.Verdict, error) {
	v, err := f.Decide(ctx, b)
	if err == nil && len(v.Failed) > 0 {
		return formation.Verdict{}, fmt.Errorf("%w: %v", model.ErrMalformed, v.Failed)
	}
	return v, err
}

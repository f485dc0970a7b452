package recall

import "context"

// Evaluate is EvaluateAll for one file.
func Evaluate(ctx context.Context, o Options) (Report, error) {
	reports, err := EvaluateAll(ctx, []string{o.Path}, o)
	if err != nil {
		return Report{}, err
	}
	return reports[0], nil
}

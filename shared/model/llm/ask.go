package llm

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Ask puts a question and has the answer read by parse, whose errors are made with structured.Faultf. An answer that parse
// does not accept is shown to the model once, together with the error; when the second one is no better, the
// error wraps ErrMalformed.
func Ask[T any](ctx context.Context, c *Client, r Request, parse func(answer string) (T, error)) (T, error) {
	var none T
	answer, err := c.complete(ctx, r, nil)
	if err != nil {
		return none, fmt.Errorf("%s: %w", r.Role, err)
	}
	out, bad := parse(answer)
	if bad == nil {
		return out, nil
	}
	answer, err = c.complete(ctx, r, &exchange{answer: answer, fault: bad})
	if err != nil {
		return none, fmt.Errorf("%s, repairing: %w", r.Role, err)
	}
	if out, bad = parse(answer); bad != nil {
		return none, fmt.Errorf("%s: %w: %w", r.Role, ErrMalformed, bad)
	}
	return out, nil
}

// AskJSON is Ask for a structured answer: A is the struct that the request's schema was made from, and use turns
// what fits the schema into the result or says with structured.Faultf what is wrong with it.
func AskJSON[A, T any](ctx context.Context, c *Client, r Request, use func(A) (T, error)) (T, error) {
	return Ask(ctx, c, r, func(answer string) (T, error) {
		var a A
		if err := structured.Decode(*r.Schema, answer, &a); err != nil {
			var none T
			return none, err
		}
		return use(a)
	})
}

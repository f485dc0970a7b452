package llm

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Ask puts a question and has the answer read by parse, whose errors are made with structured.Faultf. An answer that parse
// does not accept is shown to the model once, together with the error; when the second one is no better, the
// error wraps ErrMalformed. Where errors are of structured.Partly, what was read counts then: of the answer of which more is right, and of
// the second where that is the same. A second answer without a fault counts unless it has fewer parts than were right in the first.
func Ask[T any](ctx context.Context, c *Client, r Request, parse func(answer string) (T, error)) (out T, err error) {
	ctx, rec := c.recording(ctx, r)
	defer func() { rec.end(ctx, out, err) }()
	var none T
	answer, err := c.complete(ctx, r, nil)
	if err != nil {
		return none, fmt.Errorf("%s: %w", r.Role, err)
	}
	first, fault := parse(answer)
	rec.answered(answer, fault)
	if fault == nil {
		return first, nil
	}
	rec.asked(repairMessage(fault))
	answer, err = c.complete(ctx, r, &exchange{answer: answer, fault: fault})
	switch {
	case err == nil:
		second, again := parse(answer)
		rec.answered(answer, again)
		switch n, counted := parts(second); {
		case again == nil && (!counted || n >= structured.Right(fault)):
			return second, nil
		case again == nil: // nothing is wrong with it, but that it left out what was right
		case structured.IsPartly(again) && structured.Right(again) >= structured.Right(fault):
			return second, nil
		default:
			err = fmt.Errorf("%s: %w: %w", r.Role, ErrMalformed, again)
		}
	case errors.As(err, new(unusableAnswer)):
		err = fmt.Errorf("%s, repairing: %w", r.Role, err)
	default:
		return none, fmt.Errorf("%s, repairing: %w", r.Role, err)
	}
	if structured.IsPartly(fault) {
		return first, nil
	}
	return none, err
}

// parted is what an answer is made into, where it has parts that fail alone and that an answer may leave out.
type parted interface{ Parts() int }

// parts is how many parts an answer has; false where it is not made of any.
func parts(out any) (int, bool) {
	if p, ok := out.(parted); ok {
		return p.Parts(), true
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.Slice {
		return v.Len(), true
	}
	return 0, false
}

// AskJSON is Ask for a structured answer: A is the struct that the request's schema was made from, and use turns
// what fits the schema into the result or says with structured.Faultf what is wrong with it.
func AskJSON[A, T any](ctx context.Context, c *Client, r Request, use func(A) (T, error)) (T, error) {
	return Ask(ctx, c, r, func(answer string) (T, error) {
		var a A
		if err := structured.Decode(*r.Schema, answer, &a); err != nil {
			c.unfit(r.Role)
			var none T
			return none, err
		}
		return use(a)
	})
}

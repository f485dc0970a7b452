package llm

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Ask sends a question and reads the answer with parse. The errors of parse come from structured.Faultf. Ask shows
// the model an answer that parse rejects once, together with the error. When the second answer fails too, the error
// wraps ErrMalformed.
//
// Errors of structured.Partly let Ask return the valid parts of an answer. It takes the answer with more valid
// parts. For equal numbers it takes the second answer. A second answer without a fault is used unless it has fewer
// parts than the first has valid parts.
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
		case again == nil: // the answer has no fault, but it omits valid parts of the first
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

// parted is the type of an answer with parts. Each part can fail alone, and an answer may omit a part.
type parted interface{ Parts() int }

// parts returns the number of parts of an answer. It returns false for an answer without parts.
func parts(out any) (int, bool) {
	if p, ok := out.(parted); ok {
		return p.Parts(), true
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.Slice {
		return v.Len(), true
	}
	return 0, false
}

// AskJSON is Ask for a structured answer. A is the struct that the schema of the request comes from. The function
// use turns an answer that fits the schema into the result, or returns its fault from structured.Faultf.
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

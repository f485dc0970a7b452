package modelcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/llm"
)

// Possible outcomes of a long prompt.
const (
	WindowHeld    = "held"    // the model read the longest prompt from its first line
	WindowCut     = "cut"     // the endpoint accepted the prompt, but the model did not read all of it
	WindowRefused = "refused" // the endpoint refused the prompt because of its length
	WindowLate    = "late"    // no answer arrived within the request timeout
	WindowUnknown = "unknown" // no answer repeated the first line, even for a short prompt
)

// Window describes the model's window.
type Window struct {
	// Configured is MNEME_LLM_WINDOW, the limit of prompt and answer together. All values are in tokens.
	Configured int64 `json:"configured"`
	// Asked is the longest prompt that the probe sent, by Mneme's own token estimate.
	Asked int64 `json:"asked"`
	// Seen is the longest prompt that the model read. The endpoint counts it; without a count it is Mneme's estimate.
	// 0 means none.
	Seen int64 `json:"seen"`
	// Result is the outcome of the prompt of Asked.
	Result string `json:"result"`
}

// String returns a short form for a table.
func (w *Window) String() string {
	switch {
	case w == nil:
		return "-"
	case w.Result == WindowHeld:
		return fmt.Sprintf("%d or more", w.Seen)
	case w.Seen == 0:
		return w.Result
	default:
		return fmt.Sprintf("%d, %s", w.Seen, w.Result)
	}
}

const (
	// leastPrompt is the shortest long prompt, in tokens.
	leastPrompt = 512
	// shortCount is the lowest share of the estimate that a tokenizer counts for plain English.
	shortCount = 0.6
)

// lines are the filler of a long prompt.
var lines = []string{
	"The ferry to the northern island leaves in the morning and is back before dark.",
	"Nobody has painted the fence behind the school since the old caretaker left.",
	"In a wet spring the path along the river is closed for a week or two.",
	"The bakery at the corner sells its last loaves for half of the price.",
	"A letter without a stamp takes longer, but it comes in the end.",
}

// long builds a prompt of about the given tokens that asks for the number in its first line. The number changes each
// time, so that no prompt cache contains the prompt.
func long(tokens int64) (prompt, number string) {
	number = fmt.Sprint(10000 + rand.IntN(90000))
	var b strings.Builder
	fmt.Fprintf(&b, "The number of this text is %s.\n", number)
	const question = "\nThe first line of this text gives the number of the text. Which is it? Answer with the " +
		"number alone."
	for i := 0; int64(b.Len()+len(question)) < 4*tokens; i++ {
		b.WriteString(lines[i%len(lines)] + "\n")
	}
	return b.String() + question, number
}

// window sends a prompt of most tokens and halves it until the model reads it whole. A window is too small if the
// first line does not come back. It is also too small if the endpoint counts fewer tokens than the prompt has.
func (p *prober) window(ctx context.Context, role llm.Role, most int64) *Window {
	w := &Window{Configured: p.cfg.WindowFor(role), Asked: min(most, p.room(role))}
	for n := w.Asked; n == w.Asked || n >= leastPrompt; n /= 2 {
		prompt, number := long(n)
		answer, input, err := p.send(ctx, role, prompt, nil)
		guess := int64(len(prompt) / 4)
		var status *llm.StatusError
		switch {
		case refused(err):
			w.Result = cmp.Or(w.Result, WindowRefused)
		case errors.Is(err, context.DeadlineExceeded):
			w.Result = cmp.Or(w.Result, WindowLate)
			return w
		case errors.As(err, &status), errors.Is(err, llm.ErrUnavailable):
			w.Result = WindowUnknown
			return w
		case input > 0 && float64(input) < shortCount*float64(guess):
			w.Seen, w.Result = input, WindowCut
			return w
		case w.Result == WindowRefused && err == nil, // an endpoint that refuses long prompts does not cut the others
			strings.Contains(strings.NewReplacer(",", "", ".", "", " ", "").Replace(answer), number):
			w.Seen, w.Result = cmp.Or(input, guess), cmp.Or(w.Result, WindowHeld)
			return w
		default:
			w.Result = cmp.Or(w.Result, WindowCut)
		}
	}
	if w.Result == WindowCut {
		w.Result = WindowUnknown
	}
	return w
}

// advise returns the setting to change; empty if none.
func (w *Window) advise(output int64) string {
	if w == nil {
		return ""
	}
	set := fmt.Sprintf("give the server a larger window (num_ctx, --ctx-size, --max-model-len), or set "+
		"MNEME_LLM_WINDOW=%d", w.Seen)
	if output >= w.Seen {
		set += " and MNEME_LLM_MAX_OUTPUT_TOKENS to less than half of that"
	}
	switch {
	case w.Result == WindowCut:
		return fmt.Sprintf("the endpoint cuts a prompt of some %d tokens to %d without an error: %s", w.Asked, w.Seen, set)
	case w.Result == WindowRefused && w.Seen > 0:
		return fmt.Sprintf("the endpoint refuses a prompt of some %d tokens, and accepts one of %d: %s", w.Asked, w.Seen, set)
	case w.Result == WindowRefused:
		return fmt.Sprintf("the endpoint refuses prompts of %d tokens and fewer: see the server's log", w.Asked)
	case w.Result == WindowLate:
		return fmt.Sprintf("the endpoint does not answer a prompt of some %d tokens in time: raise MNEME_LLM_TIMEOUT, or "+
			"lower MNEME_LLM_WINDOW",
			w.Asked)
	case w.Result == WindowUnknown:
		return fmt.Sprintf("the window is unknown: no answer to prompts of %d tokens and fewer repeats their first line",
			w.Asked)
	}
	return ""
}

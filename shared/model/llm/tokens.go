package llm

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/fault"
)

// errTokens names the awaited condition.
var errTokens = fmt.Errorf("%w: the tenant has used its tokens of this minute", ErrUnavailable)

// tokenRate delays a tenant after its calls used more tokens than the share of a minute. The cost of a call is
// known only at its end. The tenant's next call waits until the debt is worked off. The table forgets tenants
// without a debt.
type tokenRate struct {
	perSecond float64 // 0 for no limit
	now       func() time.Time

	mu    sync.Mutex
	spent map[string]spent
}

// spent is a number of tokens at a time. It falls as time passes.
type spent struct {
	tokens float64
	at     time.Time
}

func newTokenRate(perMinute int64) *tokenRate {
	return &tokenRate{perSecond: float64(perMinute) / 60, now: time.Now, spent: map[string]spent{}}
}

// use records the tokens of a call.
func (t *tokenRate) use(tenant string, tokens int64) {
	if t.perSecond == 0 || tokens <= 0 || tenant == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.outstanding(tenant)
	s.tokens += float64(tokens)
	t.spent[tenant] = s
}

// outstanding is the part of a tenant's tokens that is not worked off yet.
func (t *tokenRate) outstanding(tenant string) spent {
	s, now := t.spent[tenant], t.now()
	s.tokens = max(0, s.tokens-t.perSecond*now.Sub(s.at).Seconds())
	s.at = now
	if s.tokens == 0 {
		delete(t.spent, tenant)
	}
	return s
}

// excess returns by how many tokens a tenant exceeds the share of a minute. Less than 0 allows a call. Calls without
// a tenant, such as embeddings, add no debt.
func (t *tokenRate) excess(tenant string) float64 {
	if t.perSecond == 0 || tenant == "" {
		return -1
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.outstanding(tenant).tokens - t.perSecond*time.Minute.Seconds()
}

// wait returns when the tenant has used less than the share of a minute. It checks again after a wait, because
// other calls may have used more. An impatient caller gets a fault.LaterError.
func (t *tokenRate) wait(ctx context.Context, tenant string) error {
	for {
		over := t.excess(tenant)
		if over < 0 {
			return nil
		}
		due := time.Duration((over/t.perSecond)*float64(time.Second)) + time.Millisecond
		if fault.Impatient(ctx, due) {
			return &fault.LaterError{After: due, Err: errTokens}
		}
		if err := sleep(ctx, due); err != nil {
			return err
		}
	}
}

// promptLength guesses the number of tokens of a prompt. Tokenizers differ by model, so the server's counts correct
// the guess.
type promptLength struct {
	mu     sync.Mutex
	factor map[string]float64 // of the guess, by model
}

func newPromptLength() *promptLength { return &promptLength{factor: map[string]float64{}} }

// The bounds of the correction factor, and how fast it falls. One long prompt in a language of many tokens has an
// effect for some time.
const (
	leastFactor, mostFactor = 0.5, 4
	factorDecay             = 0.1
)

// guess returns the length of the prompt in tokens, and the same before the correction. learn needs the second value.
func (p *promptLength) guess(model string, r Request, rejected *exchange) (tokens int64, raw float64) {
	n := tokensOf(r.System) + tokensOf(r.User)
	if r.Schema != nil {
		// some servers put it into the prompt, and so does the client for servers without schemas
		n += tokensOf(r.Schema.String())
	}
	if rejected != nil {
		n += tokensOf(rejected.answer) + tokensOf(repairMessage(rejected.fault))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.factor[model]; ok {
		return int64(n * f), n
	}
	return int64(n), n
}

// learn compares a raw guess with the server's count. A count of 0 means that the server does not count.
func (p *promptLength) learn(model string, raw float64, counted int64) {
	if counted <= 0 || raw <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.factor[model]
	if !ok {
		f = 1
	}
	seen := float64(counted) / raw
	p.factor[model] = min(mostFactor, max(leastFactor, seen, f+(seen-f)*factorDecay))
}

// refused moves a factor above 1 closer to 1. A prompt that is not sent teaches nothing, so one odd count must not
// refuse prompts for ever.
func (p *promptLength) refused(model string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.factor[model]; ok && f > 1 {
		p.factor[model] = f + (1-f)*factorDecay
	}
}

// tokensOf estimates the number of tokens of a text: one for every four bytes of ASCII, one for every other
// character.
func tokensOf(text string) float64 {
	runes := utf8.RuneCountInString(text)
	ascii := 0
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return float64(ascii)/4 + float64(runes-ascii)
}

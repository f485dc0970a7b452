package llm

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/fault"
)

// errTokens is what is waited for here.
var errTokens = fmt.Errorf("%w: the tenant has used its tokens of this minute", ErrUnavailable)

// tokenRate holds back a tenant whose calls have used more tokens than a minute's share. What a call uses is known when it is over: it is
// paid for then, and the next waits until the debt is worked off. Tenants without a debt are not remembered.
type tokenRate struct {
	perSecond float64 // 0 for no limit
	now       func() time.Time

	mu    sync.Mutex
	spent map[string]spent
}

// spent are tokens, as of a time; they grow less as time goes on.
type spent struct {
	tokens float64
	at     time.Time
}

func newTokenRate(perMinute int64) *tokenRate {
	return &tokenRate{perSecond: float64(perMinute) / 60, now: time.Now, spent: map[string]spent{}}
}

// use notes what a call has used.
func (t *tokenRate) use(tenant string, tokens int64) {
	if t.perSecond == 0 || tokens <= 0 || tenant == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.left(tenant)
	s.tokens += float64(tokens)
	t.spent[tenant] = s
}

// left is what of a tenant's tokens is not worked off by now.
func (t *tokenRate) left(tenant string) spent {
	s, now := t.spent[tenant], t.now()
	s.tokens = max(0, s.tokens-t.perSecond*now.Sub(s.at).Seconds())
	s.at = now
	if s.tokens == 0 {
		delete(t.spent, tenant)
	}
	return s
}

// over is by how many tokens a tenant has used more than a minute's share; less than 0 where it may ask. What is asked for no tenant in
// particular, as embeddings are, is nobody's debt.
func (t *tokenRate) over(tenant string) float64 {
	if t.perSecond == 0 || tenant == "" {
		return -1
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left(tenant).tokens - t.perSecond*time.Minute.Seconds()
}

// wait returns when the tenant has used less than a minute's share. It looks again after a wait, because others may have used more. Who
// is not that patient gets a fault.LaterError.
func (t *tokenRate) wait(ctx context.Context, tenant string) error {
	for {
		over := t.over(tenant)
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

// promptLength guesses how many tokens a prompt has. Tokenizers differ by model, so the guess is held against what the server counts.
type promptLength struct {
	mu     sync.Mutex
	factor map[string]float64 // of the guess, by model
}

func newPromptLength() *promptLength { return &promptLength{factor: map[string]float64{}} }

// Bounds of what the server's count may make of a guess, and how fast it grows smaller: one long prompt in a language of many tokens
// counts for some time.
const (
	leastFactor, mostFactor = 0.5, 4
	factorDecay             = 0.1
)

// guess is the prompt's length, in tokens, and the same before it was held against what the server counts, which learn wants.
func (p *promptLength) guess(model string, r Request, rejected *exchange) (tokens int64, raw float64) {
	n := tokensOf(r.System) + tokensOf(r.User)
	if r.Schema != nil {
		n += tokensOf(r.Schema.String()) // some servers put it into the prompt, as the client does for those that take none
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

// learn holds a raw guess against what the server counted; 0 where it counts nothing.
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

// refused makes a factor less sure of itself: of prompts that are not sent nothing is learned, so one odd count must not refuse them
// for ever.
func (p *promptLength) refused(model string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.factor[model]; ok && f > 1 {
		p.factor[model] = f + (1-f)*factorDecay
	}
}

// tokensOf is about how many tokens a text has: one for every four bytes of ASCII, one for every other character.
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

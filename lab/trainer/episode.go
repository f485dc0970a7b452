package trainer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/lab/synthesis"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/strategies"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

const (
	// maxBytes bounds an episode, and the completions of a call.
	maxBytes = 10 << 20
	// maxSessions bounds a life.
	maxSessions = 200
	// maxMany bounds rollouts and forks of a call.
	maxMany = 256
	// cachedTexts is the number of texts with cached vectors. Replays embed the same texts.
	cachedTexts = 50_000
)

// mark begins an episode's bytes. Eight bytes of a digest follow, and then the state.
var mark = []byte("mneme-episode-1 ")

const digest = 8

// encode returns the bytes of an episode. field names the request's field for the error of a too large episode.
func encode(s *mnemev1.EpisodeState, field string) ([]byte, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode episode: %w", err)
	}
	sum := sha256.Sum256(body)
	out := slices.Concat(mark, sum[:digest], body)
	if len(out) > maxBytes {
		return nil, fault.Terminal(field, "make an episode of %d bytes, want at most %d", len(out), maxBytes)
	}
	return out, nil
}

// decode reads an episode's bytes.
func decode(data []byte) (*mnemev1.EpisodeState, error) {
	if len(data) > maxBytes {
		return nil, fault.Terminal("episode", "has %d bytes, want at most %d", len(data), maxBytes)
	}
	rest, ok := bytes.CutPrefix(data, mark)
	if !ok || len(rest) < digest {
		return nil, fault.Terminal("episode", "is none, want the bytes that Begin, Step or Fork returned")
	}
	s := &mnemev1.EpisodeState{}
	sum := sha256.Sum256(rest[digest:])
	if !bytes.Equal(sum[:digest], rest[:digest]) || proto.Unmarshal(rest[digest:], s) != nil || s.GetBegin() == nil {
		return nil, fault.Terminal("episode", "is damaged, want the bytes that Begin, Step or Fork returned")
	}
	return s, nil
}

// The filters of an episode.
const (
	filterLLM      = "llm"
	filterEmbedded = "embedded"
	filterOff      = "off"
)

// Lives makes episodes' lives. It is safe for concurrent use. The same episode gives the same life in every process
// of a version.
type Lives struct {
	client   *model.Client
	options  llm.Options
	embedder embedding.Embedder
	trained  func() *saliency.Filter
}

// NewLives makes the lives.
func NewLives() (*Lives, error) {
	cfg := model.DefaultConfig()
	cfg.BaseURL, cfg.Model = "http://trainer.invalid/v1", "trained"
	cfg.Retry.Max, cfg.Breaker.Failures = 0, 0
	// equal calls have equal answers: the client must learn nothing between calls
	cfg.SchemaIn = "request"
	cfg.Concurrency, cfg.TenantConcurrency = 1<<20, 1<<20 // the answers or stand-ins are ready at once
	cfg.Window = 1 << 30
	client, err := model.NewClient(cfg, model.Deps{
		Transport: transport{}, Record: func(ctx context.Context, r model.Record) { exchangeOf(ctx).record(r) },
	})
	if err != nil {
		return nil, err
	}
	return &Lives{
		client: client, options: llm.DefaultOptions(), embedder: embedding.Cached(builtin.New(), cachedTexts),
		trained: sync.OnceValue(saliency.NewTrained),
	}, nil
}

// pipeline returns the pipeline that an episode began with, and the versions of its prompts.
func (l *Lives) pipeline(b *mnemev1.BeginRequest) (p formation.Pipeline, prompts string, err error) {
	at := slices.IndexFunc(strategies.All(), func(s strategies.Strategy) bool { return s.Name == b.GetStrategy() })
	if at < 0 {
		var names []string
		for _, s := range strategies.All() {
			names = append(names, s.Name)
		}
		return p, "", fault.Terminal("strategy", "is %.100q, want one of %q", b.GetStrategy(), names)
	}
	made, err := strategies.All()[at].LLM(l.client, l.options)
	if err != nil {
		return p, "", err
	}
	p = formation.Pipeline{Former: former{made}, Strategy: b.GetStrategy(), Embedder: l.embedder,
		Saliency: memory.SaliencyGate}
	prompts = made.Version()
	switch b.GetFilter() {
	case "", filterLLM:
		f, err := llm.NewFilter(l.client, l.options)
		if err != nil {
			return p, "", err
		}
		p.Filter = filter{inner: f}
		prompts += " " + f.Version()
	case filterEmbedded:
		p.Filter = l.trained()
	case filterOff:
	default:
		return p, "", fault.Terminal("filter", "is %.100q, want %q, %q or %q", b.GetFilter(), filterLLM, filterEmbedded,
			filterOff)
	}
	return p, prompts, nil
}

// position is the current position of an episode.
type position struct {
	strategy string
	judge    *reinforcement.Judge
	// life is the life before the waiting session, or at its end.
	life *formation.Life
	// session is the index of the waiting session. calls is the number of calls of filter and former before it.
	session, calls int
	exchange       *exchange
	pending        []*mnemev1.PendingRequest
}

// begun returns the state of a new episode.
func (l *Lives) begun(b *mnemev1.BeginRequest) (*mnemev1.EpisodeState, error) {
	if b.GetSessions() < 1 || b.GetSessions() > maxSessions {
		return nil, fault.Terminal("sessions", "is %d, want 1 to %d", b.GetSessions(), maxSessions)
	}
	_, prompts, err := l.pipeline(b)
	return &mnemev1.EpisodeState{Begin: b, Prompts: prompts}, err
}

// at replays an episode.
func (l *Lives) at(ctx context.Context, s *mnemev1.EpisodeState) (*position, error) {
	b := s.GetBegin()
	began, err := l.begun(b)
	if err != nil {
		return nil, err
	}
	if s.GetPrompts() != began.GetPrompts() {
		return nil, fault.Terminal("episode", "is of the prompts %.300q, and this server has %q: begin it again",
			s.GetPrompts(),
			began.GetPrompts())
	}
	made, err := synthesis.Generate(synthesis.Options{
		Seed: b.GetSeed(), Sessions: int(b.GetSessions()), Clean: true,
		Form: synthesis.Form(b.GetForm()), Split: synthesis.Split(b.GetSplit()),
	})
	if err != nil {
		return nil, err
	}
	p := &position{strategy: b.GetStrategy(), exchange: newExchange(s.GetHistory())}
	if p.judge, err = reinforcement.NewJudge(ctx, made[0], l.embedder); err != nil {
		return nil, err
	}
	pipeline, _, err := l.pipeline(b)
	if err != nil {
		return nil, err
	}
	if p.life, err = pipeline.Begin(p.judge.Subject()); err != nil {
		return nil, err
	}
	return p, p.advance(ctx)
}

// advance forms sessions until one must wait, or all are formed.
func (p *position) advance(ctx context.Context) error {
	for p.pending = nil; p.life.Next() != nil; p.session++ {
		p.exchange.calls = p.calls
		life, err := p.life.Fork(nil, nil)
		if err != nil {
			return err
		}
		switch err := life.Step(p.exchange.in(ctx)); {
		case errors.Is(err, errPending):
			p.pending = p.exchange.pending()
			for _, r := range p.pending {
				r.SessionId = p.life.Next().ID
			}
			return nil
		case err != nil:
			return err
		}
		p.life, p.calls = life, p.exchange.calls
	}
	return nil
}

// check compares answers with the pending requests. Each request needs one answer. Where only is set, no other
// answers are allowed.
func (p *position) check(field string, answers []*mnemev1.Answer, only bool) error {
	given := map[string]bool{}
	for i, a := range answers {
		id := a.GetRequestId()
		pending := slices.ContainsFunc(p.pending, func(r *mnemev1.PendingRequest) bool { return r.GetId() == id })
		if given[id] || only && !pending {
			return fault.Terminal(fmt.Sprintf("%s[%d].request_id", field, i),
				"is %.100q, want the id of a pending request, each once", id)
		}
		given[id] = true
	}
	var missing []string
	for _, r := range p.pending {
		if !given[r.GetId()] {
			missing = append(missing, r.GetRole()+" "+r.GetId())
		}
	}
	if len(missing) > 0 {
		return fault.Terminal(field, "have no answer to %s, want one to every pending request", strings.Join(missing, ", "))
	}
	return nil
}

// checkSize bounds completions.
func checkSize(field string, answers ...*mnemev1.Answer) error {
	n := 0
	for _, a := range answers {
		n += len(a.GetText()) + len(a.GetRequestId())
	}
	if n > maxBytes {
		return fault.Terminal(field, "have %d bytes, want at most %d together", n, maxBytes)
	}
	return nil
}

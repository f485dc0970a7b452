package trainer

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/lab/reward"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/deltamem"
	"github.com/mneme-memory/mneme/shared/text"
)

// Rewards serves RewardService.
type Rewards struct{ Lives *Lives }

var _ mnemev1connect.RewardServiceHandler = Rewards{}

// rewards are the rewards for the score of a session.
var rewards = []reinforcement.Reward{reinforcement.RewardTransition, reinforcement.RewardDense,
	reinforcement.RewardOutcome}

// Score implements RewardService.
func (r Rewards) Score(
	ctx context.Context, req *connect.Request[mnemev1.ScoreRequest],
) (*connect.Response[mnemev1.ScoreResponse], error) {
	in := req.Msg
	by := reinforcement.Reward(in.GetReward())
	if by == "" {
		by = reinforcement.RewardTransition
	}
	if !slices.Contains(rewards, by) {
		return nil, fault.Terminal("reward", "is %.100q, want one of %q", by, rewards)
	}
	if n := len(in.GetRollouts()); n < 1 || n > maxMany {
		return nil, fault.Terminal("rollouts", "are %d, want 1 to %d", n, maxMany)
	}
	var all []*mnemev1.Answer
	for _, rollout := range in.GetRollouts() {
		all = append(all, rollout.GetAnswers()...)
	}
	if err := checkSize("rollouts", all...); err != nil {
		return nil, err
	}
	_, p, err := Episodes(r).read(ctx, in.GetEpisode())
	if err != nil {
		return nil, err
	}
	s, err := newScorer(ctx, p, by, in)
	if err != nil {
		return nil, err
	}
	out := make([]*mnemev1.Score, len(in.GetRollouts()))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, rollout := range in.GetRollouts() {
		g.Go(func() (err error) {
			out[i], err = s.score(ctx, rollout.GetAnswers())
			return err
		})
	}
	return connect.NewResponse(&mnemev1.ScoreResponse{Scores: out}), g.Wait()
}

// scorer scores rollouts from one state.
type scorer struct {
	*position
	strategy string
	by       reinforcement.Reward
	// first has the ids of the pending requests, own the ids of the role's requests.
	first, own []string
	before     reinforcement.Remembered
	core       int // words of the core block
}

func newScorer(ctx context.Context, p *position, by reinforcement.Reward, in *mnemev1.ScoreRequest) (*scorer, error) {
	next := p.life.Next()
	switch {
	case next == nil:
		return nil, fault.Terminal("episode", "is over, want one with pending requests")
	case next.ID != in.GetSessionId():
		return nil, fault.Terminal("session_id", "is %.100q, want %q, whose requests are pending", in.GetSessionId(), next.ID)
	}
	s := &scorer{position: p, strategy: p.strategy, by: by}
	var roles []string
	for _, r := range p.pending {
		s.first, roles = append(s.first, r.GetId()), append(roles, r.GetRole())
		if in.GetRole() == "" || r.GetRole() == in.GetRole() {
			s.own = append(s.own, r.GetId())
		}
	}
	if len(s.own) == 0 {
		return nil, fault.Terminal("role", "is %.100q, want one that is pending, of %q", in.GetRole(), roles)
	}
	for i, rollout := range in.GetRollouts() {
		if err := p.check(fmt.Sprintf("rollouts[%d].answers", i), rollout.GetAnswers(), false); err != nil {
			return nil, err
		}
	}
	var err error
	if s.before, err = p.judge.Remembered(ctx, p.life); err != nil {
		return nil, err
	}
	s.core, err = s.coreWords(ctx, p.life)
	return s, err
}

func (s *scorer) coreWords(ctx context.Context, l *formation.Life) (int, error) {
	c, err := l.Bank().Core(ctx, s.judge.Subject().Scope)
	return text.CountWords(c.Content), err
}

// score forms the session by answers. The stand-in repairs unusable first answers, which shows their validity. A
// failure would end the parallel requests. With an unusable answer, the session counts without these repairs.
func (s *scorer) score(ctx context.Context, answers []*mnemev1.Answer) (*mnemev1.Score, error) {
	life, x, err := s.form(ctx, s.pendingOnly(answers), repairByStandIn)
	if err != nil {
		return nil, err
	}
	valid, own := x.allValid(s.first), x.allValid(s.own)
	if !valid || len(answers) > len(s.first) {
		if life, _, err = s.form(ctx, answers, repairFails); err != nil {
			return nil, err
		}
	}
	out := &mnemev1.Score{Valid: own}
	out.Reward, out.Parts, err = s.reward(ctx, life, valid)
	return out, err
}

// pendingOnly returns the answers to the pending requests.
func (s *scorer) pendingOnly(answers []*mnemev1.Answer) (out []*mnemev1.Answer) {
	for _, a := range answers {
		if slices.Contains(s.first, a.GetRequestId()) {
			out = append(out, a)
		}
	}
	return out
}

func (s *scorer) form(
	ctx context.Context, answers []*mnemev1.Answer, repair repairing,
) (*formation.Life, *exchange, error) {
	life, err := s.life.Fork(nil, nil)
	if err != nil {
		return nil, nil, err
	}
	x := s.exchange.filled(s.calls, answers, repair)
	return life, x, life.Step(x.in(ctx))
}

// reward returns the reward of the session, with its parts by name. It is nil without a reward.
func (s *scorer) reward(ctx context.Context, l *formation.Life, valid bool) (*float64, map[string]float64, error) {
	parts := map[string]float64{"format": one(valid)}
	switch s.by {
	case reinforcement.RewardTransition:
		after, err := s.judge.Remembered(ctx, l)
		if err != nil {
			return nil, nil, err
		}
		o := reinforcement.Defaults().Transition
		t := s.judge.Transition(s.before, after, s.session, o)
		retrieved := true
		if s.strategy == deltamem.Name { // only its model chooses whether it reads the memories that it changes
			if retrieved, err = s.judge.Retrieved(ctx, s.before, l, s.session); err != nil {
				return nil, nil, err
			}
		}
		parts["f1"], parts["precision"], parts["recall"], parts["retrieval"] = t.F1, t.Precision, t.Recall, one(retrieved)
		value := t.Reward(valid, retrieved, o)
		return &value, parts, nil
	case reinforcement.RewardDense:
		d, err := s.judge.Dense(ctx, l, s.session)
		if err != nil {
			return nil, nil, err
		}
		core, err := s.coreWords(ctx, l)
		if err != nil {
			return nil, nil, err
		}
		d.Valid, d.Core = valid, float64(core-s.core)
		parts["right"], parts["asked"], parts["core_growth"] = float64(d.Right), float64(d.Asked), d.Core
		value, ok := reward.DenseDefaults().Dense(d)
		return optional(value, ok), parts, nil
	}
	asked, err := s.judge.Outcome(ctx, l, s.session)
	value, ok := reward.Outcome(asked)
	parts["asked"] = float64(len(asked))
	return optional(value, ok), parts, err
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func optional(value float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &value
}

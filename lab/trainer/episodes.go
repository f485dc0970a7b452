package trainer

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Episodes serves EpisodeService.
type Episodes struct{ Lives *Lives }

var _ mnemev1connect.EpisodeServiceHandler = Episodes{}

// Begin implements EpisodeService.
func (e Episodes) Begin(
	ctx context.Context, req *connect.Request[mnemev1.BeginRequest],
) (*connect.Response[mnemev1.BeginResponse], error) {
	s, err := e.Lives.begun(req.Msg)
	if err != nil {
		return nil, err
	}
	p, err := e.Lives.at(ctx, s)
	if err != nil {
		return nil, err
	}
	episode, err := encode(s, "episode")
	return connect.NewResponse(&mnemev1.BeginResponse{Episode: episode, Pending: p.pending}), err
}

// Step implements EpisodeService.
func (e Episodes) Step(
	ctx context.Context, req *connect.Request[mnemev1.StepRequest],
) (*connect.Response[mnemev1.StepResponse], error) {
	if err := checkSize("answers", req.Msg.GetAnswers()...); err != nil {
		return nil, err
	}
	s, p, err := e.read(ctx, req.Msg.GetEpisode())
	if err != nil {
		return nil, err
	}
	if len(p.pending) == 0 {
		return nil, fault.Terminal("episode", "is over, want one with pending requests")
	}
	if err := p.check("answers", req.Msg.GetAnswers(), true); err != nil {
		return nil, err
	}
	for _, r := range p.pending { // in their order, independent of the order of the call
		at := slices.IndexFunc(req.Msg.GetAnswers(), func(a *mnemev1.Answer) bool { return a.GetRequestId() == r.GetId() })
		answer := req.Msg.GetAnswers()[at]
		s.History = append(s.History, answer)
		p.exchange.answers[answer.GetRequestId()] = answer.GetText()
	}
	episode, err := encode(s, "answers")
	if err != nil {
		return nil, err
	}
	err = p.advance(ctx)
	return connect.NewResponse(&mnemev1.StepResponse{Episode: episode, Pending: p.pending}), err
}

// Fork implements EpisodeService.
func (e Episodes) Fork(
	_ context.Context, req *connect.Request[mnemev1.ForkRequest],
) (*connect.Response[mnemev1.ForkResponse], error) {
	n := max(1, req.Msg.GetCount())
	if n > maxMany {
		return nil, fault.Terminal("count", "is %d, want 1 to %d", n, maxMany)
	}
	s, err := decode(req.Msg.GetEpisode())
	if err != nil {
		return nil, err
	}
	if all := int(n) * len(req.Msg.GetEpisode()); all > maxMessage {
		return nil, fault.Terminal("count", "is %d, which makes %d bytes of an episode of %d, want %d at most: call "+
			"more than once",
			n, all, len(req.Msg.GetEpisode()), maxMessage)
	}
	out := &mnemev1.ForkResponse{}
	forks := slices.Clip(s.GetForks())
	for i := range n {
		s.Forks = append(forks, i)
		episode, err := encode(s, "episode")
		if err != nil {
			return nil, err
		}
		out.Episodes = append(out.Episodes, episode)
	}
	return connect.NewResponse(out), nil
}

// End implements EpisodeService.
func (e Episodes) End(
	ctx context.Context, req *connect.Request[mnemev1.EndRequest],
) (*connect.Response[mnemev1.EndResponse], error) {
	_, p, err := e.read(ctx, req.Msg.GetEpisode())
	if err != nil {
		return nil, err
	}
	if len(p.pending) > 0 {
		return nil, fault.Terminal("episode", "has requests pending of session %d, want one that is over", p.session+1)
	}
	m, err := p.judge.Measure(ctx, p.life)
	if err != nil {
		return nil, err
	}
	measures := m.Shares()
	measures["dead_letters"], measures["memories"], measures["asked"] = float64(m.DeadLetters), m.MemoriesPerUser,
		float64(m.Asked)
	return connect.NewResponse(&mnemev1.EndResponse{Measures: measures}), nil
}

func (e Episodes) read(ctx context.Context, episode []byte) (*mnemev1.EpisodeState, *position, error) {
	s, err := decode(episode)
	if err != nil {
		return nil, nil, err
	}
	p, err := e.Lives.at(ctx, s)
	return s, p, err
}

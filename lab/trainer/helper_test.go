package trainer_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/lab/trainer"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lives are the lives of one process. A test of replicas shows that other processes have the same.
var lives = sync.OnceValue(newLives)

func newLives() *trainer.Lives {
	l, err := trainer.NewLives()
	if err != nil {
		panic(err)
	}
	return l
}

// clients are the two clients of a trainer.
type clients struct {
	t *testing.T
	mnemev1connect.EpisodeServiceClient
	mnemev1connect.RewardServiceClient
}

func start(t *testing.T, l *trainer.Lives) clients {
	t.Helper()
	s := httptest.NewServer(trainer.Handler(l, slog.New(slog.DiscardHandler)))
	t.Cleanup(s.Close)
	return clients{
		t, mnemev1connect.NewEpisodeServiceClient(s.Client(), s.URL),
		mnemev1connect.NewRewardServiceClient(s.Client(), s.URL, connect.WithProtoJSON()),
	}
}

// standing is an episode with its pending requests.
type standing struct {
	episode []byte
	pending []*mnemev1.PendingRequest
}

func (c clients) begin(b *mnemev1.BeginRequest) standing {
	c.t.Helper()
	res, err := c.Begin(c.t.Context(), connect.NewRequest(b))
	if err != nil {
		c.t.Fatal(err)
	}
	return standing{res.Msg.GetEpisode(), res.Msg.GetPending()}
}

func (c clients) step(s standing, by func(*mnemev1.PendingRequest) string) standing {
	c.t.Helper()
	res, err := c.Step(c.t.Context(), connect.NewRequest(&mnemev1.StepRequest{Episode: s.episode,
		Answers: answers(s.pending, by)}))
	if err != nil {
		c.t.Fatal(err)
	}
	return standing{res.Msg.GetEpisode(), res.Msg.GetPending()}
}

// play answers until the episode is over, and returns all states on the way.
func (c clients) play(s standing, by func(*mnemev1.PendingRequest) string) []standing {
	c.t.Helper()
	all := []standing{s}
	for len(s.pending) > 0 {
		s = c.step(s, by)
		if all = append(all, s); len(all) > 200 {
			c.t.Fatal("it goes on for ever")
		}
	}
	return all
}

func (c clients) end(s standing) map[string]float64 {
	c.t.Helper()
	res, err := c.End(c.t.Context(), connect.NewRequest(&mnemev1.EndRequest{Episode: s.episode}))
	if err != nil {
		c.t.Fatal(err)
	}
	return res.Msg.GetMeasures()
}

func (c clients) score(req *mnemev1.ScoreRequest) []*mnemev1.Score {
	c.t.Helper()
	res, err := c.Score(c.t.Context(), connect.NewRequest(req))
	if err != nil {
		c.t.Fatal(err)
	}
	return res.Msg.GetScores()
}

func answers(pending []*mnemev1.PendingRequest, by func(*mnemev1.PendingRequest) string) (out []*mnemev1.Answer) {
	for _, r := range pending {
		out = append(out, &mnemev1.Answer{RequestId: r.GetId(), Text: by(r)})
	}
	return out
}

// plain returns the scripted model's answer.
func plain(r *mnemev1.PendingRequest) string {
	c := llmtest.Call{Role: llm.Role(r.GetRole())}
	for _, m := range r.GetMessages() {
		c.Messages = append(c.Messages, struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}{m.GetRole(), m.GetContent()})
	}
	return llmtest.Answer(c)
}

// nonsense returns an answer that fits no request.
func nonsense(*mnemev1.PendingRequest) string { return "I would rather not." }

func same(a, b []standing) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x := &mnemev1.StepResponse{Episode: a[i].episode, Pending: a[i].pending}
		y := &mnemev1.StepResponse{Episode: b[i].episode, Pending: b[i].pending}
		if !bytes.Equal(a[i].episode, b[i].episode) || !proto.Equal(x, y) {
			return false
		}
	}
	return true
}

package trainer_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

var strategies = []string{"salimory", "membuilder", "memory-r2", "rmm", "deltamem"}

func TestAnEpisodeIsTheSameAgainInAnotherProcess(t *testing.T) {
	wanted := map[string][]string{
		"salimory":   {"extractor", "filter", "manager"},
		"membuilder": {"core", "episodic", "filter", "procedural", "semantic"},
		"memory-r2":  {"fact-manager", "facts", "filter"}, "rmm": {"filter", "topic-manager", "topics"},
		"deltamem": {"agent", "filter"},
	}
	for _, strategy := range strategies {
		t.Run(strategy, func(t *testing.T) {
			c, other := start(t, lives()), start(t, newLives())
			b := &mnemev1.BeginRequest{Seed: 3, Sessions: 2, Strategy: strategy}
			way := c.play(c.begin(b), plain)
			if again := other.play(other.begin(b), plain); !same(way, again) {
				t.Error("it is another")
			}
			roles, sessions := map[string]bool{}, map[string]bool{}
			for _, s := range way {
				for _, r := range s.pending {
					roles[r.GetRole()], sessions[r.GetSessionId()] = true, true
					if len(r.GetMessages()) != 2 || r.GetPromptVersion() == "" || !json.Valid([]byte(r.GetSchema())) {
						t.Errorf("%s of prompt %q has %d messages and the schema %q", r.GetRole(), r.GetPromptVersion(),
							len(r.GetMessages()), r.GetSchema())
					}
				}
			}
			if got := slices.Sorted(maps.Keys(roles)); !reflect.DeepEqual(got, wanted[strategy]) || len(sessions) != 2 {
				t.Errorf("roles %q of %d sessions, want %q of 2", got, len(sessions), wanted[strategy])
			}
			m := c.end(way[len(way)-1])
			if m["memories"] == 0 || m["asked"] == 0 || m["dead_letters"] != 0 ||
				!reflect.DeepEqual(m, other.end(way[len(way)-1])) {
				t.Errorf("measures %v", m)
			}
		})
	}
}

// Four builders ask in parallel. A failing one must not choose the requests of the others.
func TestWhatIsAskedBesideAFailureIsTheSameAgain(t *testing.T) {
	c := start(t, lives())
	b := &mnemev1.BeginRequest{Seed: 4, Sessions: 1, Strategy: "membuilder", Filter: "off"}
	odd := func(r *mnemev1.PendingRequest) string {
		if r.GetRole() == "core" || r.GetRole() == "semantic" && len(r.GetMessages()) == 2 {
			return nonsense(r)
		}
		return plain(r)
	}
	way := c.play(c.begin(b), odd)
	if n := len(way[0].pending); n != 4 {
		t.Errorf("%d are asked at first, want 4", n)
	}
	if n := len(way[1].pending); n != 2 || len(way[1].pending[0].GetMessages()) != 4 {
		t.Errorf("%d are to be repaired, want 2", n)
	}
	for range 2 {
		if !same(way, c.play(c.begin(b), odd)) {
			t.Fatal("it is another")
		}
	}
	if m := c.end(way[len(way)-1]); m["dead_letters"] != 1 || m["memories"] != 0 {
		t.Errorf("a session whose core block fails for good leaves %v", m)
	}
}

func TestAModelThatNeverAnswersEndsItsEpisode(t *testing.T) {
	c := start(t, lives())
	for _, strategy := range strategies {
		way := c.play(c.begin(&mnemev1.BeginRequest{Seed: 5, Sessions: 1, Strategy: strategy, Filter: "embedded"}), nonsense)
		if m := c.end(way[len(way)-1]); m["dead_letters"] < 1 || m["memories"] != 0 {
			t.Errorf("%s: %v", strategy, m)
		}
	}
	way := c.play(c.begin(&mnemev1.BeginRequest{Seed: 5, Sessions: 1, Strategy: "salimory"}), nonsense)
	if m := c.end(way[len(way)-1]); m["memories"] != 0 || m["kept_evidence"] != 0 {
		t.Errorf("turns that nobody rates: %v", m)
	}
}

func TestForksGoTheirOwnWays(t *testing.T) {
	c := start(t, lives())
	s := c.begin(&mnemev1.BeginRequest{Seed: 6, Sessions: 2, Strategy: "salimory", Filter: "off"})
	res, err := c.Fork(t.Context(), connect.NewRequest(&mnemev1.ForkRequest{Episode: s.episode, Count: 2}))
	if err != nil {
		t.Fatal(err)
	}
	forks := res.Msg.GetEpisodes()
	if len(forks) != 2 || string(forks[0]) == string(forks[1]) || string(forks[0]) == string(s.episode) {
		t.Fatal("the forks do not differ")
	}
	nothing := func(r *mnemev1.PendingRequest) string { return `{"nothing":true,"memories":[]}` }
	empty := c.play(standing{forks[0], s.pending}, nothing)
	full := c.play(standing{forks[1], s.pending}, plain)
	if a, b := c.end(empty[len(empty)-1]), c.end(full[len(full)-1]); a["memories"] != 0 || b["memories"] == 0 {
		t.Errorf("one fork has %v memories, the other %v", a["memories"], b["memories"])
	}
	if way := c.play(s, plain); !reflect.DeepEqual(c.end(way[len(way)-1]), c.end(full[len(full)-1])) {
		t.Error("the same answers lead elsewhere in a fork")
	}
}

func TestWhatExtractsWhatWasSaidIsWorthMore(t *testing.T) {
	c := start(t, lives())
	s := c.begin(&mnemev1.BeginRequest{Seed: 5, Sessions: 1, Strategy: "salimory", Filter: "off"})
	id := s.pending[0].GetId()
	one := func(text string) *mnemev1.Rollout {
		return &mnemev1.Rollout{Answers: []*mnemev1.Answer{{RequestId: id, Text: text}}}
	}
	req := &mnemev1.ScoreRequest{
		Episode: s.episode, SessionId: s.pending[0].GetSessionId(), Role: "extractor",
		Rollouts: []*mnemev1.Rollout{one(plain(s.pending[0])), one(`{"nothing":true,"memories":[]}`), one("no")},
	}
	scores := c.score(req)
	said, empty, no := scores[0], scores[1], scores[2]
	if !said.GetValid() || !empty.GetValid() || no.GetValid() ||
		!(said.GetReward() > empty.GetReward() && empty.GetReward() > no.GetReward()) {
		t.Errorf("scores %v", scores)
	}
	if p := said.GetParts(); p["f1"] == 0 || p["precision"] == 0 || p["recall"] == 0 || p["format"] != 1 ||
		empty.GetParts()["f1"] != 0 {
		t.Errorf("parts %v, of nothing %v", p, empty.GetParts())
	}

	// A repair counts for the state of memory, not for the form.
	repair := c.step(s, func(*mnemev1.PendingRequest) string { return "no" }).pending[0]
	repaired := one("no")
	repaired.Answers = append(repaired.Answers, &mnemev1.Answer{RequestId: repair.GetId(), Text: plain(repair)})
	req.Rollouts = []*mnemev1.Rollout{repaired}
	if r := c.score(req)[0]; r.GetValid() || r.GetParts()["format"] != 0 || r.GetParts()["f1"] != said.GetParts()["f1"] {
		t.Errorf("a repaired answer is scored %v, the same at once %v", r, said)
	}

	for _, reward := range []string{"dense", "outcome"} {
		req.Reward, req.Rollouts = reward, []*mnemev1.Rollout{one(plain(s.pending[0])), one(`{"nothing":true,"memories":[]}`)}
		if scores := c.score(req); scores[0].Reward == nil || !(scores[0].GetReward() > scores[1].GetReward()) {
			t.Errorf("%s: %v", reward, scores)
		}
	}
}

func TestTheManagerIsScoredByItself(t *testing.T) {
	c := start(t, lives())
	s := c.step(c.begin(&mnemev1.BeginRequest{Seed: 7, Sessions: 1, Strategy: "salimory", Filter: "off"}), plain)
	var in struct {
		Operations []map[string]any `json:"operations"`
	}
	if err := json.Unmarshal([]byte(plain(s.pending[0])), &in); err != nil {
		t.Fatal(err)
	}
	for _, op := range in.Operations {
		op["op"], op["relation"] = "NONE", "worthless"
	}
	none, _ := json.Marshal(in)
	rollouts := []*mnemev1.Rollout{{Answers: answers(s.pending, plain)}, {Answers: answers(s.pending, plain)}}
	rollouts[1].Answers[0].Text = string(none)
	scores := c.score(&mnemev1.ScoreRequest{Episode: s.episode, SessionId: s.pending[0].GetSessionId(), Role: "manager",
		Rollouts: rollouts})
	if !scores[0].GetValid() || !scores[1].GetValid() || !(scores[0].GetReward() > scores[1].GetReward()) {
		t.Errorf("scores %v", scores)
	}
}

func TestBuildersAreScoredTogether(t *testing.T) {
	c := start(t, lives())
	s := c.begin(&mnemev1.BeginRequest{Seed: 5, Sessions: 1, Strategy: "membuilder", Filter: "off"})
	broken := func(r *mnemev1.PendingRequest) string {
		if r.GetRole() == "semantic" {
			return nonsense(r)
		}
		return plain(r)
	}
	req := &mnemev1.ScoreRequest{
		Episode: s.episode, SessionId: s.pending[0].GetSessionId(), Role: "episodic", Reward: "dense",
		Rollouts: []*mnemev1.Rollout{{Answers: answers(s.pending, plain)}, {Answers: answers(s.pending, broken)}},
	}
	for _, role := range []string{"episodic", "semantic", ""} {
		req.Role = role
		scores := c.score(req)
		whole, part := scores[0], scores[1]
		if !whole.GetValid() || part.GetValid() != (role == "episodic") || part.GetParts()["format"] != 0 {
			t.Errorf("%q: validity of %v", role, scores)
		}
		if !(whole.GetReward() > 0) || part.Reward == nil || part.GetReward() != 0 {
			t.Errorf("%q: rewards of %v", role, scores)
		}
	}
	req.Rollouts = []*mnemev1.Rollout{{Answers: answers(s.pending[:3], plain)}}
	if _, err := c.Score(t.Context(), connect.NewRequest(req)); connect.CodeOf(err) != connect.CodeInvalidArgument ||
		!strings.Contains(err.Error(), "rollouts[0].answers: have no answer to semantic") {
		t.Errorf("three of four: %v", err)
	}
}

func TestBadInputIsNamed(t *testing.T) {
	c := start(t, lives())
	b := func() *mnemev1.BeginRequest {
		return &mnemev1.BeginRequest{Seed: 9, Sessions: 1, Strategy: "salimory", Filter: "off"}
	}
	s := c.begin(b())
	way := c.play(s, plain)
	over := way[len(way)-1]
	request, session := s.pending[0].GetId(), s.pending[0].GetSessionId()
	right := []*mnemev1.Answer{{RequestId: request, Text: plain(s.pending[0])}}
	damaged := slices.Clone(s.episode)
	damaged[len(damaged)-1] ^= 1
	large := strings.Repeat("x", 10<<20+1)
	begin := func(spoil func(*mnemev1.BeginRequest)) error {
		in := b()
		spoil(in)
		_, err := c.Begin(t.Context(), connect.NewRequest(in))
		return err
	}
	step := func(episode []byte, answers ...*mnemev1.Answer) error {
		_, err := c.Step(t.Context(), connect.NewRequest(&mnemev1.StepRequest{Episode: episode, Answers: answers}))
		return err
	}
	score := func(spoil func(*mnemev1.ScoreRequest)) error {
		in := &mnemev1.ScoreRequest{Episode: s.episode, SessionId: session, Role: "extractor",
			Rollouts: []*mnemev1.Rollout{{Answers: right}}}
		spoil(in)
		_, err := c.Score(t.Context(), connect.NewRequest(in))
		return err
	}
	_, early := c.End(t.Context(), connect.NewRequest(&mnemev1.EndRequest{Episode: s.episode}))
	_, many := c.Fork(t.Context(), connect.NewRequest(&mnemev1.ForkRequest{Episode: s.episode, Count: 257}))
	wordy := c.step(s, func(*mnemev1.PendingRequest) string { return large[:300<<10] })
	_, heavy := c.Fork(t.Context(), connect.NewRequest(&mnemev1.ForkRequest{Episode: wordy.episode, Count: 256}))
	_, noFork := c.Fork(t.Context(), connect.NewRequest(&mnemev1.ForkRequest{}))
	for i, tc := range []struct {
		err  error
		want string
	}{
		{begin(func(b *mnemev1.BeginRequest) { b.Sessions = 0 }), "sessions: is 0"},
		{begin(func(b *mnemev1.BeginRequest) { b.Sessions = 201 }), "sessions: is 201"},
		{begin(func(b *mnemev1.BeginRequest) { b.Strategy = "best" }), `strategy: is "best", want one of`},
		{begin(func(b *mnemev1.BeginRequest) { b.Form = "choir" }), "form: "},
		{begin(func(b *mnemev1.BeginRequest) { b.Split = "half" }), "split: "},
		{begin(func(b *mnemev1.BeginRequest) { b.Filter = "coffee" }), "filter: "},
		{step(nil, right...), "episode: is none"},
		{step([]byte("an episode"), right...), "episode: is none"},
		{step(damaged, right...), "episode: is damaged"},
		{step([]byte(large), right...), "episode: has 10485761 bytes"},
		{step(s.episode), "answers: have no answer to extractor"},
		{step(s.episode, &mnemev1.Answer{RequestId: "another"}), "answers[0].request_id: "},
		{step(s.episode, right[0], right[0]), "answers[1].request_id: "},
		{step(s.episode, &mnemev1.Answer{RequestId: request, Text: large}), "answers: have "},
		{step(s.episode, &mnemev1.Answer{RequestId: request, Text: large[:10<<20-len(s.episode)]}),
			"answers: make an episode of "},
		{step(over.episode, right...), "episode: is over"},
		{early, "episode: has requests pending of session 1"},
		{many, "count: is 257"},
		{noFork, "episode: is none"},
		{heavy, "count: is 256, which makes "},
		{begin(func(b *mnemev1.BeginRequest) {
			b.Strategy = large[:1<<20]
		}), `strategy: is "` + large[:100] + `", want one of`},
		{score(func(r *mnemev1.ScoreRequest) { r.Episode = damaged }), "episode: is damaged"},
		{score(func(r *mnemev1.ScoreRequest) { r.Episode = over.episode }), "episode: is over"},
		{score(func(r *mnemev1.ScoreRequest) { r.SessionId = "" }), "session_id: "},
		{score(func(r *mnemev1.ScoreRequest) {
			r.Role = "manager"
		}), `role: is "manager", want one that is pending, of ["extractor"]`},
		{score(func(r *mnemev1.ScoreRequest) { r.Reward = "applause" }), `reward: is "applause", want one of`},
		{score(func(r *mnemev1.ScoreRequest) { r.Rollouts = nil }), "rollouts: are 0"},
		{score(func(r *mnemev1.ScoreRequest) { r.Rollouts = slices.Repeat(r.Rollouts, 257) }), "rollouts: are 257"},
		{score(func(r *mnemev1.ScoreRequest) { r.Rollouts[0] = &mnemev1.Rollout{} }), "rollouts[0].answers: have no answer"},
		{score(func(r *mnemev1.ScoreRequest) {
			half := &mnemev1.Rollout{Answers: []*mnemev1.Answer{{RequestId: request, Text: large[:6<<20]}}}
			r.Rollouts = []*mnemev1.Rollout{half, half}
		}), "rollouts: have "},
	} {
		if connect.CodeOf(tc.err) != connect.CodeInvalidArgument ||
			!strings.Contains(tc.err.Error(), "invalid_argument: "+tc.want) {
			t.Errorf("%d: %v, want %q", i, tc.err, tc.want)
		}
	}
	if again := c.play(s, plain); !same(way, again) {
		t.Error("bad calls left something behind")
	}
}

package reranker_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"pgregory.net/rapid"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// scored returns one candidate per score, under the prior of the tests.
func scored(memories uint32, scores ...float32) *mnemev1.RerankRequest {
	req := &mnemev1.RerankRequest{UserId: "ana", RecallId: "r1", FeatureSet: "test/1", Memories: memories}
	for i, s := range scores {
		req.Candidates = append(req.Candidates, &mnemev1.RerankCandidate{MemoryId: fmt.Sprintf("m%03d", i),
			Features: []float32{s, 0, 0}})
	}
	return req
}

func ids(res *mnemev1.RerankResponse) string {
	var out []string
	for _, r := range res.GetRanked() {
		out = append(out, r.GetMemoryId())
	}
	return strings.Join(out, " ")
}

func TestOrder(t *testing.T) {
	r := start(t, nil)
	cosine := scored(2, 0.1, 0.2)
	cosine.Candidates[0].Cosine = 0.5
	grouped := scored(3, 0.9, 0.8, 0.7)
	grouped.Candidates[0].Group, grouped.Candidates[1].Group, grouped.Candidates[2].Group = 7, 7, 2
	for name, tt := range map[string]struct {
		req  *mnemev1.RerankRequest
		want string
	}{
		"best first":                    {scored(3, 0.1, 0.9, 0.5), "m001 m002 m000"},
		"only as many as asked for":     {scored(1, 0.1, 0.9, 0.5), "m001"},
		"all where there are fewer":     {scored(100, 0.1, 0.9), "m001 m000"},
		"equal scores by id":            {scored(2, 0.5, 0.5, 0.5), "m000 m001"},
		"negative scores":               {scored(2, -3, -1), "m001 m000"},
		"none of none":                  {scored(5), ""},
		"the embeddings' cosine counts": {cosine, "m000 m001"},
		"spread over groups":            {grouped, "m000 m002 m001"},
	} {
		t.Run(name, func(t *testing.T) {
			res := r.rerank("acme", tt.req)
			if got := ids(res); got != tt.want || res.GetWeightsVersion() != "prior/0" || res.GetExplored() {
				t.Errorf("got %q by %s, want %q", got, res.GetWeightsVersion(), tt.want)
			}
		})
	}
}

func TestOrderDoesNotDependOnTheOrderOfCandidates(t *testing.T) {
	r := start(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		scores := rapid.SliceOfN(rapid.SampledFrom([]float32{0, 0.25, 0.5, 1}), 0, 40).Draw(rt, "scores")
		req := scored(uint32(rapid.IntRange(1, 100).Draw(rt, "memories")), scores...)
		for _, c := range req.GetCandidates() {
			c.Group = rapid.Uint32Range(0, 3).Draw(rt, "group")
		}
		want := ids(r.rerank("acme", req))
		req.Candidates = rapid.Permutation(req.GetCandidates()).Draw(rt, "shuffled")
		if got := ids(r.rerank("acme", req)); got != want {
			rt.Fatalf("got %s, want %s", got, want)
		}
	})
}

func vector(t testing.TB, v ...float32) []byte {
	t.Helper()
	b, err := ranking.EncodeVector(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRefusalsNameTheField(t *testing.T) {
	r := start(t, nil)
	for _, tt := range []struct {
		name, field string
		change      func(*mnemev1.RerankRequest)
	}{
		{"no user", "user_id", func(r *mnemev1.RerankRequest) { r.UserId = "" }},
		{"a user that is too long", "user_id", func(r *mnemev1.RerankRequest) {
			r.UserId = strings.Repeat("u", memory.MaxUserBytes+1)
		}},
		{"no recall", "recall_id", func(r *mnemev1.RerankRequest) { r.RecallId = "" }},
		{"a recall that is too long", "recall_id", func(r *mnemev1.RerankRequest) {
			r.RecallId = strings.Repeat("r", memory.MaxIDBytes+1)
		}},
		{"no features' name", "feature_set", func(r *mnemev1.RerankRequest) { r.FeatureSet = "" }},
		{"other features", "feature_set", func(r *mnemev1.RerankRequest) { r.FeatureSet = "test/2" }},
		{"a query vector that is none", "query_vector", func(r *mnemev1.RerankRequest) { r.QueryVector = []byte{1, 2} }},
		{"no memories", "memories", func(r *mnemev1.RerankRequest) { r.Memories = 0 }},
		{"too many memories", "memories", func(r *mnemev1.RerankRequest) { r.Memories = 101 }},
		{"too many candidates", "candidates", func(r *mnemev1.RerankRequest) {
			r.Candidates = scored(1, make([]float32, 201)...).GetCandidates()
		}},
		{"a candidate without id", "candidates.memory_id", func(r *mnemev1.RerankRequest) { r.Candidates[0].MemoryId = "" }},
		{"a candidate that is repeated", "candidates.memory_id", func(r *mnemev1.RerankRequest) {
			r.Candidates[1].MemoryId = r.Candidates[0].MemoryId
		}},
		{"too few features", "candidates.features", func(r *mnemev1.RerankRequest) { r.Candidates[0].Features = nil }},
		{"a feature that is no number", "candidates.features", func(r *mnemev1.RerankRequest) {
			r.Candidates[0].Features[1] = float32(math.NaN())
		}},
		{"a vector that is none", "candidates.vector", func(r *mnemev1.RerankRequest) { r.Candidates[0].Vector = []byte{1} }},
		{"a vector of another length", "candidates.vector", func(r *mnemev1.RerankRequest) {
			r.QueryVector, r.Candidates[0].Vector = vector(t, 1, 0), vector(t, 1, 0, 0)
		}},
		{"a cosine that is no number", "candidates.cosine", func(r *mnemev1.RerankRequest) {
			r.Candidates[0].Cosine = float32(math.Inf(1))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request("r1")
			tt.change(req)
			_, err := r.client.Rerank(t.Context(), as("acme", req))
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), tt.field+": ") {
				t.Errorf("got %v, want an invalid argument that names %s", err, tt.field)
			}
		})
	}
}

func TestNobodyIsServedWithoutAKey(t *testing.T) {
	r := start(t, nil)
	_, err := r.client.Rerank(t.Context(), connect.NewRequest(request("r1")))
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("got %v", err)
	}
}

func TestTheLargestRequestIsTaken(t *testing.T) {
	r := start(t, nil)
	req := scored(100, make([]float32, 200)...)
	req.UserId, req.RecallId = strings.Repeat("u", memory.MaxUserBytes), strings.Repeat("r", memory.MaxIDBytes)
	if got := r.rerank("acme", req); len(got.GetRanked()) != 100 {
		t.Errorf("got %d memories", len(got.GetRanked()))
	}
}

// A trace keeps the best and the shown candidates, and has only numbers and ids.
func TestATraceKeepsTheBestAndTheShown(t *testing.T) {
	for name, explore := range map[string]float64{"by score": 0, "drawn": 1} {
		t.Run(name, func(t *testing.T) {
			r := start(t, func(p *reranker.Parts) { p.Settings.Explore, p.Settings.Temperature = explore, 100 })
			scores := make([]float32, 150)
			for i := range scores {
				scores[i] = float32(i)
			}
			res := r.rerank("acme", scored(10, scores...))
			var trace ranking.Trace
			r.await(func() bool {
				got, err := r.parts.Store.Traces(t.Context(), ana, []string{"r1"})
				if err != nil || got[0] == nil {
					return false
				}
				trace, err = ranking.DecodeTrace(got[0])
				return err == nil
			})
			kept := map[string]bool{}
			for _, c := range trace.Candidates {
				kept[c.ID] = true
			}
			for i := 118; i < 150; i++ {
				if !kept[fmt.Sprintf("m%03d", i)] {
					t.Errorf("candidate %d is among the best 32, and not kept", i)
				}
			}
			if len(trace.Candidates) > 42 || len(trace.Shown) != 10 || trace.RecallID != "r1" || trace.FeatureSet != "test/1" ||
				trace.WeightsVersion != 0 {
				t.Errorf("kept %d candidates and %d shown of %s", len(trace.Candidates), len(trace.Shown), trace.RecallID)
			}
			for i, place := range trace.Shown {
				if got, want := trace.Candidates[place].ID, res.GetRanked()[i].GetMemoryId(); got != want {
					t.Errorf("shown %d is %s, want %s", i, got, want)
				}
			}
			drawn := ids(res) != "m149 m148 m147 m146 m145 m144 m143 m142 m141 m140"
			if drawn != (explore > 0) || res.GetExplored() != drawn || trace.Explored != drawn {
				t.Errorf("got %s, explored %t", ids(res), res.GetExplored())
			}
		})
	}
}

func TestSomeRecallsExplore(t *testing.T) {
	r := start(t, func(p *reranker.Parts) { p.Settings.Explore = 0.5 })
	explored := 0
	for i := range 200 {
		if r.rerank("acme", request(fmt.Sprint("r", i))).GetExplored() {
			explored++
		}
	}
	r.wantCounted(telemetry.MetricExplored, "order", int64(explored))
	if explored < 40 || explored > 160 { // 8 standard deviations
		t.Errorf("%d of 200 explored, want about half", explored)
	}
}

// lastTried is the memory in the last place that was shown to explore. It is empty without exploration.
func lastTried(t *testing.T, res *mnemev1.RerankResponse) (id string) {
	t.Helper()
	for i, m := range res.GetRanked() {
		if !m.GetExplored() {
			continue
		}
		if id = m.GetMemoryId(); i != len(res.GetRanked())-1 || res.GetExplored() {
			t.Errorf("%s is shown to explore in place %d of %s, the whole order: %t", id, i+1, ids(res), res.GetExplored())
		}
	}
	return id
}

// The last place sometimes goes to a memory that would not be shown. The choice is the same for repeated recalls, has
// the tenant's rate, and needs at least five shown memories.
func TestTheLastPlaceIsGivenToExplore(t *testing.T) {
	r := start(t, func(p *reranker.Parts) { p.Settings.ExploreLast = 0.5 })
	few, tried := map[string]bool{}, 0
	for i := range 200 {
		req := scored(5, 9, 8, 7, 6, 5, 4, 3)
		req.RecallId = fmt.Sprint("r", i)
		first := r.rerank("acme", req)
		id := lastTried(t, first)
		if again := r.rerank("acme", req); ids(again) != ids(first) || lastTried(t, again) != id {
			t.Errorf("the same recall shows %s and then %s", ids(first), ids(again))
		}
		want := "m000 m001 m002 m003 m004"
		if id != "" {
			tried, few[id], want = tried+1, true, "m000 m001 m002 m003 "+id
		}
		if ids(first) != want {
			t.Errorf("got %s, want %s", ids(first), want)
		}
		for _, other := range []*mnemev1.RerankRequest{scored(4, 9, 8, 7, 6, 5), scored(5, 9, 8, 7, 6, 5)} {
			other.RecallId = req.GetRecallId()
			if id := lastTried(t, r.rerank("acme", other)); id != "" {
				t.Errorf("%s is shown to explore among %d of 5", id, other.GetMemories())
			}
		}
		if id := lastTried(t, r.rerank("quiet", req)); id != "" {
			t.Errorf("%s is shown to explore to a tenant that does not want it", id)
		}
		if id := lastTried(t, r.rerank("curious", req)); id == "" {
			t.Error("nothing is shown to explore to a tenant that always wants it")
		}
	}
	if tried < 60 || tried > 140 || !few["m005"] || !few["m006"] || len(few) != 2 { // 5 standard deviations
		t.Errorf("%d of 200 recalls explored, %v, want about half, of both that have no place", tried, few)
	}
	r.wantCounted(telemetry.MetricExplored, "last", int64(2*tried+200))
}

// The trace shows the explored memory and its propensity. A diagnosis writes no trace.
func TestATraceTellsWhatWasTried(t *testing.T) {
	r := start(t, nil)
	req := scored(5, 9, 8, 7, 6, 5, 4, 3)
	req.Untraced, req.RecallId = true, "asked"
	unseen := lastTried(t, r.rerank("curious", req))
	req.Untraced, req.RecallId = false, "told"
	id := lastTried(t, r.rerank("curious", req))
	scope := memory.Scope{Tenant: "curious", User: req.GetUserId()}
	r.await(func() bool { n, err := r.parts.Store.Count(t.Context(), scope); return err == nil && n.Traces > 0 })
	got, err := r.parts.Store.Traces(t.Context(), scope, []string{"asked", "told"})
	if err != nil || unseen == "" || got[0] != nil {
		t.Fatalf("a diagnosis left %d bytes, %v", len(got[0]), err)
	}
	trace, err := ranking.DecodeTrace(got[1])
	if err != nil {
		t.Fatal(err)
	}
	if last := trace.Candidates[trace.Shown[4]].ID; trace.Tried.Place != 5 || trace.Tried.Of != 2 || last != id ||
		trace.Tried.Propensity <= 0 {
		t.Errorf("kept %+v of %s, want place 5 for %s", trace.Tried, last, id)
	}
}

func TestTracesThatWaitAreWrittenAtTheEnd(t *testing.T) {
	r := start(t, nil)
	for i := range 50 {
		r.rerank("acme", request(fmt.Sprint("r", i)))
	}
	if err := r.server.Recorder.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := r.parts.Store.Count(t.Context(), ana); err != nil || n.Traces != 50 {
		t.Errorf("%d traces, %v", n.Traces, err)
	}
	r.wantCounted(telemetry.MetricRecallTraces, "kept", 50)
	r.rerank("acme", request("late"))
	r.wantCounted(telemetry.MetricRecallTraces, "dropped", 1)
}

func BenchmarkRerank(b *testing.B) {
	p := prior()
	p.Names, p.Weights.W, p.Weights.FeatureScale = nil, nil, nil
	for i := range 20 {
		p.Names = append(p.Names, fmt.Sprint("f", i))
		p.Weights.W, p.Weights.FeatureScale = append(p.Weights.W, float32(i)/20), append(p.Weights.FeatureScale, 1)
	}
	p.Weights.Aq, p.Weights.Am = make([]float32, ranking.Rank*ranking.Rank), make([]float32, ranking.Rank*ranking.Rank)
	p.Weights.Aq[5], p.Weights.Am[7] = 0.1, 0.1
	r := start(b, func(parts *reranker.Parts) { parts.Prior = p })
	req := scored(10, make([]float32, 100)...)
	v := make([]float32, ranking.Rank)
	for i := range v {
		v[i] = float32(i) / ranking.Rank
	}
	req.QueryVector = vector(b, v...)
	for i, c := range req.GetCandidates() {
		c.Features, c.Vector = make([]float32, 20), vector(b, v...)
		c.Features[i%20] = float32(i) / 100
	}
	b.Run("over HTTP", func(b *testing.B) {
		for b.Loop() {
			r.t = b
			r.rerank("acme", req)
		}
	})
	b.Run("in the process", func(b *testing.B) {
		ctx := inTenant(b.Context(), "acme")
		for b.Loop() {
			if _, err := r.server.Rerank(ctx, connect.NewRequest(req)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

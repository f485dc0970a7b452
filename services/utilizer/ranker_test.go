package utilizer_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/utilizer"
)

// reranker returns a fixed answer.
type reranker struct {
	mnemev1connect.UnimplementedRerankerServiceHandler
	answer []*mnemev1.RankedMemory
	asked  *mnemev1.RerankRequest
}

func (r *reranker) Rerank(
	_ context.Context, req *connect.Request[mnemev1.RerankRequest],
) (*connect.Response[mnemev1.RerankResponse], error) {
	r.asked = req.Msg
	return connect.NewResponse(&mnemev1.RerankResponse{Ranked: r.answer, WeightsVersion: "learned/7"}), nil
}

// serve returns a ranker that calls the reranker over the network.
func serve(t *testing.T, r *reranker) utilizer.Ranker {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(r))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return utilizer.NewRemoteRanker(mnemev1connect.NewRerankerServiceClient(srv.Client(), srv.URL))
}

func numbered() utilizer.Ask {
	return utilizer.Ask{
		User: "ana", RecallID: "r1", FeatureSet: "test/1", Query: []byte{1, 2}, Candidates: []utilizer.Numbered{
			{ID: "a", Features: []float32{0.5, 2}, Cosine: 0.25, Vector: []byte{3}, Score: 0.75},
			{ID: "b", Features: []float32{1, 3}},
			{ID: "c", Features: []float32{0, 0}},
		},
	}
}

func TestTheRerankerIsAskedInNumbers(t *testing.T) {
	r := &reranker{answer: []*mnemev1.RankedMemory{{MemoryId: "b", Score: 7}, {MemoryId: "a", Score: 3, Explored: true}}}
	ask := numbered()
	ask.Untraced = true
	got, err := serve(t, r).Rank(t.Context(), ask, 2)
	if want := (utilizer.Order{Places: []int{1, 0}, Scores: []float64{3, 7, 0}, Version: "learned/7",
		Explored: "a"}); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	q := r.asked
	if q.GetUserId() != "ana" || q.GetRecallId() != "r1" || q.GetFeatureSet() != "test/1" || q.GetMemories() != 2 ||
		!q.GetUntraced() ||
		!bytes.Equal(q.GetQueryVector(), []byte{1, 2}) {
		t.Errorf("asked %v", q)
	}
	for i, want := range numbered().Candidates {
		c := q.GetCandidates()[i]
		if c.GetMemoryId() != want.ID || !slices.Equal(c.GetFeatures(), want.Features) || c.GetCosine() != want.Cosine ||
			!bytes.Equal(c.GetVector(), want.Vector) || c.GetScore() != want.Score {
			t.Errorf("candidate %d is %v, want %+v", i, c, want)
		}
	}
}

func TestTheRerankerIsNotTrustedBlindly(t *testing.T) {
	for name, answer := range map[string][]string{
		"of somebody else": {"a", "z"}, "twice": {"a", "a"}, "too few": {"a"}, "none": nil, "too many": {"a", "b", "c"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reranker{}
			for _, id := range answer {
				r.answer = append(r.answer, &mnemev1.RankedMemory{MemoryId: id})
			}
			if got, err := serve(t, r).Rank(t.Context(), numbered(), 2); err == nil {
				t.Errorf("took %+v", got)
			}
		})
	}
}

func TestFewerCandidatesThanAreWantedAreEnough(t *testing.T) {
	r := &reranker{answer: []*mnemev1.RankedMemory{{MemoryId: "c"}, {MemoryId: "b"}, {MemoryId: "a"}}}
	got, err := serve(t, r).Rank(t.Context(), numbered(), 5)
	if err != nil || !slices.Equal(got.Places, []int{2, 1, 0}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

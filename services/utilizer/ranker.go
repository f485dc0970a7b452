package utilizer

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// Ranker orders candidates. It is the part of the reranker that recall uses.
type Ranker interface {
	// Rank returns at most m of the candidates, best first.
	Rank(ctx context.Context, a Ask, m int) (Order, error)
}

// Ask is a request to order candidates.
type Ask struct {
	User, RecallID, FeatureSet string
	// Untraced turns learning from the order off.
	Untraced bool
	// Query is the query's projected embedding, encoded.
	Query      []byte
	Candidates []Numbered
}

// Numbered is a candidate as numbers.
type Numbered struct {
	ID       string
	Features []float32
	Cosine   float32
	// Group is the group of features.Candidate.
	Group uint32
	// Vector is the encoded projected embedding. Score is the score of the shared prior.
	Vector []byte
	Score  float64
}

// Order is an order of candidates.
type Order struct {
	// Places are indexes of candidates, best first. Scores are the scores of all candidates that the ranker returned.
	Places []int
	Scores []float64
	// Version names the weights.
	Version string
	// Explored is the memory in the last place for exploration. It is empty without exploration.
	Explored string
}

// remoteRanker calls the reranker service.
type remoteRanker struct {
	client mnemev1connect.RerankerServiceClient
}

// Possible errors in a reranker's answer.
var (
	errForeign = errors.New("the reranker returned an unknown or repeated memory")
	errPartial = errors.New("the reranker returned another number of memories than requested")
)

// Rank implements Ranker.
func (r remoteRanker) Rank(ctx context.Context, a Ask, m int) (Order, error) {
	req := &mnemev1.RerankRequest{
		UserId: a.User, RecallId: a.RecallID, FeatureSet: a.FeatureSet, QueryVector: a.Query,
		Memories: uint32(m), //nolint:gosec // at most 100
		Untraced: a.Untraced, Candidates: make([]*mnemev1.RerankCandidate, len(a.Candidates)),
	}
	places := make(map[string]int, len(a.Candidates))
	for i, c := range a.Candidates {
		places[c.ID] = i
		req.Candidates[i] = &mnemev1.RerankCandidate{
			MemoryId: c.ID, Score: c.Score, Features: c.Features, Cosine: c.Cosine, Vector: c.Vector, Group: c.Group,
		}
	}
	res, err := r.client.Rerank(ctx, connect.NewRequest(req))
	if err != nil {
		return Order{}, fmt.Errorf("rerank: %w", err)
	}
	out := Order{Scores: make([]float64, len(a.Candidates)), Version: res.Msg.GetWeightsVersion()}
	for _, ranked := range res.Msg.GetRanked() {
		i, ok := places[ranked.GetMemoryId()]
		if !ok {
			return Order{}, errForeign
		}
		delete(places, ranked.GetMemoryId())
		out.Places, out.Scores[i] = append(out.Places, i), ranked.GetScore()
		if ranked.GetExplored() {
			out.Explored = ranked.GetMemoryId()
		}
	}
	if len(out.Places) != min(m, len(a.Candidates)) {
		return Order{}, errPartial
	}
	return out, nil
}

// numbers returns the request form of candidates, with the prior's scores.
func (r *Recaller) numbers(
	found []candidate, from *cachedIndex, vector []float32,
) (query []byte, out []Numbered, err error) {
	projected := r.Projector.Project(vector)
	if query, err = ranking.EncodeVector(projected); err != nil {
		return nil, nil, fmt.Errorf("encode query: %w", err)
	}
	scored := make([]ranking.Candidate, len(found))
	out = make([]Numbered, len(found))
	for i, c := range found {
		var b []byte
		if len(c.Memory.Vector) == len(vector) { // a vector of another model is useless
			if b, err = from.project(r.Projector, c.Memory); err != nil {
				return nil, nil, fmt.Errorf("encode memory: %w", err)
			}
		}
		out[i] = Numbered{ID: c.Memory.ID, Features: c.Features, Cosine: c.Cosine, Vector: b, Group: c.Group}
		scored[i] = ranking.Candidate{ID: c.Memory.ID, Features: c.Features, Cosine: c.Cosine}
	}
	scores, err := r.Prior.Scores(nil, scored)
	if err != nil {
		return nil, nil, fmt.Errorf("score candidates: %w", err)
	}
	for i := range out {
		out[i].Score = scores[i]
	}
	return query, out, nil
}

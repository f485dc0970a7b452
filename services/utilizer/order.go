package utilizer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

// order ranks the candidates with the reranker. If the reranker fails, it uses the shared prior, with the reranker's
// default spread. It returns the places of the shown candidates.
func (r *Recaller) order(ctx context.Context, q Request, f found, out *Result) []int {
	n := len(f.candidates)
	if n == 0 {
		return nil
	}
	order := Order{Places: make([]int, n), Scores: f.scores}
	for i := range order.Places {
		order.Places[i] = i
	}
	if !q.Unranked {
		ranked, err := r.rank(ctx, q, f, out.ID)
		if order = ranked; err != nil {
			r.degrade(ctx, out, RerankerUnavailable, err)
		} else {
			out.Weights, out.Explored = ranked.Version, ranked.Explored
		}
	}
	for i, c := range f.candidates {
		c.Memory.Vector = nil
		out.Retrieved = append(out.Retrieved, bank.Scored{Memory: c.Memory, Score: order.Scores[i]})
	}
	return order.Places[:min(q.Memories, len(order.Places))]
}

// spread returns the order of the candidates by their spread scores: see ranking.Spread.
func spread(f found, scores []float64) []int {
	candidates, groups := make([]ranking.Candidate, len(scores)), make([]uint32, len(scores))
	for i, c := range f.candidates {
		candidates[i], groups[i] = ranking.Candidate{ID: c.Memory.ID, Cosine: c.Cosine}, c.Group
	}
	ranking.Spread(candidates, scores, groups, ranking.DefaultSpread)
	return ranking.Top(candidates, scores, len(candidates))
}

// show adds the source dialogue to the shown memories.
func show(f found, places []int, out *Result) []bank.Scored {
	for _, i := range places {
		s := out.Retrieved[i]
		if s.Memory.Value = f.candidates[i].Memory.Value; s.Memory.Value == "" {
			s.Memory.Value = dialogue(f.candidates[i].Turns)
		}
		out.Ranked = append(out.Ranked, s)
	}
	return out.Ranked
}

// rank calls the reranker. With an error, it returns the order and scores of the shared prior, or else the candidates
// in order of retrieval.
func (r *Recaller) rank(ctx context.Context, q Request, f found, recallID string) (Order, error) {
	query, numbers, err := r.numbers(f.candidates, f.from, f.vector)
	prior := Order{Places: make([]int, len(f.candidates)), Scores: make([]float64, len(f.candidates))}
	for i := range f.candidates {
		prior.Places[i] = i
	}
	if err != nil {
		return prior, err
	}
	for i := range numbers {
		prior.Scores[i] = numbers[i].Score
	}
	prior.Places = spread(f, prior.Scores)
	ctx, cancel := context.WithTimeout(ctx, r.RankTimeout)
	defer cancel()
	ask := Ask{
		User: q.User, RecallID: recallID, FeatureSet: r.Prior.FeatureSet, Untraced: q.Diagnosed, Query: query,
		Candidates: numbers,
	}
	ranked, err := r.Ranker.Rank(ctx, ask, q.Memories)
	if err != nil {
		return prior, err
	}
	return ranked, nil
}

// ellipsis marks where a turn was cut.
const ellipsis = "…"

// dialogue returns the text of turns, one line each. If the text is too long for a memory, it drops the first lines.
// It keeps the last line, and cuts the end of a last line that is too long.
func dialogue(turns []memory.Turn) string {
	var lines []string
	room := memory.MaxValueBytes
	for _, t := range slices.Backward(turns) {
		line := spoken(t)
		if len(lines) == 0 && len(line) > room {
			cut := text.Cut(line, room-len(ellipsis))
			// not within a word, if there are words
			if at := strings.LastIndexByte(cut, ' '); at > len(cut)/2 && line[len(cut)] != ' ' {
				cut = cut[:at]
			}
			return cut + ellipsis
		}
		if room -= len(line) + 1; room < -1 {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// spoken returns a turn as one line.
func spoken(t memory.Turn) string {
	line := recall.Name(t.Speaker) + " (" + t.Time.UTC().Format(time.DateOnly) + "): " + text.OneLine(t.Text)
	if caption := text.OneLine(t.Caption); caption != "" {
		line += pictureMark + caption + "]"
	}
	return line
}

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

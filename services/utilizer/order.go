package utilizer

import (
	"context"
	"slices"
	"strings"
	"time"

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
		line += " [picture: " + caption + "]"
	}
	return line
}

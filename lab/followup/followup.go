// Package followup measures whether recall understands a question in the middle of a conversation. Follow-ups depend
// on the messages before them. Full queries on another topic must not follow the messages.
package followup

import (
	"context"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// shown is the number of memories in a reply.
const shown = 5

// Recall is the mean share, 0 to 1, of the needed memories among the five shown.
type Recall struct {
	Requests int
	// Alone is the recall without the messages, WithTalk with them.
	Alone, WithTalk float64
}

// Outcome is one request with its shown memories.
type Outcome struct {
	corpus.AskedInATalk
	Memories []string
	// Alone and WithTalk are the positions of the shown memories without and with the messages, best first.
	Alone, WithTalk []int
}

// Measure recalls all requests by the shared prior, without and with the messages before them.
func Measure(ctx context.Context, talks []corpus.Talk) (map[string]Recall, []Outcome, error) {
	prior, err := features.Prior()
	if err != nil {
		return nil, nil, err
	}
	sums := map[string]Recall{}
	var all []Outcome
	for _, t := range talks {
		x, places, err := indexOf(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range t.Requests {
			o := Outcome{AskedInATalk: r, Memories: t.Memories}
			if o.Alone, err = recall(ctx, x, places, prior.Weights.W, r.Query, nil); err != nil {
				return nil, nil, err
			}
			if o.WithTalk, err = recall(ctx, x, places, prior.Weights.W, r.Query, messagesOf(r)); err != nil {
				return nil, nil, err
			}
			s := sums[r.Kind]
			s.Requests++
			s.Alone += o.covered(o.Alone)
			s.WithTalk += o.covered(o.WithTalk)
			sums[r.Kind] = s
			all = append(all, o)
		}
	}
	for kind, s := range sums {
		s.Alone, s.WithTalk = s.Alone/float64(s.Requests), s.WithTalk/float64(s.Requests)
		sums[kind] = s
	}
	return sums, all, nil
}

// covered returns the share of the needed memories among the positions.
func (o Outcome) covered(places []int) float64 {
	n := 0
	for _, need := range o.Needs {
		for _, p := range places {
			if p == need {
				n++
			}
		}
	}
	return float64(n) / float64(len(o.Needs))
}

// indexOf makes memories of a person's statements, each with its turn and session, as passing remarks.
func indexOf(ctx context.Context, t corpus.Talk) (*features.Index, map[string]int, error) {
	vectors, err := builtin.New().Embed(ctx, t.Memories)
	if err != nil {
		return nil, nil, fmt.Errorf("embed memories: %w", err)
	}
	began := time.Date(2025, time.January, 6, 18, 0, 0, 0, time.UTC)
	var memories []memory.Memory
	var turns []memory.Turn
	places := map[string]int{}
	for i, said := range t.Memories {
		at := began.AddDate(0, 0, 3*i)
		turn := memory.Turn{
			ID: fmt.Sprintf("t%d", i), SessionID: fmt.Sprintf("s%d", i), Speaker: t.Speaker, Role: memory.RoleUser, Text: said,
			Time: at,
		}
		turns = append(turns, turn)
		places[turn.ID] = i
		memories = append(memories, memory.Memory{
			ID: turn.ID, Kind: memory.KindFact, Content: said, Speaker: t.Speaker, Status: memory.StatusActive,
			Sources:   []string{turn.ID},
			SessionID: turn.SessionID, ValidFrom: at, Vector: vectors[i],
		})
	}
	return features.New(wordvector.Shipped(), memories, turns), places, nil
}

func recall(
	ctx context.Context, x *features.Index, places map[string]int, weights []float32, said string,
	messages []memory.Message,
) ([]int, error) {
	now := time.Date(2025, time.April, 1, 12, 0, 0, 0, time.UTC)
	asked := query.Understand(query.Input{Text: said, Messages: messages, Now: now})
	vectors, err := builtin.New().Embed(ctx, []string{asked.Resolved})
	if err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	var out []int
	for _, c := range x.Candidates(features.Query{Query: asked, Vector: vectors[0]}, weights, shown) {
		out = append(out, places[c.Memory.ID])
	}
	return out, nil
}

func messagesOf(r corpus.AskedInATalk) []memory.Message {
	out := make([]memory.Message, len(r.Messages))
	for i, m := range r.Messages {
		out[i] = memory.Message{Role: m.Role, Content: m.Content}
	}
	return out
}

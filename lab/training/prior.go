package training

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// maxConversations bounds PriorOptions, against mistakes rather than needs.
const maxConversations = 2_000

// heldOutSeed is added to the seed for what the prior is measured on.
const heldOutSeed = 1000

// PriorOptions say what the ranker's prior is trained on, and how.
type PriorOptions struct {
	// Seed chooses the made-up conversations.
	Seed uint64
	// Conversations is how many are learned from; a quarter as many again, in words of their own, are held out.
	Conversations int
	// Rates say what the conversations are like.
	Rates questions.Rates
	// Users is how many users of an assistant, put together of the corpus' dialogues, are learned from beside that at most; a quarter as
	// many are held out. Each of their requests counts as much as Weight questions.
	Users, Weight int
	// Chats is how many of the corpus' chats of friends are learned from beside that at most; each of their questions counts as much as
	// ChatWeight made-up ones.
	Chats, ChatWeight int
	// Training are the options of the training itself.
	Training ranking.PretrainOptions
}

// PriorDefaults are what the prior in the binary is trained with.
func PriorDefaults() PriorOptions {
	o := PriorOptions{
		Seed: 1, Conversations: 70, Rates: questions.DefaultRates(), Users: maxConversations, Weight: 1,
		ChatWeight: 3,
	}
	o.Training = ranking.DefaultPretrainOptions(features.FeatureSet)
	// Several features say much the same; with more of a pull to zero they share the weight, and depend less on how the made talks differ
	// from real ones.
	o.Training.L2 = 0.3
	return o
}

// PriorReport says what the prior was trained on and what it does on what was held out.
type PriorReport struct {
	Seed          uint64 `json:"seed"`
	Conversations int    `json:"conversations"`
	// Questions and Requests were learned from: those of which something is remembered.
	Questions int `json:"questions"`
	Requests  int `json:"requests"`
	// Asked are the questions about chats that were learned from.
	Asked int `json:"asked"`
	// Heldout is measured on made-up questions, HeldoutChats on questions about chats and HeldoutRequests on requests to an assistant,
	// both by other writers.
	Heldout         RecallFigures `json:"heldout"`
	HeldoutChats    RecallFigures `json:"heldout_chats"`
	HeldoutRequests RecallFigures `json:"heldout_requests"`
}

// RecallFigures are the mean shares of the evidence of questions that the first 5, 10 and 20 memories cover.
type RecallFigures struct {
	Questions int     `json:"questions"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	Recall20  float64 `json:"recall@20"`
}

// Prior trains the prior of the ranker: made-up conversations of friends, and dialogues with an assistant, are formed into memories by the
// embedded policy behind the trained filter, and the weights are those that put first what answers the questions of the ones and what the
// requests of the others have to respect. The same options give the same prior. Options out of range are terminal errors.
func Prior(ctx context.Context, o PriorOptions) (ranking.Prior, PriorReport, error) {
	report := PriorReport{Seed: o.Seed, Conversations: o.Conversations}
	switch {
	case o.Conversations < 1 || o.Conversations > maxConversations:
		return ranking.Prior{}, report, fault.Terminal("conversations", "is %d, want 1 to %d", o.Conversations, maxConversations)
	case o.Users < 0 || o.Users > maxConversations:
		return ranking.Prior{}, report, fault.Terminal("users", "is %d, want 0 to %d", o.Users, maxConversations)
	case o.Weight < 1 || o.Weight > 100:
		return ranking.Prior{}, report, fault.Terminal("weight", "is %d, want 1 to 100", o.Weight)
	case o.Chats < 0 || o.Chats > maxConversations:
		return ranking.Prior{}, report, fault.Terminal("chats", "is %d, want 0 to %d", o.Chats, maxConversations)
	case o.ChatWeight < 1 || o.ChatWeight > 100:
		return ranking.Prior{}, report, fault.Terminal("chat-weight", "is %d, want 1 to 100", o.ChatWeight)
	}
	learned, err := questioned(ctx, questions.Options{
		Seed: o.Seed, Conversations: o.Conversations, Split: synthesis.SplitTrain, Rates: o.Rates,
	})
	if err != nil {
		return ranking.Prior{}, report, err
	}
	requests, err := requested(ctx, corpus.Train, o.Users)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	asked, err := chatted(ctx, corpus.Train, o.Chats)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	report.Questions, report.Requests, report.Asked = answered(learned), answered(requests), answered(asked)
	for range o.Weight {
		learned = append(learned, requests...)
	}
	for range o.ChatWeight {
		learned = append(learned, asked...)
	}
	examples := make([]ranking.Example, len(learned))
	for i, r := range learned {
		examples[i] = r.Example
	}
	weights, err := ranking.Pretrain(ctx, examples, o.Training)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	held, err := questioned(ctx, questions.Options{
		Seed: o.Seed + heldOutSeed, Conversations: (o.Conversations + 3) / 4, Split: synthesis.SplitHeldout, Rates: o.Rates,
	})
	if err != nil {
		return ranking.Prior{}, report, err
	}
	if report.Heldout, err = recallOf(held, weights); err != nil {
		return ranking.Prior{}, report, err
	}
	if held, err = chatted(ctx, corpus.Heldout, (o.Chats+3)/4); err != nil {
		return ranking.Prior{}, report, err
	}
	if report.HeldoutChats, err = recallOf(held, weights); err != nil {
		return ranking.Prior{}, report, err
	}
	if held, err = requested(ctx, corpus.Heldout, (o.Users+3)/4); err != nil {
		return ranking.Prior{}, report, err
	}
	report.HeldoutRequests, err = recallOf(held, weights)
	return ranking.Prior{Names: features.Names(), Weights: weights}, report, err
}

// answered counts the questions of which something is remembered.
func answered(all []rehearsal.Rehearsed) int {
	n := 0
	for _, r := range all {
		if slices.Contains(r.Example.Relevant, true) {
			n++
		}
	}
	return n
}

// questioned forms made-up conversations and returns what could be shown for their questions, in their order.
func questioned(ctx context.Context, o questions.Options) ([]rehearsal.Rehearsed, error) {
	g, err := questions.New(o)
	if err != nil {
		return nil, err
	}
	return rehearse(ctx, g.Subjects("training"), nil)
}

// chatted forms the chats of a split, at most so many, and returns what could be shown for their questions, in their order.
func chatted(ctx context.Context, split corpus.Split, most int) ([]rehearsal.Rehearsed, error) {
	chats, err := corpus.Chats(split)
	if err != nil {
		return nil, err
	}
	var subjects []dataset.Subject
	for _, c := range chats[:min(len(chats), most)] {
		subjects = append(subjects, c.Subject())
	}
	return rehearse(ctx, subjects, nil)
}

// requested forms the dialogues of users of an assistant and returns what could be shown for their requests, in their order. What stands in
// the dialogues that models are trained on is scored by models that did not learn from their writer.
func requested(ctx context.Context, split corpus.Split, most int) ([]rehearsal.Rehearsed, error) {
	if most == 0 {
		return nil, nil
	}
	users, err := requesters(split)
	if err != nil {
		return nil, err
	}
	var models writers
	if split == corpus.Train {
		if models, err = leaveOneOut(StandingDefaults()); err != nil {
			return nil, err
		}
	}
	return rehearse(ctx, users[:min(len(users), most)], models)
}

// rehearse forms all that was said and returns what could be shown for the questions, in their order. Models score again what stands.
func rehearse(ctx context.Context, subjects []dataset.Subject, models writers) ([]rehearsal.Rehearsed, error) {
	unweighted := make([]float32, len(features.Names()))
	all, err := rehearsal.Rehearse(ctx, builtin.New(), subjects, unweighted, 0,
		func(_ dataset.Subject, r rehearsal.Rehearsed) (rehearsal.Rehearsed, error) {
			models.score(r)
			r.Candidates = nil // they would fill the memory
			return r, nil
		})
	return slices.Concat(all...), err
}

// recallOf measures what weights do on questions.
func recallOf(held []rehearsal.Rehearsed, w ranking.Weights) (RecallFigures, error) {
	out := RecallFigures{Questions: len(held)}
	for _, h := range held {
		at, err := h.RecallAt(w, 5, 10, 20)
		if err != nil {
			return out, err
		}
		out.Recall5 += at[0] / float64(len(held))
		out.Recall10 += at[1] / float64(len(held))
		out.Recall20 += at[2] / float64(len(held))
	}
	return out, nil
}

package training

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// maxConversations bounds PriorOptions, to catch mistakes.
const maxConversations = 2_000

// heldOutSeed is added to the seed for the held-out conversations.
const heldOutSeed = 1000

// PriorOptions are the data and the training options of the ranker's prior.
type PriorOptions struct {
	// Seed chooses the made-up conversations.
	Seed uint64
	// Conversations is the number of training conversations. A quarter as many conversations, in separate words, are
	// held out.
	Conversations int
	// Rates describe the conversations.
	Rates questions.Rates
	// Users is the largest number of an assistant's users in the training data. A user's sessions are dialogues of
	// the corpus. A quarter as many users are held out. One request counts as much as Weight questions.
	Users, Weight int
	// Chats is the largest number of the corpus' friends' chats in the training data. One of their questions counts
	// as much as ChatWeight made-up questions.
	Chats, ChatWeight int
	// Training are the options of the training itself.
	Training supervised.PretrainOptions
}

// PriorDefaults are the training options of the prior in the binary.
func PriorDefaults() PriorOptions {
	o := PriorOptions{
		Seed: 1, Conversations: 70, Rates: questions.DefaultRates(), Users: maxConversations, Weight: 1,
		ChatWeight: 3,
	}
	o.Training = supervised.DefaultPretrainOptions(features.FeatureSet)
	// Several features measure nearly the same thing. A stronger pull to zero spreads the weight over them, so that
	// differences between made-up and real talks matter less.
	o.Training.L2 = 0.3
	return o
}

// PriorReport describes the training data of the prior and its results on held-out data.
type PriorReport struct {
	Seed          uint64 `json:"seed"`
	Conversations int    `json:"conversations"`
	// Questions and Requests count the training questions with at least one memory of the evidence.
	Questions int `json:"questions"`
	Requests  int `json:"requests"`
	// Asked counts the training questions about chats.
	Asked int `json:"asked"`
	// Heldout is measured on made-up questions, HeldoutChats on questions about chats, HeldoutRequests on requests to
	// an assistant. The last two are by other writers.
	Heldout         RecallFigures `json:"heldout"`
	HeldoutChats    RecallFigures `json:"heldout_chats"`
	HeldoutRequests RecallFigures `json:"heldout_requests"`
}

// RecallFigures are the mean shares of a question's evidence in the first 5, 10 and 20 memories.
type RecallFigures struct {
	Questions int     `json:"questions"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	Recall20  float64 `json:"recall@20"`
}

// Prior trains the prior of the ranker. The embedded policy forms memories of made-up friends' conversations and of
// dialogues with an assistant, behind the trained filter. The learned weights put memories first that answer a
// question or that a request must respect. The same options give the same prior. Options out of range are terminal
// errors.
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
	examples := make([]supervised.Example, len(learned))
	for i, r := range learned {
		examples[i] = r.Example
	}
	weights, err := supervised.Pretrain(ctx, examples, o.Training)
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

// answered counts the questions with at least one memory of the evidence.
func answered(all []rehearsal.Rehearsed) int {
	n := 0
	for _, r := range all {
		if slices.Contains(r.Example.Relevant, true) {
			n++
		}
	}
	return n
}

// questioned forms made-up conversations and returns the candidates of their questions, in order.
func questioned(ctx context.Context, o questions.Options) ([]rehearsal.Rehearsed, error) {
	g, err := questions.New(o)
	if err != nil {
		return nil, err
	}
	return rehearse(ctx, g.Subjects("training"), nil)
}

// chatted forms at most `most` chats of a split and returns the candidates of their questions, in order.
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

// requested forms the dialogues of an assistant's users and returns the candidates of their requests, in order.
// Models score the standing facts of the training dialogues; each is trained without the dialogue's writer.
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
		if models, err = leaveOneOut(standingDefaults); err != nil {
			return nil, err
		}
	}
	return rehearse(ctx, users[:min(len(users), most)], models)
}

// rehearse forms all turns and returns the candidates of the questions, in order. The models score standing facts
// again.
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

// recallOf measures weights on questions.
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

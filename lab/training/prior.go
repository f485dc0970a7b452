package training

import (
	"context"
	"slices"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/fault"
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
	// the corpus. A quarter as many users are held out.
	Users int
	// Askers is the largest number of users with noted talks in the training data.
	Askers int
	// Training are the options of the training itself.
	Training supervised.PretrainOptions
}

// PriorDefaults are the training options of the prior in the binary.
func PriorDefaults() PriorOptions {
	o := PriorOptions{
		Seed: 1, Conversations: 24, Rates: questions.DefaultRates(), Users: maxConversations, Askers: maxConversations,
	}
	o.Training = supervised.DefaultPretrainOptions(features.FeatureSet)
	// Several features measure nearly the same thing. A stronger pull to zero spreads the weight over them, so that
	// differences between made-up and real talks matter less.
	o.Training.L2 = 0.3
	return o
}

// Shares of the data of a regime. Regimes learn from other regimes' questions, too, with less weight.
const (
	shareConversations = 1.5 // made-up conversations, for companions
	shareTalks         = 1   // talks of several people, for companions
	shareOthers        = 0.5 // questions to an assistant, for companions and requests
	shareDialogues     = 1   // requests of the corpus' dialogues
	shareRequests      = 0.5 // requests about noted talks; those with all talks as one session count as much as all others
)

// PriorReport describes the training data of the prior and its results on held-out data.
type PriorReport struct {
	Seed          uint64 `json:"seed"`
	Conversations int    `json:"conversations"`
	// Questions, Requests and Asked count the training questions with at least one memory of the evidence: on made-up
	// conversations, on the corpus' dialogues, and on noted talks.
	Questions int `json:"questions"`
	Requests  int `json:"requests"`
	Asked     int `json:"asked"`
	// Heldout is measured on made-up questions, HeldoutRequests on requests by other writers.
	Heldout         RecallFigures `json:"heldout"`
	HeldoutRequests RecallFigures `json:"heldout_requests"`
	// HeldoutAsked has a row for each writer of noted talks of the held-out split. For it, other weights learn without
	// these writers.
	HeldoutAsked map[string]RecallFigures `json:"heldout_asked"`
}

// RecallFigures are the mean shares of a question's evidence in the first 5, 10 and 20 memories.
type RecallFigures struct {
	Questions int     `json:"questions"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	Recall20  float64 `json:"recall@20"`
}

// Prior trains the prior of the ranker: the weights of each regime. The embedded policy forms memories of made-up
// friends' conversations, of dialogues with an assistant, and of noted talks of many kinds, behind the trained filter.
// The learned weights put memories first that answer a question or that a request must respect. The same options give
// the same prior. Options out of range are terminal errors.
func Prior(ctx context.Context, o PriorOptions) (ranking.Prior, PriorReport, error) {
	report := PriorReport{Seed: o.Seed, Conversations: o.Conversations, HeldoutAsked: map[string]RecallFigures{}}
	switch {
	case o.Conversations < 1 || o.Conversations > maxConversations:
		return ranking.Prior{}, report, fault.Terminal("conversations", "is %d, want 1 to %d", o.Conversations,
			maxConversations)
	case o.Users < 0 || o.Users > maxConversations:
		return ranking.Prior{}, report, fault.Terminal("users", "is %d, want 0 to %d", o.Users, maxConversations)
	case o.Askers < 0 || o.Askers > maxConversations:
		return ranking.Prior{}, report, fault.Terminal("askers", "is %d, want 0 to %d", o.Askers, maxConversations)
	}
	data, err := o.learned(ctx)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	report.Questions, report.Requests = answered(data.conversations), answered(data.dialogues)
	report.Asked = answered(data.talks)
	weights, err := data.fit(ctx, o.Training)
	if err != nil {
		return ranking.Prior{}, report, err
	}
	if err := report.measure(ctx, o, data, weights); err != nil {
		return ranking.Prior{}, report, err
	}
	return ranking.Prior{Names: features.Names(), Weights: weights}, report, nil
}

// measure fills in the results on held-out data.
func (r *PriorReport) measure(ctx context.Context, o PriorOptions, d data, w ranking.Weights) error {
	g, err := questions.New(questions.Options{
		Seed: o.Seed + heldOutSeed, Conversations: (o.Conversations + 3) / 4, Split: synthesis.SplitHeldout, Rates: o.Rates,
	})
	if err != nil {
		return err
	}
	held, err := recalledOf(ctx, g.Subjects("training"), nil, nil)
	if err != nil {
		return err
	}
	if r.Heldout, err = recallOf(held, w); err != nil {
		return err
	}
	users, err := requesters(corpus.Heldout)
	if err != nil {
		return err
	}
	if held, err = recalledOf(ctx, users[:min(len(users), (o.Users+3)/4)], nil, nil); err != nil {
		return err
	}
	if r.HeldoutRequests, err = recallOf(held, w); err != nil {
		return err
	}
	return r.measureTalks(ctx, o, d)
}

// measureTalks measures noted talks by weights that learned without their writers.
func (r *PriorReport) measureTalks(ctx context.Context, o PriorOptions, d data) error {
	talks, err := corpus.NotedTalks(corpus.Heldout)
	if err != nil {
		return err
	}
	writers := map[string]bool{}
	for _, t := range talks {
		writers[t.Batch] = true
	}
	without := d
	without.talks = slices.DeleteFunc(slices.Clone(d.talks), func(l recalled) bool { return writers[l.batch] })
	if len(without.talks) == len(d.talks) {
		return nil
	}
	w, err := without.fit(ctx, o.Training)
	if err != nil {
		return err
	}
	for batch := range writers {
		var held []recalled
		for _, l := range d.talks {
			if l.batch == batch {
				held = append(held, l)
			}
		}
		if len(held) == 0 {
			continue
		}
		if r.HeldoutAsked[batch], err = recallOf(held, w); err != nil {
			return err
		}
	}
	return nil
}

// recallOf measures weights on the questions that kept all candidates.
func recallOf(held []recalled, w ranking.Weights) (RecallFigures, error) {
	var out RecallFigures
	for _, h := range held {
		if h.whole == nil {
			continue
		}
		at, err := h.whole.RecallAt(w, 5, 10, 20)
		if err != nil {
			return out, err
		}
		out.Questions++
		out.Recall5, out.Recall10, out.Recall20 = out.Recall5+at[0], out.Recall10+at[1], out.Recall20+at[2]
	}
	n := float64(max(1, out.Questions))
	out.Recall5, out.Recall10, out.Recall20 = out.Recall5/n, out.Recall10/n, out.Recall20/n
	return out, nil
}

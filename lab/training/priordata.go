package training

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// recalled is a question with its candidates as a regime would have their features, and only those that matter.
type recalled struct {
	regime features.Regime
	// as has the features by regime, without the features of other regimes. cosine and relevant are in the order of
	// the rows.
	as       map[features.Regime][][]float32
	cosine   []float32
	relevant []bool
	// isElsewhere marks a question whose answer is in another user's memory.
	isElsewhere bool
	// batch is the writer of a noted talk, grouping the place of the grouping.
	batch    string
	grouping int
	// whole has the numbers of recall, for held-out questions.
	whole *rehearsal.Rehearsed
}

// data are the questions of a training.
type data struct{ conversations, talks, dialogues []recalled }

// answered counts the questions with at least one memory of the evidence, each question once.
func answered(all []recalled) int {
	n := 0
	for _, l := range all {
		if l.grouping == 0 && slices.Contains(l.relevant, true) {
			n++
		}
	}
	return n
}

// learned forms the training data and retrieves the candidates of all questions.
func (o PriorOptions) learned(ctx context.Context) (data, error) {
	g, err := questions.New(questions.Options{
		Seed: o.Seed, Conversations: o.Conversations, Split: synthesis.SplitTrain, Rates: o.Rates,
	})
	if err != nil {
		return data{}, err
	}
	var d data
	if d.conversations, err = recalledOf(ctx, g.Subjects("training"), nil, nil); err != nil {
		return data{}, err
	}
	talks, err := askers()
	if err != nil {
		return data{}, err
	}
	if d.talks, err = recalledOf(ctx, talks[:min(len(talks), o.Askers)], groupings(), nil); err != nil || o.Users == 0 {
		return d, err
	}
	users, err := requesters(corpus.Train)
	if err != nil {
		return data{}, err
	}
	models, err := leaveOneOut(standingDefaults)
	if err != nil {
		return data{}, err
	}
	d.dialogues, err = recalledOf(ctx, users[:min(len(users), o.Users)], nil, models)
	return d, err
}

// elsewhere marks a question about another user's memory.
const elsewhere = "elsewhere"

// mostElsewhere is the number of questions that a user gets from another user.
const mostElsewhere = 30

// recalledOf forms subjects and returns their questions, in order, for each grouping. The models score
// standing facts again. Each user also gets questions about the next one.
func recalledOf(
	ctx context.Context, subjects []dataset.Subject, groupings []rehearsal.Grouping, models writers,
) ([]recalled, error) {
	if len(groupings) == 0 {
		groupings = []rehearsal.Grouping{nil}
	}
	asked := slices.Clone(subjects)
	for i := range asked {
		asked[i].Questions = append(slices.Clone(asked[i].Questions), foreign(subjects[i], subjects[(i+1)%len(subjects)])...)
	}
	unweighted := make([]float32, len(features.Names()))
	all, err := rehearsal.RehearseGrouped(ctx, builtin.New(), asked, groupings, unweighted, 0,
		func(s dataset.Subject, r rehearsal.Rehearsed) (recalled, error) {
			models.score(r)
			batch, _, _ := strings.Cut(s.Scope.User, "-")
			l := recalled{isElsewhere: r.Question.Category == elsewhere, batch: batch}
			l.learn(r)
			return l, nil
		})
	if err != nil {
		return nil, err
	}
	var out []recalled
	for i, of := range all {
		n := len(of) / len(groupings)
		for k := range of {
			of[k].grouping = k / max(n, 1)
			if of[k].grouping > 0 {
				of[k].whole = nil
			}
		}
		all[i] = nil
		out = append(out, of...)
	}
	return out, nil
}

// foreign returns questions about another user's memory, with the names of this user's people.
func foreign(s, other dataset.Subject) []dataset.Question {
	if s.Scope == other.Scope {
		return nil
	}
	own, theirs := speakersIn(s), speakersIn(other)
	var rename []string
	for i := range min(len(own), len(theirs)) {
		rename = append(rename, theirs[i], own[i])
	}
	names := strings.NewReplacer(rename...)
	var out []dataset.Question
	step := max(1, len(other.Questions)/mostElsewhere)
	for i := 0; i < len(other.Questions) && len(out) < mostElsewhere; i += step {
		q := other.Questions[i]
		if q.Unanswerable {
			continue
		}
		out = append(out, dataset.Question{
			Text: names.Replace(q.Text), AskedAt: q.AskedAt, Category: elsewhere, Evidence: []string{elsewhere},
		})
	}
	return out
}

// speakersIn returns the names of a subject's speakers.
func speakersIn(s dataset.Subject) []string {
	var out []string
	for _, one := range s.Sessions {
		for _, t := range one.Turns {
			if t.Role == memory.RoleUser && t.Speaker != "" && !slices.Contains(out, t.Speaker) {
				out = append(out, t.Speaker)
			}
		}
	}
	return out
}

// Numbers of candidates that a question keeps beside the relevant ones: the most alike, and some others.
const (
	mostAlike = 40
	mostOther = 20
)

// learn takes the rows of a question that matter.
func (l *recalled) learn(r rehearsal.Rehearsed) {
	if len(r.Candidates) == 0 {
		return
	}
	l.regime = r.Candidates[0].Regime
	if !l.isElsewhere {
		l.whole = &rehearsal.Rehearsed{Question: r.Question, Example: r.Example, Groups: r.Groups, Covers: r.Covers}
	}
	regimes := []features.Regime{l.regime}
	if l.regime == features.Questions {
		regimes = features.Regimes()
	}
	l.as = map[features.Regime][][]float32{}
	for _, i := range sampled(r) {
		l.cosine, l.relevant = append(l.cosine, r.Example.Cosine[i]), append(l.relevant, r.Example.Relevant[i])
		for _, as := range regimes {
			row := r.Example.Features[i]
			if as != l.regime {
				row = r.Candidates[i].FeaturesAs(as)
			}
			first, end := as.Span()
			l.as[as] = append(l.as[as], slices.Clone(row[first:end]))
		}
	}
}

// sampled returns the relevant candidates, those that are most alike to the query, and some others, in order.
func sampled(r rehearsal.Rehearsed) []int {
	var rest, out []int
	for i, relevant := range r.Example.Relevant {
		if relevant {
			out = append(out, i)
		} else {
			rest = append(rest, i)
		}
	}
	slices.SortStableFunc(rest, func(a, b int) int {
		return cmp.Compare(r.Candidates[b].Likeness(), r.Candidates[a].Likeness())
	})
	near := min(len(rest), mostAlike)
	out = append(out, rest[:near]...)
	rest = rest[near:]
	for k := range min(len(rest), mostOther) {
		out = append(out, rest[k*len(rest)/min(len(rest), mostOther)])
	}
	slices.Sort(out)
	return out
}

// example is the question as a regime sees it.
func (l recalled) example(as features.Regime, weight float64) supervised.Example {
	return supervised.Example{Features: l.as[as], Cosine: l.cosine, Relevant: l.relevant, Weight: weight}
}

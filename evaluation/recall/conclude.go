package recall

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/evaluation/baseline"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Names of the baselines without a search.
const (
	BaselineRetrieval = "without the reranker"
	BaselineNewest    = "whole history, newest first"
)

// clusterFrom is the number of conversations from which intervals draw conversations instead of questions. Questions
// of one conversation resemble each other. A smaller number of conversations gives too few different samples.
const clusterFrom = 5

// clustered reports whether intervals draw conversations, not questions.
func (r *run) clustered() bool { return len(r.subjects) >= clusterFrom }

// conclude computes all figures from the results.
func (r *run) conclude() {
	cluster := r.clustered()
	r.report.Resampled = "questions"
	if cluster {
		r.report.Resampled = "conversations"
	}
	samples := make([]sample, len(r.asked))
	for i, a := range r.asked {
		samples[i] = a.sample()
	}
	r.report.Figures = figures(samples, cluster)
	r.report.Figures.Latency = latency(r.timed)
	for _, category := range r.categories() {
		of := slices.DeleteFunc(slices.Clone(samples), func(s sample) bool { return s.category != category })
		f := figures(of, cluster)
		f.Latency = latency(slices.DeleteFunc(slices.Clone(r.timed), func(t timing) bool { return t.category != category }))
		r.report.Categories[category] = f
	}
	baselines := map[string]func(*asked) sample{
		BaselineRetrieval: func(a *asked) sample { return a.order(a.unranked) },
		BaselineNewest:    (*asked).newestSample,
	}
	for name := range r.subjects[0].searches {
		baselines[name] = func(a *asked) sample { return a.searchSample(a.of.searches[name]) }
	}
	for name, of := range baselines {
		var all []sample
		for _, a := range r.asked {
			all = append(all, of(a))
		}
		r.report.Baselines[name] = figures(all, cluster)
	}
	r.count()
}

func (r *run) categories() []string {
	var out []string
	for _, a := range r.asked {
		if !slices.Contains(out, a.question.Category) {
			out = append(out, a.question.Category)
		}
	}
	return out
}

func (r *run) count() {
	c := &r.report.Counts
	c.Degraded = r.degraded
	words := 0
	for _, s := range r.subjects {
		n := 0
		for _, m := range s.entries {
			if m.Status == memory.StatusActive {
				n++
			}
		}
		c.MemoriesPerUser[s.Scope.User] = n
		c.Memories += n
		for _, t := range s.turns {
			words += len(strings.Fields(spoken(t)))
		}
	}
	r.report.HistoryWords = score.Share(words, len(r.subjects))
}

func (a *asked) blank() sample {
	return sample{user: a.of.Scope.User, category: a.question.Category, values: map[string]float64{}}
}

// sample measures the service on a question.
func (a *asked) sample() sample {
	s, q := a.profileSample(a.shown), a.question
	if q.HasEvidence() {
		lost := CascadeOf(a.why.GetFindings())
		for _, stage := range CascadeStages() {
			s.values[figureCascade+stage] = lost[stage]
		}
	}
	if q.Unanswerable {
		s.values[figureAbstention] = truth(a.why.GetAnswer().GetAbstained())
	} else {
		s.values[figureFalse] = truth(a.why.GetAnswer().GetAbstained())
	}
	for name, v := range a.marks {
		s.values[figureAnswers+name] = v
	}
	return s
}

// profileSample measures one result for a question.
func (a *asked) profileSample(of shown) sample {
	s := a.blank()
	s.record(a.question, func(k int) []score.Shown { return top(shownOf(of.best[k]), k) }, a.of.session)
	if a.question.HasEvidence() {
		s.values[figureSearched] = truth(of.searched)
		s.values[figureProfile] = score.Coverage(a.question.Evidence, shownOf(of.profile))
		for words, cited := range of.byWords {
			s.values[figureWords+strconv.Itoa(words)] = score.Coverage(a.question.Evidence, shownOf(cited))
		}
	}
	return s
}

// takeFirst returns a function that takes the first k of an order.
func takeFirst(of []score.Shown) func(k int) []score.Shown {
	return func(k int) []score.Shown { return top(of, k) }
}

// order measures only the order of a question's memories.
func (a *asked) order(ranked []*mnemev1.CitedMemory) sample {
	s := a.blank()
	s.record(a.question, takeFirst(shownOf(ranked)), a.of.session)
	return s
}

// searchSample measures a baseline search. It skips questions without an answer in the conversations.
func (a *asked) searchSample(search *baseline.Search) sample {
	s := a.blank()
	if !a.question.Unanswerable {
		found := a.known(search.Find(a.question.Text))
		s.record(a.question, takeFirst(found), a.of.session)
		s.putWords(a.question, func(words int) []score.Shown { return withinBudget(found, words) })
	}
	return s
}

// known drops the results from after the question's time. Mneme has the same limit.
func (a *asked) known(found []score.Shown) []score.Shown {
	at := a.asOf()
	if at.IsZero() {
		return found
	}
	later := map[string]bool{}
	for _, t := range a.of.turns {
		later[t.ID] = t.Time.After(at)
	}
	return slices.DeleteFunc(slices.Clone(found), func(s score.Shown) bool {
		return slices.ContainsFunc(s.Sources, func(id string) bool { return later[id] })
	})
}

// newestSample measures the history, newest turn first.
func (a *asked) newestSample() sample {
	s := a.blank()
	all := a.known(history(a.of.turns))
	s.record(a.question, takeFirst(all), a.of.session)
	s.putWords(a.question, func(words int) []score.Shown { return until(all, words) })
	return s
}

func (s sample) putWords(q dataset.Question, shown func(words int) []score.Shown) {
	if !q.HasEvidence() {
		return
	}
	for _, words := range wordBudgets() {
		s.values[figureWords+strconv.Itoa(words)] = score.Coverage(q.Evidence, shown(words))
	}
}

// shownOf converts cited memories to results.
func shownOf(cited []*mnemev1.CitedMemory) []score.Shown {
	out := make([]score.Shown, len(cited))
	for i, c := range cited {
		m := c.GetMemory()
		out[i] = score.Shown{Sources: m.GetSourceTurnIds(), Text: m.GetContent() + "\n" + m.GetValue()}
	}
	return out
}

// latency is nil without timings.
func latency(timed []timing) *Latency {
	if len(timed) == 0 {
		return nil
	}
	var ours, bare []float64
	for _, t := range timed {
		ours = append(ours, t.ours)
		if t.bare > 0 {
			bare = append(bare, t.bare)
		}
	}
	out := &Latency{Percentiles: score.PercentilesOf(ours)}
	if len(bare) > 0 {
		b := score.PercentilesOf(bare)
		out.Bare, out.RatioP50, out.RatioP99 = &b, out.P50/b.P50, out.P99/b.P99
	}
	return out
}

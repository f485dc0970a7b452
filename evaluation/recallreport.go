package evaluation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// What is measured by how much was shown. The deepest rank, the most memories that a recall shows, and a budget that has room for
// all of them are the service's bounds.
const (
	mostShown  = 100
	wideBudget = 10_000
	// containedAt is how many memories an answer is looked for in.
	containedAt = 10
)

func ranks() []int       { return []int{5, 10, 20} }
func wordBudgets() []int { return []int{500, 1000, 2000} }

// Figures are what was measured of some questions, as means over questions: shares of 0 to 1.
type Figures struct {
	// Questions is how many there are, WithEvidence how many can be answered and have evidence turns: those that recall and cascade are
	// measured on. ShortAnswers were looked for in the text, Unanswerable are those to abstain on.
	Questions    int `json:"questions"`
	WithEvidence int `json:"questions_with_evidence"`
	ShortAnswers int `json:"questions_with_short_answer"`
	Unanswerable int `json:"questions_unanswerable"`
	// RecallAt is, by how many memories are shown, the share of a question's evidence turns that they rest on; RecallAtWords by how
	// many words the profile may have.
	RecallAt      map[string]float64 `json:"recall_at"`
	RecallAtWords map[string]float64 `json:"recall_at_words"`
	// SessionsAt is the same of evidence sessions, for files that name them; nil where none was named.
	SessionsAt map[string]float64 `json:"recall_sessions_at,omitempty"`
	// Containment is the share of short answers that the first ten memories say.
	Containment float64 `json:"containment_at_10"`
	// Abstention is the share of unanswerable questions that were not answered, FalseAbstention of the others.
	Abstention      float64 `json:"abstention"`
	FalseAbstention float64 `json:"false_abstention"`
	// Cascade says where evidence was lost first.
	Cascade Cascade `json:"cascade,omitempty"`
	Errors
	// Answers compares answers, where that was asked for: f1, bleu_1, judge, and the same of a full context.
	Answers map[string]float64 `json:"answers,omitempty"`
	// Latency is of recalls by default, as a client sees it.
	Latency *Latency `json:"latency_ms,omitempty"`
	// Intervals are 95 % confidence intervals, by the name of the figure ("recall_at.10").
	Intervals map[string]Interval `json:"intervals,omitempty"`
}

// Latency is of recalls and, side by side, of bare queries.
type Latency struct {
	Percentiles
	// Floor is of the bare hybrid query; nil where the bank's server was not known. Ratios are of recall to it.
	Floor    *Percentiles `json:"floor,omitempty"`
	RatioP50 float64      `json:"ratio_p50,omitempty"`
	RatioP99 float64      `json:"ratio_p99,omitempty"`
}

// RecallCounts are how much was measured on.
type RecallCounts struct {
	Users     int `json:"users"`
	Sessions  int `json:"sessions"`
	Turns     int `json:"turns"`
	Questions int `json:"questions"`
	// Refused events broke the contract and were not taken.
	Refused int `json:"refused_events"`
	// Memories are active entries, MemoriesPerUser by user.
	Memories        int            `json:"memories"`
	MemoriesPerUser map[string]int `json:"memories_per_user"`
	// Degraded counts recalls that did without a part of the service, by what was missing: figures of them are not those of the whole.
	Degraded map[string]int `json:"degraded_recalls"`
}

// RecallReport is the whole of an evaluation. Its top is over all questions.
type RecallReport struct {
	File string `json:"file"`
	// Path says how memories were formed: through the services, or otherwise.
	Path string `json:"path"`
	// Candidates were fetched where order is measured, Memories shown where the cascade and answers are.
	Candidates int `json:"candidates"`
	Memories   int `json:"memories"`
	Figures
	Categories map[string]Figures `json:"category"`
	Baselines  map[string]Figures `json:"baselines"`
	// Learned is recall after learning; nil where that was not asked for.
	Learned *FoldReport `json:"learned,omitempty"`
	// Resampled says what the intervals are drawn over: conversations or questions.
	Resampled string       `json:"intervals_resample"`
	Counts    RecallCounts `json:"counts"`
	// Repairs counts what was wrong with the file, by what was done about it.
	Repairs map[string]int `json:"repairs"`
	// Formation is how long a session took from its last event to being formed, in milliseconds.
	Formation Percentiles `json:"formation_ms"`
	// HistoryWords are, per user on average, the words of all that was said.
	HistoryWords float64 `json:"history_words_per_user"`
}

func newRecallReport(o RecallOptions, subjects []Subject, repairs Repairs) RecallReport {
	r := RecallReport{
		File: o.Path, Path: servicePath, Candidates: o.Candidates, Memories: o.Memories, Repairs: repairs.counts(),
		Categories: map[string]Figures{}, Baselines: map[string]Figures{},
	}
	if o.Observed != nil {
		r.Path = observedPath
	}
	r.Counts.MemoriesPerUser = map[string]int{}
	r.Counts.Users = len(subjects)
	for _, s := range subjects {
		r.Counts.Sessions += len(s.Sessions)
		r.Counts.Questions += len(s.Questions)
		for _, one := range s.Sessions {
			r.Counts.Turns += len(one.Turns)
		}
	}
	return r
}

func (r Repairs) counts() map[string]int {
	return map[string]int{
		"mended": r.Mended, "dropped": r.Dropped, "unanswerable": r.Unanswerable, "renamed_sessions": r.Renamed,
		"empty_turns": r.Empty, "late_sessions": r.Late, "unasked_questions": r.Unasked,
	}
}

// servicePath says that nothing was left out on the way.
const servicePath = "services: Kafka, filter, booster, Temporal, Weaviate, utilizer over HTTP"

// sample is a question's figures by name; a name that is missing was not measured on it.
type sample struct {
	user, category string
	values         map[string]float64
}

// Names of figures; a rank, a budget or a stage follows the point.
const (
	figureRecall      = "recall_at."
	figureSessions    = "recall_sessions_at."
	figureWords       = "recall_at_words."
	figureContainment = "containment_at_10"
	figureAbstention  = "abstention"
	figureFalse       = "false_abstention"
	figureCascade     = "cascade."
	figureAnswers     = "answers."
)

// put measures what was shown for a question; session tells whose turn it is.
func (s sample) put(q Question, shown []Shown, session map[string]string) {
	if measured(q) {
		for _, k := range ranks() {
			s.values[figureRecall+strconv.Itoa(k)] = Coverage(q.Evidence, top(shown, k))
		}
	}
	if !q.Unanswerable && len(q.EvidenceSessions) > 0 {
		for _, k := range ranks() {
			s.values[figureSessions+strconv.Itoa(k)] = Coverage(q.EvidenceSessions, bySession(top(shown, k), session))
		}
	}
	if short(q) {
		s.values[figureContainment] = truth(Tells(top(shown, containedAt), q.Answer))
	}
}

// bySession has sessions in the place of turns.
func bySession(shown []Shown, session map[string]string) []Shown {
	out := make([]Shown, len(shown))
	for i, s := range shown {
		for _, turn := range s.Sources {
			out[i].Sources = append(out[i].Sources, session[turn])
		}
	}
	return out
}

// measured reports whether recall is measured on a question.
func measured(q Question) bool { return !q.Unanswerable && len(q.Evidence) > 0 }

// short reports whether a question's answer is looked for in the text.
func short(q Question) bool { return measured(q) && IsShort(q) }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// figures are the means of samples.
func figures(samples []sample, cluster bool) Figures {
	units := unitsOf(samples, cluster)
	f := Figures{Questions: len(samples), RecallAt: map[string]float64{}, RecallAtWords: map[string]float64{}, Intervals: map[string]Interval{}}
	of := func(name string) float64 {
		if u := units[name]; len(u) > 0 {
			f.Intervals[name] = Bootstrap(u)
			return mean(u)
		}
		return 0
	}
	for _, k := range ranks() {
		f.RecallAt[strconv.Itoa(k)] = of(figureRecall + strconv.Itoa(k))
	}
	if len(units[figureSessions+"10"]) > 0 {
		f.SessionsAt = map[string]float64{}
		for _, k := range ranks() {
			f.SessionsAt[strconv.Itoa(k)] = of(figureSessions + strconv.Itoa(k))
		}
	}
	for _, n := range wordBudgets() {
		f.RecallAtWords[strconv.Itoa(n)] = of(figureWords + strconv.Itoa(n))
	}
	f.Containment, f.Abstention, f.FalseAbstention = of(figureContainment), of(figureAbstention), of(figureFalse)
	f.WithEvidence, f.ShortAnswers, f.Unanswerable = counted(units, figureRecall+"10"), counted(units, figureContainment), counted(units, figureAbstention)
	for _, stage := range CascadeStages() {
		if u := units[figureCascade+stage]; len(u) > 0 {
			if f.Cascade == nil {
				f.Cascade = Cascade{}
			}
			f.Cascade[stage] = mean(u)
		}
	}
	f.Errors = f.Cascade.Errors()
	for _, name := range slices.Sorted(maps.Keys(units)) {
		if len(name) > len(figureAnswers) && name[:len(figureAnswers)] == figureAnswers {
			if f.Answers == nil {
				f.Answers = map[string]float64{}
			}
			f.Answers[name[len(figureAnswers):]] = of(name)
		}
	}
	return f
}

func counted(units map[string][]Unit, name string) int {
	n := 0
	for _, u := range units[name] {
		n += u.N
	}
	return n
}

// unitsOf are, by the name of the figure, the units to draw: a user's questions together, or each alone.
func unitsOf(samples []sample, cluster bool) map[string][]Unit {
	sums := map[string]map[string]Unit{}
	for i, s := range samples {
		key := s.user
		if !cluster {
			key = fmt.Sprintf("%09d", i)
		}
		for name, v := range s.values {
			if sums[name] == nil {
				sums[name] = map[string]Unit{}
			}
			u := sums[name][key]
			sums[name][key] = Unit{u.Sum + v, u.N + 1}
		}
	}
	out := map[string][]Unit{}
	for name, by := range sums {
		for _, key := range slices.Sorted(maps.Keys(by)) {
			out[name] = append(out[name], by[key])
		}
	}
	return out
}

package recall

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
)

// What is measured by how much was shown. The deepest rank, the most memories that a recall shows, and a budget that has room for
// all of them are the service's bounds.
const (
	mostShown  = 100
	wideBudget = 10_000
	// judgedWords is the budget that summaries have, and variants are measured with.
	judgedWords = 1000
	// containedAt is how many memories an answer is looked for in.
	containedAt = 10
)

func ranks() []int       { return []int{5, 10, 20} }
func deepest() int       { return ranks()[len(ranks())-1] }
func wordBudgets() []int { return []int{500, judgedWords, 2000} }

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
	// Profile is the same of profiles as answers are made from: of Memories memories, with what has places of its own in them.
	Profile float64 `json:"recall_in_profile"`
	// SessionsAt is the same of evidence sessions, for files that name them; nil where none was named.
	SessionsAt map[string]float64 `json:"recall_sessions_at,omitempty"`
	// Containment is the share of short answers that the first ten memories say.
	Containment float64 `json:"containment_at_10"`
	// Abstention is the share of unanswerable questions that were not answered, FalseAbstention of the others.
	Abstention      float64 `json:"abstention"`
	FalseAbstention float64 `json:"false_abstention"`
	// Searched is the share of questions with evidence whose candidates the bank's search chose: the user's index was not ready.
	Searched float64 `json:"searched"`
	// Cascade says where evidence was lost first.
	Cascade Cascade `json:"cascade,omitempty"`
	Errors
	// Answers compares answers, where that was asked for: f1, bleu_1, judge, and the same of a full context.
	Answers map[string]float64 `json:"answers,omitempty"`
	// Latency is of recalls by default, as a client sees it.
	Latency *Latency `json:"latency_ms,omitempty"`
	// Intervals are 95 % confidence intervals, by the name of the figure ("recall_at.10").
	Intervals map[string]score.Interval `json:"intervals,omitempty"`
}

// Latency is of recalls and, side by side, of bare queries.
type Latency struct {
	score.Percentiles
	// Bare is of the bare hybrid query; nil where the bank's server was not known. Ratios are of recall to it.
	Bare     *score.Percentiles `json:"bare_query,omitempty"`
	RatioP50 float64            `json:"ratio_p50,omitempty"`
	RatioP99 float64            `json:"ratio_p99,omitempty"`
}

// Counts are how much was measured on.
type Counts struct {
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

// Report is the whole of an evaluation. Its top is over all questions.
type Report struct {
	File string `json:"file"`
	// Path says how memories were formed: through the services, or otherwise.
	Path string `json:"path"`
	// Candidates were fetched where order is measured, Memories shown where the cascade and answers are.
	Candidates int `json:"candidates"`
	Memories   int `json:"memories"`
	Figures
	Categories map[string]Figures `json:"category"`
	Baselines  map[string]Figures `json:"baselines"`
	// Variants are of the same Mneme with something left out, Sweep is recall by how many candidates there are.
	Variants []VariantFigures `json:"variants,omitempty"`
	Sweep    []Swept          `json:"sweep,omitempty"`
	// Learned is recall after learning; nil where that was not asked for.
	Learned *FoldReport `json:"learned,omitempty"`
	// Resampled says what the intervals are drawn over: conversations or questions.
	Resampled string `json:"intervals_resample"`
	Counts    Counts `json:"counts"`
	// Repairs counts what was wrong with the file, by what was done about it.
	Repairs dataset.Repairs `json:"repairs"`
	// Formation is how long a session took from its last event to being formed, in milliseconds.
	Formation score.Percentiles `json:"formation_ms"`
	// HistoryWords are, per user on average, the words of all that was said.
	HistoryWords float64 `json:"history_words_per_user"`
}

func newReport(o Options, subjects []dataset.Subject, repairs dataset.Repairs) Report {
	r := Report{
		File: o.Path, Path: servicePath, Candidates: o.Candidates, Memories: o.Memories, Repairs: repairs,
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
		r.Counts.Turns += len(s.TurnIDs())
	}
	return r
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
	figureProfile     = "recall_in_profile"
	figureSearched    = "searched"
	figureCascade     = "cascade."
	figureAnswers     = "answers."
)

// put measures what was shown for a question; session tells whose turn it is.
func (s sample) put(q dataset.Question, best func(k int) []score.Shown, session map[string]string) {
	if q.HasEvidence() {
		for _, k := range ranks() {
			s.values[figureRecall+strconv.Itoa(k)] = score.Coverage(q.Evidence, best(k))
		}
	}
	if !q.Unanswerable && len(q.EvidenceSessions) > 0 {
		for _, k := range ranks() {
			s.values[figureSessions+strconv.Itoa(k)] = score.Coverage(q.EvidenceSessions, bySession(best(k), session))
		}
	}
	if q.IsShort() {
		s.values[figureContainment] = truth(score.Contains(best(containedAt), q.Answer))
	}
}

// bySession has sessions in the place of turns.
func bySession(shown []score.Shown, session map[string]string) []score.Shown {
	out := make([]score.Shown, len(shown))
	for i, s := range shown {
		for _, turn := range s.Sources {
			out[i].Sources = append(out[i].Sources, session[turn])
		}
	}
	return out
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// figures are the means of samples.
func figures(samples []sample, cluster bool) Figures {
	units := unitsOf(samples, cluster)
	f := Figures{
		Questions: len(
			samples,
		), RecallAt: map[string]float64{}, RecallAtWords: map[string]float64{}, Intervals: map[string]score.Interval{},
	}
	of := func(name string) float64 {
		if u := units[name]; len(u) > 0 {
			f.Intervals[name] = score.Bootstrap(u)
			return score.Mean(u)
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
		if at := strconv.Itoa(n); len(units[figureWords+at]) > 0 {
			f.RecallAtWords[at] = of(figureWords + at)
		}
	}
	f.Containment, f.Abstention, f.FalseAbstention = of(figureContainment), of(figureAbstention), of(figureFalse)
	f.Profile, f.Searched = of(figureProfile), of(figureSearched)
	f.WithEvidence, f.ShortAnswers = counted(units, figureRecall+"10"), counted(units, figureContainment)
	f.Unanswerable = counted(units, figureAbstention)
	for _, stage := range CascadeStages() {
		if u := units[figureCascade+stage]; len(u) > 0 {
			if f.Cascade == nil {
				f.Cascade = Cascade{}
			}
			f.Cascade[stage] = score.Mean(u)
		}
	}
	f.Errors = f.Cascade.Errors()
	for _, name := range slices.Sorted(maps.Keys(units)) {
		if mark, ok := strings.CutPrefix(name, figureAnswers); ok {
			if f.Answers == nil {
				f.Answers = map[string]float64{}
			}
			f.Answers[mark] = of(name)
		}
	}
	return f
}

func counted(units map[string][]score.Unit, name string) int {
	n := 0
	for _, u := range units[name] {
		n += u.N
	}
	return n
}

// unitsOf are, by the name of the figure, the units to draw: a user's questions together, or each alone.
func unitsOf(samples []sample, cluster bool) map[string][]score.Unit {
	sums := map[string]map[string]score.Unit{}
	for i, s := range samples {
		key := s.user
		if !cluster {
			key = fmt.Sprintf("%09d", i)
		}
		for name, v := range s.values {
			if sums[name] == nil {
				sums[name] = map[string]score.Unit{}
			}
			u := sums[name][key]
			sums[name][key] = score.Unit{Sum: u.Sum + v, N: u.N + 1}
		}
	}
	out := map[string][]score.Unit{}
	for name, by := range sums {
		for _, key := range slices.Sorted(maps.Keys(by)) {
			out[name] = append(out[name], by[key])
		}
	}
	return out
}

// top is the first k of what was shown.
func top(shown []score.Shown, k int) []score.Shown { return shown[:min(k, len(shown))] }

// within are the things that fit into so many words, the first ones first; one that does not fit is passed over for shorter ones.
func within(shown []score.Shown, words int) []score.Shown {
	var out []score.Shown
	for _, s := range shown {
		if n := len(strings.Fields(s.Text)); n <= words {
			words -= n
			out = append(out, s)
		}
	}
	return out
}

// until are the things before the first that no longer fits into so many words.
func until(shown []score.Shown, words int) []score.Shown {
	for i, s := range shown {
		if words -= len(strings.Fields(s.Text)); words < 0 {
			return shown[:i]
		}
	}
	return shown
}

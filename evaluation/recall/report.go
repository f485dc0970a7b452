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

// Sizes of results to measure. The service's limits are the deepest rank, the most memories of a recall, and a budget
// with room for all of them.
const (
	mostShown  = 100
	wideBudget = 10_000
	// judgedWords is the word budget of summaries and of variants.
	judgedWords = 1000
	// containedAt is the number of memories to search for an answer.
	containedAt = 10
)

func ranks() []int       { return []int{5, 10, 20} }
func deepest() int       { return ranks()[len(ranks())-1] }
func wordBudgets() []int { return []int{500, judgedWords, 2000} }

// Figures are means over questions. Shares are 0 to 1.
type Figures struct {
	// Questions is the number of questions. WithEvidence counts the answerable questions with evidence turns, which
	// recall and cascade use. ShortAnswers counts the answers searched for in texts. Unanswerable counts the
	// questions that require an abstention.
	Questions    int `json:"questions"`
	WithEvidence int `json:"questions_with_evidence"`
	ShortAnswers int `json:"questions_with_short_answer"`
	Unanswerable int `json:"questions_unanswerable"`
	// RecallAt is the share of a question's evidence turns behind the returned memories, by the number of memories.
	// RecallAtWords is the same share by the word budget of the profile.
	RecallAt      map[string]float64 `json:"recall_at"`
	RecallAtWords map[string]float64 `json:"recall_at_words"`
	// Profile is the same share for profiles as used for answers: Memories memories, plus the parts with reserved
	// places.
	Profile float64 `json:"recall_in_profile"`
	// SessionsAt is the same share for evidence sessions, if the file names them; nil otherwise.
	SessionsAt map[string]float64 `json:"recall_sessions_at,omitempty"`
	// Containment is the share of short answers in the text of the first ten memories.
	Containment float64 `json:"containment_at_10"`
	// Abstention is the share of unanswerable questions with an abstention. FalseAbstention is the share of the other
	// questions with one.
	Abstention      float64 `json:"abstention"`
	FalseAbstention float64 `json:"false_abstention"`
	// Searched is the share of questions with evidence for which the bank's search chose the candidates. The user's
	// index was then not ready.
	Searched float64 `json:"searched"`
	// Cascade says where evidence was lost first.
	Cascade Cascade `json:"cascade,omitempty"`
	Errors
	// Answers compares answers, if configured: f1, bleu_1, judge, and the same measures of a full context.
	Answers map[string]float64 `json:"answers,omitempty"`
	// Latency is the client's latency of default recalls.
	Latency *Latency `json:"latency_ms,omitempty"`
	// Intervals are 95 % confidence intervals by the name of the figure ("recall_at.10").
	Intervals map[string]score.Interval `json:"intervals,omitempty"`
}

// Latency compares recalls with bare queries.
type Latency struct {
	score.Percentiles
	// Bare is the latency of the bare hybrid query; nil if the bank's server is unknown. Ratios are recall latency
	// divided by bare latency.
	Bare     *score.Percentiles `json:"bare_query,omitempty"`
	RatioP50 float64            `json:"ratio_p50,omitempty"`
	RatioP99 float64            `json:"ratio_p99,omitempty"`
}

// Counts are the sizes of the measurement.
type Counts struct {
	Users     int `json:"users"`
	Sessions  int `json:"sessions"`
	Turns     int `json:"turns"`
	Questions int `json:"questions"`
	// Refused counts events that break the contract.
	Refused int `json:"refused_events"`
	// Memories counts active entries. MemoriesPerUser is their mean per user.
	Memories        int            `json:"memories"`
	MemoriesPerUser map[string]int `json:"memories_per_user"`
	// Degraded counts recalls without a part of the service, by the missing part. Their figures do not describe the
	// whole service.
	Degraded map[string]int `json:"degraded_recalls"`
}

// Report is the result of an evaluation. Its top level covers all questions.
type Report struct {
	File string `json:"file"`
	// Path names the way of formation: the services, or another one.
	Path string `json:"path"`
	// Candidates is the number of candidates for the order. Memories is the number of memories for the cascade and
	// the answers.
	Candidates int `json:"candidates"`
	Memories   int `json:"memories"`
	Figures
	Categories map[string]Figures `json:"category"`
	Baselines  map[string]Figures `json:"baselines"`
	// Variants are the same Mneme with one part disabled. Sweep is recall by the number of candidates.
	Variants []VariantFigures `json:"variants,omitempty"`
	Sweep    []Swept          `json:"sweep,omitempty"`
	// Learned is recall after learning; nil if not configured.
	Learned *FoldReport `json:"learned,omitempty"`
	// Resampled names the unit of the intervals: conversations or questions.
	Resampled string `json:"intervals_resample"`
	Counts    Counts `json:"counts"`
	// Repairs counts mistakes in the file, by kind of repair.
	Repairs dataset.Repairs `json:"repairs"`
	// Formation is the time from a session's last event until the session is formed, in milliseconds.
	Formation score.Percentiles `json:"formation_ms"`
	// HistoryWords is the mean number of words in a user's turns.
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

// servicePath is the path through all services.
const servicePath = "services: Kafka, filter, booster, Temporal, Weaviate, utilizer over HTTP"

// sample holds the figures of a question by name. A missing name was not measured.
type sample struct {
	user, category string
	values         map[string]float64
}

// Names of figures. A rank, a budget or a stage follows the point.
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

// record measures the results for a question. session maps turns to sessions.
func (s sample) record(q dataset.Question, best func(k int) []score.Shown, session map[string]string) {
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

// bySession replaces turns by sessions.
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

// figures returns the means of samples.
func figures(samples []sample, cluster bool) Figures {
	units := unitsOf(samples, cluster)
	f := Figures{Questions: len(samples), RecallAt: map[string]float64{}, RecallAtWords: map[string]float64{},
		Intervals: map[string]score.Interval{}}
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

// unitsOf returns the units to draw by the name of the figure. A unit is one question, or all questions of a user.
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

// top returns the first k results.
func top(shown []score.Shown, k int) []score.Shown { return shown[:min(k, len(shown))] }

// withinBudget returns the results that fit a word budget, in order. It skips a result that does not fit and tries the
// later ones.
func withinBudget(shown []score.Shown, words int) []score.Shown {
	var out []score.Shown
	for _, s := range shown {
		if n := len(strings.Fields(s.Text)); n <= words {
			words -= n
			out = append(out, s)
		}
	}
	return out
}

// until returns the results before the first one that exceeds the word budget.
func until(shown []score.Shown, words int) []score.Shown {
	for i, s := range shown {
		if words -= len(strings.Fields(s.Text)); words < 0 {
			return shown[:i]
		}
	}
	return shown
}

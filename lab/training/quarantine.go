package training

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
)

// QuarantineOptions are the options of a model of attacks. The record in the model's file has them.
type QuarantineOptions struct {
	Seed   uint64  `json:"seed" use:"draws the order of learning"`
	Alarms float64 `json:"alarms" range:"(0,1)" use:"share of a new writer's harmless turns that the threshold takes for an attack"`
	// A doubted sentence counts as passed on.
	Doubts float64 `json:"doubts" range:"(0,1)" use:"share of harmless turns that have a doubted sentence, at least that of the alarms"`
	// The dialogues, and the other corpora beside them, have users' turns and requests.
	Plain int `json:"plain" range:"[0,]" use:"how many turns of the dialogues are added as harmless"`
	Descent
}

// QuarantineRecord records the options, the data and the figures of a model. The model's file has it.
type QuarantineRecord struct {
	Options QuarantineOptions `json:"options"`
	// Turns and Attacks count the training data. Digest is its digest.
	Turns   int    `json:"turns"`
	Attacks int    `json:"attacks"`
	Digest  string `json:"digest"`
	// Mixed is measured on five folds of all writers. The lower threshold is chosen on them.
	Mixed AttackFigures `json:"mixed"`
	// Writers and Languages are measured at the same thresholds by models trained without the writer, or the language. The
	// higher threshold is chosen on the writers.
	Writers   map[string]AttackFigures `json:"writers"`
	Languages map[string]AttackFigures `json:"languages"`
}

// AttackFigures are the results of a model on labelled turns.
type AttackFigures struct {
	// Hostile counts hostile clauses. Missed counts the clauses of which the model holds less than half.
	Hostile int `json:"hostile"`
	Missed  int `json:"missed"`
	// Trusted counts the clauses of which the model holds or doubts less than half.
	Trusted int `json:"trusted"`
	// Harmless counts harmless turns. Taken counts those that the model takes for an attack, Doubted those with a
	// doubted sentence.
	Harmless int `json:"harmless"`
	Taken    int `json:"taken"`
	Doubted  int `json:"doubted"`
}

// thresholds are two scores: the least score of a held sentence, and of a doubted one.
type thresholds struct{ held, doubted float32 }

// judgedTurn is a labelled turn with its sentences. A label is 1 for an attack, 0 for no attack and -1 for neither.
type judgedTurn struct {
	turn    corpus.Attack
	clauses []quarantine.Clause
	labels  []int
}

// leastHostile is the number of bytes of a hostile clause that make a sentence an attack.
const leastHostile = 8

func newJudgedTurn(a corpus.Attack) judgedTurn {
	t := judgedTurn{turn: a, clauses: quarantine.Clauses(a.Text)}
	hostile, harmless := placesOf(a.Text, a.Hostile), placesOf(a.Text, a.Harmless)
	for _, c := range t.clauses {
		label := -1
		switch n := sharedBytes(c, hostile); {
		case len(hostile) == 0, n == 0 && sharedBytes(c, harmless) > 0:
			label = 0
		case n >= leastHostile, 2*n > c.To-c.From:
			label = 1
		}
		t.labels = append(t.labels, label)
	}
	return t
}

// placesOf returns the first and last bytes of parts of a text.
func placesOf(text string, parts []string) [][2]int {
	var out [][2]int
	for _, p := range parts {
		if i := strings.Index(text, p); i >= 0 {
			out = append(out, [2]int{i, i + len(p)})
		}
	}
	return out
}

// sharedBytes counts the bytes that a clause shares with places.
func sharedBytes(c quarantine.Clause, with [][2]int) int {
	n := 0
	for _, p := range with {
		n += max(0, min(c.To, p[1])-max(c.From, p[0]))
	}
	return n
}

// learnAttacks fits the weights by AdaGrad. Only a sentence's reading with the highest score has a gradient.
func learnAttacks(turns []judgedTurn, o QuarantineOptions) *quarantine.Model {
	type lesson struct {
		clause quarantine.Clause
		label  float64
	}
	var lessons []lesson
	for _, t := range turns {
		for i, c := range t.clauses {
			if t.labels[i] >= 0 {
				lessons = append(lessons, lesson{c, float64(t.labels[i])})
			}
		}
	}
	weights, squares, bias, biasSquares := make([]float64, quarantine.Bins), make([]float64, quarantine.Bins), 0., 1.
	draw := rand.New(rand.NewPCG(o.Seed, o.Seed+1))
	for range o.Epochs {
		draw.Shuffle(len(lessons), func(i, j int) { lessons[i], lessons[j] = lessons[j], lessons[i] })
		for _, l := range lessons {
			best, most := l.clause.Readings[0], math.Inf(-1)
			for _, r := range l.clause.Readings {
				sum := bias
				for _, f := range r {
					sum += weights[f.Key] * float64(f.Value)
				}
				if sum > most {
					best, most = r, sum
				}
			}
			slope := 1/(1+math.Exp(-most)) - l.label
			if math.Abs(slope) < 1e-3 {
				continue
			}
			for _, f := range best {
				d := slope*float64(f.Value) + o.Decay*weights[f.Key]
				squares[f.Key] += d * d
				weights[f.Key] -= o.Rate * d / math.Sqrt(squares[f.Key]+1e-4)
			}
			biasSquares += slope * slope
			bias -= o.Rate * slope / math.Sqrt(biasSquares)
		}
	}
	m := &quarantine.Model{Header: classifier.Header{Version: "attack/1"}, Bias: float32(bias)}
	exact := make([]float32, len(weights))
	for i, w := range weights {
		exact[i] = float32(w)
	}
	m.Step, m.Weights = classifier.Quantize(exact)
	return m
}

// scoredTurn has the scores of a labelled turn's sentences.
type scoredTurn struct {
	judgedTurn
	scores []float32
}

func newScoredTurn(m *quarantine.Model, t judgedTurn) scoredTurn {
	out := scoredTurn{judgedTurn: t}
	for _, c := range t.clauses {
		score, _ := m.Score(c)
		out.scores = append(out.scores, score)
	}
	return out
}

// scoredApart scores the turns of each fold by a model of the other folds.
func scoredApart(turns, plain []judgedTurn, o QuarantineOptions, fold func(i int) string) map[string][]scoredTurn {
	out := map[string][]scoredTurn{}
	for i := range turns {
		out[fold(i)] = nil
	}
	for name := range out {
		learned := slices.Clone(plain)
		for i, t := range turns {
			if fold(i) != name {
				learned = append(learned, t)
			}
		}
		m := learnAttacks(learned, o)
		for i, t := range turns {
			if fold(i) == name {
				out[name] = append(out[name], newScoredTurn(m, t))
			}
		}
	}
	return out
}

func (f *AttackFigures) count(t scoredTurn, at thresholds) {
	if len(t.turn.Hostile) == 0 && len(t.scores) > 0 {
		worst := slices.Max(t.scores)
		f.Harmless++
		f.Taken += count(worst >= at.held)
		f.Doubted += count(worst >= at.doubted)
	}
	for _, p := range placesOf(t.turn.Text, t.turn.Hostile) {
		f.Hostile++
		f.Missed += count(t.misses(p, at.held))
		f.Trusted += count(t.misses(p, at.doubted))
	}
}

// misses reports whether the sentences with at least the score cover less than half of a place.
func (t scoredTurn) misses(place [2]int, score float32) bool {
	found := 0
	for i, c := range t.clauses {
		if t.scores[i] >= score {
			found += sharedBytes(c, [][2]int{place})
		}
	}
	return 2*found < place[1]-place[0]
}

func attackFigures(folds map[string][]scoredTurn, at thresholds) map[string]AttackFigures {
	out := map[string]AttackFigures{}
	for name, turns := range folds {
		var f AttackFigures
		for _, t := range turns {
			f.count(t, at)
		}
		out[name] = f
	}
	return out
}

// thresholdFor returns the least score at which at most a share of the harmless turns count as attacks.
func thresholdFor(folds map[string][]scoredTurn, alarms float64) float32 {
	var worst []float64
	for _, turns := range folds {
		for _, t := range turns {
			if len(t.turn.Hostile) == 0 && len(t.scores) > 0 {
				worst = append(worst, float64(slices.Max(t.scores)))
			}
		}
	}
	return float32(rounded(scoreOfShare(worst, alarms) + 1e-3))
}

// mixedFolds is the number of folds of all writers.
const mixedFolds = 5

// Quarantine trains the model of attacks.
func Quarantine(_ context.Context, o QuarantineOptions) (Made, error) {
	if o.Doubts < o.Alarms {
		return Made{}, fault.Terminal("doubts", "is %v, want at least the alarms, %v", o.Doubts, o.Alarms)
	}
	r, turns, plain, err := quarantineTurns(o)
	if err != nil {
		return Made{}, err
	}
	mixed := scoredApart(turns, plain, o, func(i int) string { return strconv.Itoa(i % mixedFolds) })
	writers := scoredApart(turns, plain, o, func(i int) string { return turns[i].turn.Batch })
	at := thresholds{thresholdFor(writers, o.Alarms), thresholdFor(mixed, o.Doubts)}
	r.Mixed = attackFigures(map[string][]scoredTurn{"": slices.Concat(slices.Collect(maps.Values(mixed))...)}, at)[""]
	r.Writers = attackFigures(writers, at)
	r.Languages = attackFigures(scoredApart(turns, plain, o, func(i int) string { return turns[i].turn.Lang }), at)
	m := learnAttacks(append(slices.Clone(turns), plain...), o)
	m.Threshold, m.Doubt = at.held, at.doubted
	out, err := made(m, &m.Header, r, float64(m.Threshold), "")
	out.File = append(out.File, m.Weights...)
	return out, err
}

// quarantineTurns returns the labelled turns and the plain ones.
func quarantineTurns(o QuarantineOptions) (r QuarantineRecord, turns, plain []judgedTurn, err error) {
	labelled, err := corpus.Attacks()
	if err != nil {
		return r, nil, nil, err
	}
	said, err := plainTalk()
	if err != nil {
		return r, nil, nil, err
	}
	h := sha256.New()
	add := func(to *[]judgedTurn, a corpus.Attack) {
		*to = append(*to, newJudgedTurn(a))
		fmt.Fprintf(h, "%q %q %q\n", a.Text, a.Hostile, a.Harmless)
		r.Turns++
		r.Attacks += count(len(a.Hostile) > 0)
	}
	for _, a := range labelled {
		add(&turns, a)
	}
	some := min(o.Plain, len(said))
	for i := range some {
		add(&plain, corpus.Attack{Text: said[i*len(said)/some]})
	}
	r.Options, r.Digest = o, hex.EncodeToString(h.Sum(nil)[:8])
	return r, turns, plain, nil
}

// plainTalk returns users' turns, requests and questions in the training parts of the other corpora.
func plainTalk() ([]string, error) {
	dialogues, err := corpus.Dialogues()
	if err != nil {
		return nil, err
	}
	var said []string
	for _, d := range dialogues {
		if d.Split() != corpus.Train {
			continue
		}
		for _, t := range d.Turns {
			if t.Role != memory.RoleAssistant {
				said = append(said, t.Text)
			}
		}
		for _, r := range d.Requests {
			said = append(said, r.Text)
		}
	}
	chats, err := corpus.Chats(corpus.Train)
	if err != nil {
		return nil, err
	}
	for _, c := range chats {
		for _, s := range c.Sessions {
			for _, t := range s.Turns {
				said = append(said, t.Text)
			}
		}
	}
	questions, err := corpus.Questions(corpus.Train)
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		said = append(said, q.Text)
	}
	foreign, err := corpus.Languages()
	if err != nil {
		return nil, err
	}
	for _, f := range foreign {
		if f.Split != corpus.Train {
			continue
		}
		for _, s := range f.Subject.Sessions {
			for _, t := range s.Turns {
				said = append(said, t.Text)
			}
		}
	}
	return said, nil
}

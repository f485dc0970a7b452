package training

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

// RelationOptions say what the model of relations is trained with. They are recorded in it.
type RelationOptions struct {
	// Seed chooses groups of words, and strangers.
	Seed uint64 `json:"seed"`
	// Cost weighs the loss of a statement against the squared weights.
	Cost float64 `json:"cost"`
	// Rounds is how many steps of the optimiser are made at most.
	Rounds int `json:"rounds"`
	// Groups is how many groups the words of the table are in.
	Groups int `json:"groups"`
	// Holders is how many training examples have to have a feature.
	Holders int `json:"holders"`
	// Lengths are what the blocks of sparse features are scaled to.
	Lengths [relation.Blocks]float64 `json:"lengths"`
	// Numbers is what the standard deviation of a dense number is scaled to.
	Numbers float64 `json:"numbers"`
	// Strangers is how many statements of other pairs a pair's stored statement stands among: a bank is full of them.
	Strangers int `json:"strangers"`
	// Lives is how many made-up people are learned from beside the corpus.
	Lives int `json:"lives"`
	// FalseCertain and FalsePossible are the shares of statements without a change, of those that thresholds are chosen on, that are above
	// them.
	FalseCertain  float64 `json:"false_certain"`
	FalsePossible float64 `json:"false_possible"`
}

// RelationDefaults are what the model in the binary was trained with.
func RelationDefaults() RelationOptions {
	return RelationOptions{
		Seed: 1, Cost: 6, Rounds: 80, Groups: 60, Holders: 3, Lengths: [relation.Blocks]float64{1, 1.4, 0.5, 0.5, 1, 0.8},
		Numbers: 0.4, Strangers: 12, Lives: 24, FalseCertain: 0.04, FalsePossible: 0.15,
	}
}

func (o RelationOptions) check() error {
	switch {
	case !(o.Cost > 0 && o.Cost < 1e4):
		return fault.Terminal("cost", "is %v, want more than 0", o.Cost)
	case o.Rounds < 1 || o.Rounds > 10_000:
		return fault.Terminal("rounds", "is %d, want 1 to 10000", o.Rounds)
	case o.Groups < 1 || o.Groups > 255:
		return fault.Terminal("groups", "is %d, want 1 to 255", o.Groups)
	case o.Holders < 1:
		return fault.Terminal("holders", "is %d, want 1 or more", o.Holders)
	case o.Strangers < 0 || o.Strangers > 100:
		return fault.Terminal("strangers", "is %d, want 0 to 100", o.Strangers)
	case o.Lives < 0 || o.Lives > 1000:
		return fault.Terminal("lives", "is %d, want 0 to 1000", o.Lives)
	case !(o.FalseCertain > 0 && o.FalseCertain <= o.FalsePossible && o.FalsePossible < 1):
		return fault.Terminal("false-certain", "is %v and false-possible %v, want 0 < certain <= possible < 1", o.FalseCertain, o.FalsePossible)
	}
	return nil
}

// RelationRecord says what a model was made from; it stands in the model's file.
type RelationRecord struct {
	Options RelationOptions `json:"options"`
	// Statements and Changes count later statements that were learned from, MadeUp those of them that made-up people say; Chosen those that
	// temperature and thresholds were chosen on.
	Statements int `json:"statements"`
	MadeUp     int `json:"made_up"`
	Changes    int `json:"changes"`
	Chosen     int `json:"chosen"`
	Features   int `json:"features"`
}

// Statements returns those of a split: of pairs, each with its stored one alone and among strangers of its batch, since banks are small at
// first; of banks; and what people say to an assistant, held against what they said before in the same dialogue, which it does not change.
func Statements(ctx context.Context, s corpus.Split, o RelationOptions) ([]corpus.Among, error) {
	pairs, err := corpus.Pairs()
	if err != nil {
		return nil, err
	}
	banks, err := corpus.Banks(s)
	if err != nil {
		return nil, err
	}
	dialogues, err := corpus.Dialogues()
	if err != nil {
		return nil, err
	}
	pairs = corpus.Of(pairs, s)
	out := slices.Concat(corpus.AmongStrangers(pairs, 0, o.Seed), corpus.AmongStrangers(pairs, o.Strangers, o.Seed), corpus.InBanks(banks))
	q := quoter{embedded.NewFormerWith(embedded.IdentityOf("salimory"), nil, 1, 1)}
	lives := o.Lives
	if s != corpus.Train {
		lives = 0 // temperature and thresholds are for what people say
	}
	made, err := q.lives(ctx, o.Seed, lives, o.Strangers)
	if err != nil {
		return nil, err
	}
	out = append(out, made...)
	for _, d := range dialogues {
		if d.Split() != s {
			continue
		}
		var turns []memory.Turn
		for _, l := range d.Labelled() {
			turns = append(turns, l.Turn)
		}
		said, err := q.former.Extract(ctx, formation.Session{Scope: memory.Scope{Tenant: "corpus", User: d.ID}, ID: d.ID, Turns: turns})
		if err != nil {
			return nil, fmt.Errorf("dialogue %s: %w", d.ID, err)
		}
		out = append(out, changingNothing(said, d.Batch, o.Strangers)...)
	}
	return out, nil
}

// changingNothing holds what is said against the most what was said before it.
func changingNothing(said []formation.Candidate, batch string, most int) []corpus.Among {
	var out []corpus.Among
	for i, c := range said {
		a := corpus.Among{Later: asUser(c), Looks: -1, Batch: batch, Kind: "dialogue"}
		for _, before := range said[:i] {
			if before.Sources[0] != c.Sources[0] && before.Speaker == c.Speaker && len(a.Stored) < most {
				a.Stored = append(a.Stored, asUser(before))
			}
		}
		if len(a.Stored) > 0 {
			out = append(out, a)
		}
	}
	return out
}

func asUser(c formation.Candidate) relation.Statement {
	return relation.Statement{Text: c.Content, Role: memory.RoleUser, Speaker: corpus.ByUser}
}

// Relation trains the model of relations on later statements with the stored ones that each is among: a multinomial logistic regression
// over what it does to which of them, or to none. Temperature and thresholds are chosen on other statements. The same options and
// statements give the same model. Options out of range are terminal errors.
func Relation(train, choose []corpus.Among, o RelationOptions) (*relation.Model, RelationRecord, error) {
	if err := o.check(); err != nil {
		return nil, RelationRecord{}, err
	}
	if len(train) == 0 || len(choose) == 0 {
		return nil, RelationRecord{}, fault.Terminal("statements", "are %d to train and %d to choose on, want some", len(train), len(choose))
	}
	var statements []string
	seen := map[string]bool{}
	for _, a := range train {
		for _, s := range append([]relation.Statement{a.Later}, a.Stored...) {
			if !seen[s.Text] {
				seen[s.Text] = true
				statements = append(statements, s.Text)
			}
		}
	}
	lexicon := relation.NewLexicon(wordvector.Shipped(), statements, o.Groups, o.Seed)
	m := newMatrix(lexicon, train, o)
	weights := m.fit(o)
	r := RelationRecord{Options: o, Statements: len(train), Chosen: len(choose), Features: m.columns}
	for _, a := range train {
		if a.Label.Changes() {
			r.Changes++
		}
		if a.Batch == livesBatch {
			r.MadeUp++
		}
	}
	raw, err := relation.New(lexicon, weights, relation.Choice{Temperature: 1, Thresholds: relation.Thresholds{Certain: 1, Possible: 1}}, nil)
	if err != nil {
		return nil, RelationRecord{}, err
	}
	logits := make([][]relation.Logits, len(choose))
	for i, a := range choose {
		stored := make([]relation.Reading, len(a.Stored))
		for j, s := range a.Stored {
			stored[j] = raw.Read(s)
		}
		logits[i] = raw.Logits(raw.Read(a.Later), stored)
	}
	c := relation.Choice{Temperature: chooseTemperature(logits, choose)}
	c.Thresholds = relation.Thresholds{
		Certain:  threshold(logits, choose, c.Temperature, o.FalseCertain, certainty),
		Possible: threshold(logits, choose, c.Temperature, o.FalsePossible, possibility),
	}
	model, err := relation.New(lexicon, weights, c, r)
	return model, r, err
}

// matrix has the examples as rows of numbers. Rows of single statements are shared by all pairs that they are in.
type matrix struct {
	blocks  [relation.Blocks]relation.Block
	first   [relation.Blocks]int // column of each block's first feature
	dense   relation.Numbers
	columns int // of the sparse features; the dense ones and the bias come after
	sets    []set
}

// set is a later statement with the stored ones that it is among.
type set struct {
	later  []cell
	pairs  []pairRow
	target int // of the pair that it is related to, or -1
	label  int // output
}

type pairRow struct {
	pair  []cell
	dense []float32
}

type cell struct {
	column int32
	value  float32
}

func newMatrix(l *relation.Lexicon, sets []corpus.Among, o RelationOptions) *matrix {
	m := &matrix{sets: make([]set, len(sets))}
	readings := map[relation.Statement]relation.Reading{}
	read := func(s relation.Statement) relation.Reading {
		r, ok := readings[s]
		if !ok {
			r = l.Read(s)
			readings[s] = r
		}
		return r
	}
	for _, a := range sets { // before the work is shared out: a map is written by one
		read(a.Later)
		for _, s := range a.Stored {
			read(s)
		}
	}
	inputs, alone := make([][]relation.Inputs, len(sets)), make([][relation.LaterBlocks][]relation.Feature, len(sets))
	onAll(len(sets), func(i int) {
		later := readings[sets[i].Later]
		alone[i] = later.Later()
		for _, s := range sets[i].Stored {
			inputs[i] = append(inputs[i], l.Pair(later, readings[s]))
		}
	})
	// features are chosen on pairs that belong together, and those of single statements on each statement once
	var together []relation.Inputs
	for i, a := range sets {
		if a.Looks >= 0 {
			in := inputs[i][a.Looks]
			copy(in.Sparse[:], alone[i][:])
			together = append(together, in)
		}
	}
	for b := range m.blocks {
		m.blocks[b] = selectFeatures(together, b, o)
		m.first[b] = m.columns
		m.columns += len(m.blocks[b].Keys)
	}
	m.dense = standardise(together, l.Dense(), o)
	onAll(len(sets), func(i int) {
		a := sets[i]
		s := set{target: -1}
		if a.Label != relation.Unrelated {
			s.target, s.label = a.Looks, int(a.Label)-1
		}
		for b := range relation.LaterBlocks {
			s.later = append(s.later, m.cells(b, alone[i][b])...)
		}
		for _, in := range inputs[i] {
			var p pairRow
			for b := relation.LaterBlocks; b < relation.Blocks; b++ {
				p.pair = append(p.pair, m.cells(b, in.Sparse[b])...)
			}
			p.dense = make([]float32, len(in.Dense))
			for j, x := range in.Dense {
				p.dense[j] = (x - m.dense.Mean[j]) * m.dense.Scale[j]
			}
			s.pairs = append(s.pairs, p)
		}
		inputs[i], alone[i] = nil, [relation.LaterBlocks][]relation.Feature{}
		m.sets[i] = s
	})
	return m
}

// onAll does n pieces of work on all processors.
func onAll(n int, do func(i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}

// selectFeatures keeps the features that enough examples have, with their inverse document frequencies.
func selectFeatures(examples []relation.Inputs, b int, o RelationOptions) relation.Block {
	holders := map[uint32]int{}
	for _, e := range examples {
		for _, f := range e.Sparse[b] {
			holders[f.Key]++
		}
	}
	out := relation.Block{Length: float32(o.Lengths[b])}
	for key, n := range holders {
		if n >= o.Holders {
			out.Keys = append(out.Keys, key)
		}
	}
	slices.Sort(out.Keys)
	for _, key := range out.Keys {
		idf := 1 + math.Log(float64(1+len(examples))/float64(1+holders[key]))
		out.Rarities = append(out.Rarities, uint8(min(255, max(1, math.Round(idf/relation.RarityStep)))))
	}
	return out
}

func standardise(examples []relation.Inputs, n int, o RelationOptions) relation.Numbers {
	d := relation.Numbers{Mean: make([]float32, n), Scale: make([]float32, n)}
	for j := range n {
		sum, squares := 0.0, 0.0
		for _, e := range examples {
			sum += float64(e.Dense[j])
		}
		mean := sum / float64(len(examples))
		for _, e := range examples {
			squares += (float64(e.Dense[j]) - mean) * (float64(e.Dense[j]) - mean)
		}
		d.Mean[j] = float32(mean)
		if squares > 0 {
			d.Scale[j] = float32(o.Numbers / math.Sqrt(squares/float64(len(examples))))
		}
	}
	return d
}

func (m *matrix) cells(b int, features []relation.Feature) []cell {
	var out []cell
	squares := 0.0
	for _, f := range features {
		i, ok := slices.BinarySearch(m.blocks[b].Keys, f.Key)
		if !ok {
			continue
		}
		v := f.Count * float32(m.blocks[b].Rarities[i]) * relation.RarityStep
		squares += float64(v) * float64(v)
		out = append(out, cell{int32(m.first[b] + i), v})
	}
	for i := range out {
		out[i].value *= m.blocks[b].Length / float32(math.Sqrt(squares))
	}
	return out
}

// parts is how many parts the gradient is summed in: always as many, so that the sum does not depend on the processors.
const parts = 8

// fit learns the weights.
func (m *matrix) fit(o RelationOptions) *relation.Weights {
	columns := m.columns + len(m.dense.Mean) + 1
	n := columns * relation.Outputs
	gradients := make([][]float64, parts)
	for p := range gradients {
		gradients[p] = make([]float64, n)
	}
	var losses [parts]float64
	var at []float64 // where losses and gradients are of
	evaluate := func(w []float64) {
		if slices.Equal(at, w) {
			return
		}
		at = append(at[:0], w...)
		onAll(parts, func(p int) {
			clear(gradients[p])
			losses[p] = 0
			for i := p; i < len(m.sets); i += parts {
				losses[p] += m.learn(w, gradients[p], &m.sets[i], o.Cost)
			}
		})
	}
	problem := optimize.Problem{
		Func: func(w []float64) float64 {
			evaluate(w)
			loss := 0.5 * floats.Dot(w, w)
			for _, l := range losses {
				loss += l
			}
			return loss
		},
		Grad: func(g, w []float64) {
			evaluate(w)
			copy(g, w)
			for p := range gradients {
				floats.Add(g, gradients[p])
			}
		},
	}
	settings := &optimize.Settings{MajorIterations: o.Rounds, GradientThreshold: 1e-2}
	result, err := optimize.Minimize(problem, make([]float64, n), settings, &optimize.LBFGS{})
	if result == nil {
		panic(err) // the problem is convex and begins at a finite point
	}
	return m.weights(result.X)
}

// learn adds the loss of a statement, and its gradient to g.
func (m *matrix) learn(w, g []float64, s *set, cost float64) float64 {
	var base [relation.Outputs]float64
	add := func(z *[relation.Outputs]float64, cells []cell) {
		for _, c := range cells {
			at := int(c.column) * relation.Outputs
			for l, x := range w[at : at+relation.Outputs] {
				z[l] += x * float64(c.value)
			}
		}
	}
	add(&base, s.later)
	bias := (m.columns + len(m.dense.Mean)) * relation.Outputs
	for l := range base {
		base[l] += w[bias+l]
	}
	z := make([][relation.Outputs]float64, len(s.pairs))
	most := 0.0
	for i := range s.pairs {
		p := &s.pairs[i]
		z[i] = base
		add(&z[i], p.pair)
		at := m.columns * relation.Outputs
		for _, x := range p.dense {
			for l, v := range w[at : at+relation.Outputs] {
				z[i][l] += v * float64(x)
			}
			at += relation.Outputs
		}
		for _, x := range z[i] {
			most = max(most, x)
		}
	}
	sum := math.Exp(-most)
	for i := range z {
		for _, x := range z[i] {
			sum += math.Exp(x - most)
		}
	}
	loss := most + math.Log(sum)
	if s.target >= 0 {
		loss -= z[s.target][s.label]
	}
	var total [relation.Outputs]float64
	for i := range s.pairs {
		p := &s.pairs[i]
		var d [relation.Outputs]float64
		for l, x := range z[i] {
			d[l] = math.Exp(x-most) / sum
			if i == s.target && l == s.label {
				d[l]--
			}
			d[l] *= cost
			total[l] += d[l]
		}
		for _, c := range p.pair {
			at := int(c.column) * relation.Outputs
			for l := range d {
				g[at+l] += d[l] * float64(c.value)
			}
		}
		at := m.columns * relation.Outputs
		for _, x := range p.dense {
			for l := range d {
				g[at+l] += d[l] * float64(x)
			}
			at += relation.Outputs
		}
	}
	for _, c := range s.later {
		at := int(c.column) * relation.Outputs
		for l := range total {
			g[at+l] += total[l] * float64(c.value)
		}
	}
	for l := range total {
		g[bias+l] += total[l]
	}
	return loss * cost
}

// weights are the learned numbers as the model keeps them.
func (m *matrix) weights(learned []float64) *relation.Weights {
	w := &relation.Weights{Sparse: m.blocks, Dense: m.dense}
	for b := range w.Sparse {
		block := &w.Sparse[b]
		block.Weights = make([][relation.Outputs]int8, len(block.Keys))
		of := func(i, l int) float64 { return learned[(m.first[b]+i)*relation.Outputs+l] }
		for l := range relation.Outputs {
			most := 0.0
			for i := range block.Keys {
				most = max(most, math.Abs(of(i, l)))
			}
			block.Scale[l] = float32(most / math.MaxInt8)
			for i := range block.Keys {
				if most > 0 {
					block.Weights[i][l] = int8(math.Round(of(i, l) / most * math.MaxInt8))
				}
			}
		}
	}
	w.Dense.Weights = make([][relation.Outputs]float32, len(w.Dense.Mean))
	for l := range relation.Outputs {
		for j := range w.Dense.Weights {
			w.Dense.Weights[j][l] = float32(learned[(m.columns+j)*relation.Outputs+l])
		}
		w.Bias[l] = float32(learned[(m.columns+len(w.Dense.Mean))*relation.Outputs+l])
	}
	return w
}

// chooseTemperature returns the one with the least log loss of what is true.
func chooseTemperature(logits [][]relation.Logits, sets []corpus.Among) float64 {
	best, least := 1.0, math.Inf(1)
	for step := range 60 {
		t := 0.3 + 0.05*float64(step)
		loss := 0.0
		for i, z := range logits {
			told, none := relation.Softmax(z, t), 1.0
			for _, r := range told {
				none -= 1 - r[relation.Unrelated]
			}
			if sets[i].Label != relation.Unrelated {
				none = told[sets[i].Looks][sets[i].Label]
			}
			loss -= math.Log(max(1e-12, none))
		}
		if loss < least {
			best, least = t, loss
		}
	}
	return best
}

// certainty is what decides whether an entry is closed, possibility whether one is linked.
func certainty(told []relation.Relation) float64 {
	if _, own, whole := relation.Changed(told); own >= relation.LeastOwn {
		return whole
	}
	return 0
}

func possibility(told []relation.Relation) float64 {
	_, own, _ := relation.Changed(told)
	return own
}

// threshold returns the probability of a change that a share of the statements that change nothing are above.
func threshold(
	logits [][]relation.Logits, sets []corpus.Among, temperature, share float64, probability func([]relation.Relation) float64,
) float64 {
	var others []float64
	for i, z := range logits {
		if sets[i].Label.Changes() {
			continue
		}
		others = append(others, probability(relation.Softmax(z, temperature)))
	}
	slices.Sort(others)
	if len(others) == 0 {
		return 1
	}
	// the next float above the last one that may be above, to four decimals
	at := others[len(others)-1-int(share*float64(len(others)))]
	return min(1, (math.Floor(at*1e4)+1)/1e4)
}

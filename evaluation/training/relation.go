package training

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

// RelationOptions say what the model of relations is trained with. They are recorded in it.
type RelationOptions struct {
	// Seed chooses groups of words, the order of examples, and strangers.
	Seed uint64 `json:"seed"`
	// Cost weighs the loss against the squared weights.
	Cost float64 `json:"cost"`
	// Rounds is how often the examples are gone through at most.
	Rounds int `json:"rounds"`
	// Groups is how many groups the words of the table are in.
	Groups int `json:"groups"`
	// Holders is how many training pairs have to have a feature.
	Holders int `json:"holders"`
	// Lengths are what the blocks of sparse features are scaled to.
	Lengths [relation.Blocks]float64 `json:"lengths"`
	// Numbers and Vectors are what the standard deviation of a dense number, and the length of a vector, are scaled to.
	Numbers float64 `json:"numbers"`
	Vectors float64 `json:"vectors"`
	// Strangers is how many statements of other pairs of the batch each later statement is also compared with: a bank is full of them.
	Strangers int `json:"strangers"`
	// MetCost is the Cost of telling pairs from strangers.
	MetCost float64 `json:"met_cost"`
	// FalseCertain and FalsePossible are the shares of pairs without a change, of those that thresholds are chosen on, that are above them.
	FalseCertain  float64 `json:"false_certain"`
	FalsePossible float64 `json:"false_possible"`
}

// RelationDefaults are what the model in the binary was trained with.
func RelationDefaults() RelationOptions {
	return RelationOptions{
		Seed: 1, Cost: 10, Rounds: 60, Groups: 60, Holders: 2, Lengths: [relation.Blocks]float64{1, 1.4, 0.5, 0.5, 0.7, 0.5, 1},
		Numbers: 0.15, Vectors: 0.3, Strangers: 8, MetCost: 0.3, FalseCertain: 0.04, FalsePossible: 0.15,
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
	case !(o.FalseCertain > 0 && o.FalseCertain <= o.FalsePossible && o.FalsePossible < 1):
		return fault.Terminal("false-certain", "is %v and false-possible %v, want 0 < certain <= possible < 1", o.FalseCertain, o.FalsePossible)
	}
	return nil
}

// RelationRecord says what a model was made from; it stands in the model's file.
type RelationRecord struct {
	Options RelationOptions `json:"options"`
	// Pairs and Changes count what was learned from, Chosen what temperature and thresholds were chosen on.
	Pairs    int `json:"pairs"`
	Changes  int `json:"changes"`
	Chosen   int `json:"chosen"`
	Features int `json:"features"`
}

// Relation trains the model of relations on the corpus: a logistic regression of each label against the others on the pairs for training;
// temperature and thresholds on the pairs for choosing. The same options and pairs give the same model. Options out of range are terminal
// errors.
func Relation(pairs []corpus.Pair, o RelationOptions) (*relation.Model, RelationRecord, error) {
	train := corpus.Of(pairs, corpus.Train)
	return RelationOn(train, corpus.Of(pairs, corpus.Choose), o)
}

// RelationOn is Relation with other splits.
func RelationOn(train, choose []corpus.Pair, o RelationOptions) (*relation.Model, RelationRecord, error) {
	if err := o.check(); err != nil {
		return nil, RelationRecord{}, err
	}
	if len(train) == 0 || len(choose) == 0 {
		return nil, RelationRecord{}, fault.Terminal("pairs", "are %d to train and %d to choose on, want some", len(train), len(choose))
	}
	var statements []string
	for _, p := range train {
		statements = append(statements, p.Stored, p.Later)
	}
	lexicon := relation.NewLexicon(wordvector.Shipped(), statements, o.Groups, o.Seed)
	examples := relationExamples(lexicon, train, o)
	m := newMatrix(lexicon, examples, o)
	weights := m.fit(examples, o)
	r := RelationRecord{Options: o, Pairs: len(train), Chosen: len(choose), Features: m.columns}
	for _, p := range train {
		if p.Relation().Changes() {
			r.Changes++
		}
	}
	raw, err := relation.New(lexicon, weights, relation.Choice{Temperature: 1, Thresholds: relation.Thresholds{Certain: 1, Possible: 1}}, nil)
	if err != nil {
		return nil, RelationRecord{}, err
	}
	logits, labels := make([]relation.Logits, len(choose)), make([]relation.Label, len(choose))
	later, stored := readPairs(choose, raw.Read)
	for i, p := range choose {
		logits[i], labels[i] = raw.Logits(later[i], stored[i]), p.Relation()
	}
	c := relation.Choice{Temperature: chooseTemperature(logits, labels), Meeting: chooseMeeting(raw, choose, o)}
	c.Thresholds = relation.Thresholds{
		Certain: threshold(logits, labels, c.Temperature, o.FalseCertain), Possible: threshold(logits, labels, c.Temperature, o.FalsePossible),
	}
	model, err := relation.New(lexicon, weights, c, r)
	return model, r, err
}

// readPairs reads both statements of each pair.
func readPairs(pairs []corpus.Pair, read func(relation.Statement) relation.Reading) (later, stored []relation.Reading) {
	later, stored = make([]relation.Reading, len(pairs)), make([]relation.Reading, len(pairs))
	for i, p := range pairs {
		l, s := p.Statements()
		later[i], stored[i] = read(l), read(s)
	}
	return later, stored
}

// found is how many statements a search brings.
const found = 20

// chooseMeeting puts each stored statement among others of the batch, as a search would bring them, and learns from the logits which one
// the later statement belongs to.
func chooseMeeting(m *relation.Model, pairs []corpus.Pair, o RelationOptions) relation.Meeting {
	later, stored := readPairs(pairs, m.Read)
	var rows [][]cell
	var is []float64
	for i, p := range pairs {
		met := []float64{float64(m.Logits(later[i], stored[i])[relation.Met])}
		for k := i + 1; len(met) < found && k < i+len(pairs); k++ {
			if other := pairs[k%len(pairs)]; other.Batch == p.Batch && other.Stored != p.Stored {
				met = append(met, float64(m.Logits(later[i], stored[k%len(pairs)])[relation.Met]))
			}
		}
		best := slices.Max(met)
		for k, own := range met {
			rows = append(rows, []cell{{0, 1}, {1, float32(own)}, {2, float32(best - own)}})
			is = append(is, sign(k == 0))
		}
	}
	w := regress(rows, is, 3, meetingCost, o)
	return relation.Meeting{Bias: rounded(w[0]), Own: rounded(w[1]), Behind: rounded(w[2])}
}

// meetingCost all but does without a penalty: there are three weights.
const meetingCost = 10

// relationExample is a pair as the model sees it.
type relationExample struct {
	inputs relation.Inputs
	label  relation.Label
	// stranger says that the two are of different pairs.
	stranger bool
}

// relationExamples reads the pairs, and after them later statements with strangers.
func relationExamples(l *relation.Lexicon, pairs []corpus.Pair, o RelationOptions) []relationExample {
	later, stored := readPairs(pairs, l.Read)
	batches := map[string][]int{}
	var out []relationExample
	for i, p := range pairs {
		batches[p.Batch] = append(batches[p.Batch], i)
		out = append(out, relationExample{inputs: l.Pair(later[i], stored[i]), label: p.Relation()})
	}
	random := rand.New(rand.NewPCG(o.Seed, 2))
	for i, p := range pairs {
		others := batches[p.Batch]
		for range o.Strangers {
			if j := others[random.IntN(len(others))]; pairs[j].Stored != p.Stored {
				out = append(out, relationExample{inputs: l.Pair(later[i], stored[j]), stranger: true})
			}
		}
	}
	return out
}

// matrix has the examples as rows of numbers.
type matrix struct {
	blocks  [relation.Blocks]relation.Block
	first   [relation.Blocks]int // column of each block's first feature
	dense   relation.Numbers
	columns int // of the sparse features; the dense ones and the bias come after
	rows    [][]cell
}

type cell struct {
	column int32
	value  float32
}

func newMatrix(l *relation.Lexicon, examples []relationExample, o RelationOptions) *matrix {
	m := &matrix{rows: make([][]cell, len(examples))}
	pairs := slices.DeleteFunc(slices.Clone(examples), func(e relationExample) bool { return e.stranger })
	for b := range m.blocks {
		m.blocks[b] = selectFeatures(pairs, b, o)
		m.first[b] = m.columns
		m.columns += len(m.blocks[b].Keys)
	}
	m.dense = standardise(pairs, l.Dense(), relation.NumberCount(), o)
	for i, e := range examples {
		for b := range m.blocks {
			if b >= relation.PairBlock || !e.stranger {
				m.rows[i] = append(m.rows[i], m.cells(b, e.inputs.Sparse[b])...)
			}
		}
		for j, x := range e.inputs.Dense {
			m.rows[i] = append(m.rows[i], cell{int32(m.columns + j), (x - m.dense.Mean[j]) * m.dense.Scale[j]})
		}
		m.rows[i] = append(m.rows[i], cell{int32(m.columns + l.Dense()), 1})
	}
	return m
}

// selectFeatures keeps the features that enough examples have, with their inverse document frequencies.
func selectFeatures(examples []relationExample, b int, o RelationOptions) relation.Block {
	holders := map[uint32]int{}
	for _, e := range examples {
		for _, f := range e.inputs.Sparse[b] {
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

func standardise(examples []relationExample, n, numbers int, o RelationOptions) relation.Numbers {
	d := relation.Numbers{Mean: make([]float32, n), Scale: make([]float32, n)}
	for j := range n {
		if j >= numbers {
			d.Scale[j] = float32(o.Vectors)
			continue
		}
		sum, squares := 0.0, 0.0
		for _, e := range examples {
			sum += float64(e.inputs.Dense[j])
		}
		mean := sum / float64(len(examples))
		for _, e := range examples {
			squares += (float64(e.inputs.Dense[j]) - mean) * (float64(e.inputs.Dense[j]) - mean)
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
		q := 1.0
		fmt.Sscanf(os.Getenv("Q"), "%g", &q)
		out[i].value *= m.blocks[b].Length / float32(math.Pow(squares/1600, q/2)*40)
	}
	return out
}

// fit learns the weights of each output.
func (m *matrix) fit(examples []relationExample, o RelationOptions) *relation.Weights {
	var learned [relation.Outputs][]float64
	var group sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for l := range learned {
		group.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			if l == relation.Met {
				learned[l] = m.met(examples, o)
			} else {
				learned[l] = m.labelled(examples, relation.Label(l), o) //nolint:gosec // five of them
			}
		})
	}
	group.Wait()
	w := &relation.Weights{Sparse: m.blocks, Dense: m.dense}
	for b := range w.Sparse {
		block := &w.Sparse[b]
		block.Weights = make([][relation.Outputs]int8, len(block.Keys))
		for l := range learned {
			most := 0.0
			for i := range block.Keys {
				most = max(most, math.Abs(learned[l][m.first[b]+i]))
			}
			block.Scale[l] = float32(most / math.MaxInt8)
			for i := range block.Keys {
				if most > 0 {
					block.Weights[i][l] = int8(math.Round(learned[l][m.first[b]+i] / most * math.MaxInt8))
				}
			}
		}
	}
	w.Dense.Weights = make([][relation.Outputs]float32, len(w.Dense.Mean))
	for l := range learned {
		for j := range w.Dense.Weights {
			w.Dense.Weights[j][l] = float32(learned[l][m.columns+j])
		}
		w.Bias[l] = float32(learned[l][m.columns+len(w.Dense.Mean)])
	}
	return w
}

// labelled learns a label against the others, on pairs.
func (m *matrix) labelled(examples []relationExample, label relation.Label, o RelationOptions) []float64 {
	var rows [][]cell
	var is []float64
	for i, e := range examples {
		if !e.stranger {
			rows, is = append(rows, m.rows[i]), append(is, sign(e.label == label))
		}
	}
	return regress(rows, is, m.columns+len(m.dense.Mean)+1, o.Cost, o)
}

// met learns pairs against strangers, by what there is between the two: what the later statement says by itself tells nothing of it.
func (m *matrix) met(examples []relationExample, o RelationOptions) []float64 {
	rows, is := make([][]cell, len(m.rows)), make([]float64, len(m.rows))
	for i, e := range examples {
		for _, c := range m.rows[i] {
			if int(c.column) >= m.first[relation.PairBlock] {
				rows[i] = append(rows[i], c)
			}
		}
		is[i] = sign(!e.stranger)
	}
	return regress(rows, is, m.columns+len(m.dense.Mean)+1, o.MetCost, o)
}

// regress fits a logistic regression with squared weights as the penalty, by dual coordinate descent (Yu, Huang and Lin 2011, "Dual
// coordinate descent methods for logistic regression and maximum entropy models", algorithm 5). is has 1 or -1 a row.
func regress(rows [][]cell, is []float64, columns int, cost float64, o RelationOptions) []float64 {
	w := make([]float64, columns)
	squares := make([]float64, len(rows))
	alpha := make([][2]float64, len(rows)) // of each row, and what is left of the cost
	for i, row := range rows {
		alpha[i][0] = min(1e-3*cost, 1e-8)
		alpha[i][1] = cost - alpha[i][0]
		addTo(w, row, is[i]*alpha[i][0])
		for _, c := range row {
			squares[i] += float64(c.value) * float64(c.value)
		}
	}
	random := rand.New(rand.NewPCG(o.Seed, 3))
	inner, least := 1e-2, min(1e-8, 1e-3*cost)
	for range o.Rounds {
		most, newtons := 0.0, 0
		for _, i := range random.Perm(len(rows)) {
			y := is[i]
			a, b := squares[i], y*product(w, rows[i])
			// the problem is solved in the smaller of the two variables
			z, s, one, other := alpha[i][0], 1.0, 0, 1
			if 0.5*a*(alpha[i][1]-alpha[i][0])+b < 0 {
				z, s, one, other = alpha[i][1], -1, 1, 0
			}
			old := z
			if cost-z < 0.5*cost {
				z *= 0.1
			}
			gradient := a*(z-old) + s*b + math.Log(z/(cost-z))
			most = max(most, math.Abs(gradient))
			for range 100 {
				if math.Abs(gradient) < inner {
					break
				}
				step := gradient / (a + cost/(cost-z)/z)
				if next := z - step; next <= 0 {
					z *= 0.1
				} else {
					z = next
				}
				gradient = a*(z-old) + s*b + math.Log(z/(cost-z))
				newtons++
			}
			if newtons > 0 && z != old {
				alpha[i][one], alpha[i][other] = z, cost-z
				addTo(w, rows[i], s*(z-old)*y)
			}
		}
		if most < 1e-2 {
			break
		}
		if newtons <= len(rows)/10 {
			inner = max(least, 0.1*inner)
		}
	}
	return w
}

func sign(b bool) float64 {
	if b {
		return 1
	}
	return -1
}

func product(w []float64, row []cell) (sum float64) {
	for _, c := range row {
		sum += float64(w[c.column] * float64(c.value))
	}
	return sum
}

func addTo(w []float64, row []cell, scale float64) {
	for _, c := range row {
		w[c.column] += float64(scale * float64(c.value))
	}
}

// chooseTemperature returns the one with the least log loss of the true labels.
func chooseTemperature(logits []relation.Logits, labels []relation.Label) float64 {
	best, least := 1.0, math.Inf(1)
	for step := range 60 {
		t := 0.3 + 0.05*float64(step)
		loss := 0.0
		for i, z := range logits {
			loss -= math.Log(max(1e-12, z.Relation(t)[labels[i]]))
		}
		if loss < least {
			best, least = t, loss
		}
	}
	return best
}

// threshold returns the probability of a change that a share of the pairs without a change are above.
func threshold(logits []relation.Logits, labels []relation.Label, temperature, share float64) float64 {
	var others []float64
	for i, z := range logits {
		if !labels[i].Changes() {
			others = append(others, z.Relation(temperature).Change())
		}
	}
	slices.Sort(others)
	if len(others) == 0 {
		return 1
	}
	// the next float above the last pair that may be above, to four decimals
	at := others[len(others)-1-int(share*float64(len(others)))]
	return min(1, (math.Floor(at*1e4)+1)/1e4)
}

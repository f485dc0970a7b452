package features

import (
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// meanings has the units' values from the word vectors.
type meanings struct {
	// vectors has a unit vector for each word of the vocabulary, one after the other.
	vectors []float32
	// frequency is the number of units with a word. rarities are the resulting weights.
	frequency []int32
	rarities  []float32
	// The words of unit i are places[ends[i-1]:ends[i]], as places of the vocabulary.
	places []int32
	ends   []int32
	// means has the direction of each unit's text (wordvector.Sentences), a unit vector, common the mean of these.
	means  []float32
	common []float32
	// around has the factors to unit vectors for a unit's mean with its neighbours. apart has them for its mean
	// without the common mean.
	around []float32
	apart  []float32
	rare   []float32
}

// analyse takes the texts apart.
func (x *Index) analyse() {
	index := func(bm25 text.BM25) *invertedIndex { return &invertedIndex{bm25: bm25} }
	x.full, x.statements = index(entryBM25), index(entryBM25)
	x.dialogue, x.session = index(dialogueBM25), index(sessionBM25)
	r := &reader{vocabulary: x.vocabulary, replaced: x.replaced, tokens: map[written]token{}}
	bySession := make([][]int32, x.sessions)
	var told, said, spoken reading
	var whole []int32
	for i := range x.units {
		u := &x.units[i]
		told.clear()
		said.clear()
		spoken.clear()
		r.readUnit(u, &told, &said, &spoken)
		whole = append(append(whole[:0], said.terms...), told.terms...)
		x.statements.add(told.terms)
		x.full.add(whole)
		x.dialogue.add(spoken.terms)
		bySession[u.session] = append(bySession[u.session], said.terms...)
		x.addWords(told.places, spoken.places)
	}
	for _, terms := range bySession {
		x.session.add(terms)
	}
	x.vocabulary = r.vocabulary
	for _, l := range []*invertedIndex{x.full, x.statements, x.dialogue, x.session} {
		l.seal(len(x.terms))
	}
	x.average()
}

// readUnit reads a unit's statements (told), all text with them (said), and the spoken text (spoken). The statements
// include earlier versions: the words of these find the current version.
func (r *reader) readUnit(u *unit, told, said, spoken *reading) {
	for _, m := range u.memories {
		from := len(told.terms)
		r.read(told, m.Content, u.language)
		for _, old := range r.replaced[m.ID] {
			r.read(told, old.Content, u.language)
		}
		u.terms = append(u.terms, unique(told.terms[from:]))
	}
	statements := len(told.places)
	for _, m := range u.memories {
		r.read(told, m.Topic, u.language)
		if len(u.turns) == 0 {
			r.read(said, m.Speaker, u.language)
		}
		r.read(told, m.Slot, u.language)
		for _, k := range m.Keywords {
			r.read(told, k, u.language)
		}
		if len(u.turns) == 0 {
			r.read(said, m.Value, u.language)
		}
	}
	told.places = told.places[:statements]
	for _, t := range u.turns {
		r.read(said, t.Speaker, u.language)
		r.read(spoken, spokenText(t), u.language)
	}
	said.terms = append(said.terms, spoken.terms...)
	if len(u.turns) == 0 {
		spoken.terms = append(spoken.terms, told.terms...)
		spoken.number, spoken.name = told.number, told.name
	}
	u.timed = u.timed || spoken.time
	u.number, u.name = spoken.number, spoken.name
}

// addWords takes a unit's words, each once.
func (x *Index) addWords(told, spoken []int32) {
	from := len(x.places)
	for _, list := range [...][]int32{told, spoken} {
		for _, p := range list {
			if slices.Contains(x.places[from:], p) {
				continue
			}
			x.places = append(x.places, p)
			for int(p) >= len(x.frequency) {
				x.frequency = append(x.frequency, 0)
			}
			x.frequency[p]++
		}
	}
	x.ends = append(x.ends, int32(len(x.places))) //nolint:gosec // bounded by the length of all texts
}

// wordsOf are the words of a unit.
func (x *Index) wordsOf(i int) []int32 {
	from := int32(0)
	if i > 0 {
		from = x.ends[i-1]
	}
	return x.places[from:x.ends[i]]
}

// average makes the vectors of the vocabulary and the directions of the units' texts, in which rare words of the user
// count more.
func (x *Index) average() {
	d, wide, n := x.table.Dimension(), wordvector.ShippedSentences().Dimension(), len(x.units)
	x.vectors, x.means, x.common = make([]float32, len(x.words)*d), make([]float32, n*wide), make([]float32, wide)
	x.rarities = make([]float32, len(x.words))
	for len(x.frequency) < len(x.words) { // words of keywords alone are in no unit
		x.frequency = append(x.frequency, 0)
	}
	for p, w := range x.words {
		x.add(x.vectors[p*d:(p+1)*d], w, 1)
		x.rarities[p] = x.rarity(w)
	}
	x.rare, x.around, x.apart = make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range n {
		mean := x.mean(i)
		own := x.wordsOf(i)
		for _, p := range own {
			x.addToText(mean, x.words[p], x.rarities[p])
			x.rare[i] += x.rarities[p] / float32(len(own))
		}
		scale(mean, inverse(mean))
		addTo(x.common, mean, 1/float32(n))
	}
	sum := make([]float32, wide)
	for i := range x.units {
		copy(sum, x.mean(i))
		for _, j := range [...]int32{x.beside[i][oneBack], x.beside[i][oneOn]} {
			if j >= 0 {
				addTo(sum, x.mean(int(j)), 0.5)
			}
		}
		x.around[i] = inverse(sum)
		copy(sum, x.mean(i))
		addTo(sum, x.common, -1)
		x.apart[i] = inverse(sum)
	}
}

// mean is the direction of a unit's text.
func (x *Index) mean(i int) []float32 {
	d := len(x.common)
	return x.means[i*d : (i+1)*d : (i+1)*d]
}

func addTo(sum, v []float32, weight float32) { blas32.Axpy(weight, dense(v), dense(sum)) }

func scale(v []float32, by float32) { blas32.Scal(by, dense(v)) }

// measure estimates the memory of the index, with its memories and turns.
func (x *Index) measure() int {
	const perUnit, perMemory, perTurn, perKey = 320, 672, 176, 64
	n := 512 + perKey*(len(x.terms)+len(x.words)) + perUnit*len(x.units)
	for _, l := range []*invertedIndex{x.full, x.statements, x.dialogue, x.session} {
		n += l.bytes()
	}
	for _, s := range x.spelled {
		n += perKey + len(s)
	}
	n += 4 * (len(x.vectors) + len(x.places) + len(x.means) + 6*len(x.units) + 3*len(x.words))
	for _, u := range x.units {
		for k, m := range u.memories {
			n += perMemory + textBytes(m) + 4*len(m.Vector) + 4*len(u.terms[k])
		}
		for _, t := range u.turns {
			n += perTurn + len(t.ID) + len(t.Text) + len(t.Caption)
		}
	}
	return n
}

func textBytes(m memory.Memory) int {
	n := 0
	for _, s := range [...]string{m.ID, m.Content, m.Speaker, m.Value, m.Topic, m.Slot, m.OperationID, m.TraceID} {
		n += len(s)
	}
	for _, list := range [...][]string{m.Keywords, m.Sources, m.Predecessors} {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	return n
}

package relation

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

// Lexicon has the model's data on single words: the rarity in statements, and the group of like words.
type Lexicon struct {
	table *wordvector.Table
	// keys are hashes of words in order, rarities the weight of each in steps of rarityStep.
	keys     []uint32
	rarities []uint8
	// unseen is the weight of a word that is not among keys.
	unseen float32
	// clusters has the group of each row of the table.
	clusters []uint8
}

const rarityStep = 1.0 / 16

func (l *Lexicon) weight(key uint32) float32 {
	if i, ok := slices.BinarySearch(l.keys, key); ok {
		return float32(l.rarities[i]) * rarityStep
	}
	return l.unseen
}

// NewLexicon learns the rarity of words from statements. It divides the words of a table into groups (at most 255) by
// the direction of their vectors (k-means, seeded). The same arguments give the same lexicon.
func NewLexicon(table *wordvector.Table, statements []string, groups int, seed uint64) *Lexicon {
	counts := map[uint32]int{}
	for _, s := range statements {
		for _, t := range tokens(s) {
			if !t.mark && t.first {
				counts[t.key]++
			}
		}
	}
	l := &Lexicon{table: table}
	for key, n := range counts {
		if n > 1 {
			l.keys = append(l.keys, key)
		}
	}
	slices.Sort(l.keys)
	rarity := func(n int) float64 { return math.Log(float64(len(statements)+1) / float64(1+n)) }
	for _, key := range l.keys {
		l.rarities = append(l.rarities, uint8(min(255, max(0, math.Round(rarity(counts[key])/rarityStep)))))
	}
	l.unseen = float32(math.Round(max(0, rarity(1))/rarityStep) * rarityStep)
	l.group(groups, rand.New(rand.NewPCG(seed, 1)))
	return l
}

const groupRounds = 15

// group finds the centres by Lloyd's algorithm on unit vectors: spherical k-means (Dhillon and Modha 2001).
func (l *Lexicon) group(groups int, random *rand.Rand) {
	d := l.table.Dimension()
	words := l.table.Len()
	centres := make([]float32, groups*d)
	for g, w := range random.Perm(words)[:groups] {
		l.table.Add(centres[g*d:(g+1)*d], int32(w), 1)
	}
	for range groupRounds {
		nearest := l.nearest(centres)
		clear(centres)
		for w, g := range nearest {
			l.table.Add(centres[int(g)*d:(int(g)+1)*d], int32(w), 1)
		}
		for g := range groups {
			normalise(centres[g*d : (g+1)*d])
		}
	}
	l.clusters = l.nearest(centres)
}

// nearest returns for each word of the table the centre of the most like direction.
func (l *Lexicon) nearest(centres []float32) []uint8 {
	d := l.table.Dimension()
	out := make([]uint8, l.table.Len())
	v := make([]float32, d)
	for w := range out {
		clear(v)
		l.table.Add(v, int32(w), 1)
		best := float32(math.Inf(-1))
		for g := 0; g < len(centres); g += d {
			if s := dot(v, centres[g:g+d]); s > best {
				best, out[w] = s, uint8(g/d)
			}
		}
	}
	return out
}

func dot(a, b []float32) float32 {
	var s0, s1 float32
	b = b[:len(a)]
	i := 0
	for ; i+1 < len(a); i += 2 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
	}
	if i < len(a) {
		s0 += float32(a[i] * b[i])
	}
	return s0 + s1
}

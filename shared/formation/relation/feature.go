package relation

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The blocks of sparse features. Each block is weighted by inverse document frequency and scaled to length 1, so that
// long and short statements count alike. Blocks before storedWords have features of the later statement alone. Blocks
// before aligned have features of the stored statement alone.
const (
	// laterWords has its words, marks and pairs of neighbouring words.
	laterWords = iota
	// laterLetters has its runs of 3 to 5 letters: what inflections, typos and compounds share.
	laterLetters
	// laterOpening has its first words, each with its place: whom it is about.
	laterOpening
	// storedWords has the words of the stored statement and pairs of neighbours.
	storedWords
	// aligned has neighbours of the later statement with every content word replaced. The replacement is a sign that
	// the stored statement has the word or a similar one, or else the word's group.
	aligned
	// crossed has pairs of a word of either statement, the stored one's by group. It covers a subject that the two
	// statements describe in different words ("handed my badge back" of a job).
	crossed
	// Blocks is how many there are.
	Blocks
)

// BlockNames name the blocks, in order.
var BlockNames = [Blocks]string{"words", "letters", "opening", "stored words", "aligned", "crossed"}

// Blocks that are of one statement alone.
const (
	LaterBlocks = storedWords
	PairBlocks  = aligned
)

// Feature is one sparse feature.
type Feature struct {
	// Key is a hash of the feature, separate for each block.
	Key uint32
	// Count is 1 + ln of how often it occurs.
	Count float32
}

// Inputs are the model's inputs for a pair, without the features of the later statement alone.
type Inputs struct {
	// Sparse are the features by block; the blocks of LaterBlocks are empty.
	Sparse [Blocks][]Feature
	// Dense are numbers as measured, in the order of numberNames.
	Dense []float32
}

// hashes collects keys of features.
type hashes []uint32

// counted returns the distinct keys in order, with their counts.
func (h hashes) counted() []Feature {
	h.sort()
	out := make([]Feature, 0, len(h))
	for i := 0; i < len(h); {
		n := 1
		for i+n < len(h) && h[i+n] == h[i] {
			n++
		}
		out = append(out, Feature{Key: h[i], Count: counts[min(n, len(counts)-1)]})
		i += n
	}
	return out
}

// sort sorts by digits, the lowest first: keys are hashes, on which comparing mispredicts every other branch.
func (h hashes) sort() {
	const digit = 8
	if len(h) < 1<<5 {
		slices.Sort(h)
		return
	}
	from, to := h, make(hashes, len(h))
	for shift := 0; shift < 32; shift += digit {
		var ends [1 << digit]int32
		for _, key := range from {
			ends[key>>shift&(1<<digit-1)]++
		}
		sum := int32(0)
		for d, n := range ends {
			ends[d] = sum
			sum += n
		}
		for _, key := range from {
			d := key >> shift & (1<<digit - 1)
			to[ends[d]] = key
			ends[d]++
		}
		from, to = to, from
	}
}

// counts has 1 + ln n; nothing occurs much oftener in a statement.
var counts = func() (c [64]float32) {
	for n := 1; n < len(c); n++ {
		c[n] = float32(1 + math.Log(float64(n)))
	}
	return c
}()

// Seeds keep kinds of features apart.
const (
	seedWord = iota + 1
	seedBigram
	seedMark
	seedLetters
	seedOpening
	seedAligned
	seedCrossed
	seedCrossedGroup
	edge
	sameWord
	samePossessor
	likeWord
	digits
	unknownWord
	group
)

// mix joins two hashes; the order counts.
func mix(a, b uint32) uint32 {
	h := a ^ (b + 0x9e3779b9 + a<<6 + a>>2)
	h ^= h >> 16
	h *= 0x7feb352d
	h ^= h >> 15
	h *= 0x846ca68b
	return h ^ h>>16
}

// spoken are a statement's words with the marks that ask or exclaim.
func spoken(tokens []token) []token {
	return slices.DeleteFunc(slices.Clone(tokens), func(t token) bool {
		return t.mark && t.lower != "?" && t.lower != "!"
	})
}

// Later returns the features of the later statement alone, by block.
func (r *Reading) Later() (out [LaterBlocks][]Feature) {
	words := spoken(r.tokens)
	out[laterWords] = wordFeatures(r.tokens, words)
	out[laterLetters] = letters(words).counted()
	var h hashes
	for i, t := range words[:min(len(words), 4)] {
		h = append(h, mix(seedOpening+uint32(i)<<8, t.key)) //nolint:gosec // i is at most 3
	}
	out[laterOpening] = h.counted()
	return out
}

// wordFeatures are words, marks and pairs of neighbouring words.
func wordFeatures(all, words []token) []Feature {
	var h hashes
	before := uint32(edge)
	for _, t := range words {
		h = append(h, mix(seedWord, t.key), mix(seedBigram, mix(before, t.key)))
		before = t.key
	}
	h = append(h, mix(seedBigram, mix(before, edge)))
	for _, t := range all {
		if t.mark {
			h = append(h, mix(seedMark, t.key))
		}
	}
	return h.counted()
}

// letters returns the runs of 3 to 5 letters of words with one space around each.
func letters(words []token) hashes {
	var b strings.Builder
	b.WriteByte(' ')
	for _, t := range words {
		b.WriteString(t.lower)
		b.WriteByte(' ')
	}
	s := b.String()
	h := make(hashes, 0, 3*len(s))
	for start := 0; start < len(s); {
		end, run := start, uint32(2166136261)
		for n := 1; n <= 5 && end < len(s); n++ {
			_, size := utf8.DecodeRuneInString(s[end:])
			run = hashOn(run, s[end:end+size])
			end += size
			if n >= 3 {
				h = append(h, mix(seedLetters, run))
			}
		}
		_, size := utf8.DecodeRuneInString(s[start:])
		start += size
	}
	return h
}

// aligned returns the features of that block.
func (l *Lexicon) aligned(later, stored *Reading, near []float32) hashes {
	h := make(hashes, 0, len(later.tokens)+1)
	before := uint32(edge)
	for i := range later.tokens {
		sign := l.sign(&later.tokens[i], stored, near[i])
		h = append(h, mix(seedAligned, mix(before, sign)))
		before = sign
	}
	return append(h, mix(seedAligned, mix(before, edge)))
}

// crossedWeight is how rare words are that are crossed.
const crossedWeight = 2

// crossed returns the features of that block.
func (l *Lexicon) crossed(later, stored *Reading) hashes {
	var h hashes
	for i := range later.tokens {
		t := &later.tokens[i]
		if t.mark || !t.first || t.weight < crossedWeight {
			continue
		}
		for j := range stored.tokens {
			u := &stored.tokens[j]
			if u.mark || !u.first || u.weight < crossedWeight || u.row < 0 {
				continue
			}
			if t.row >= 0 {
				h = append(h, mix(seedCrossedGroup, mix(uint32(t.cluster), uint32(u.cluster))))
			}
			h = append(h, mix(seedCrossed, mix(t.stem, uint32(u.cluster))))
		}
	}
	return h
}

// likeFrom is the cosine from which two words count as alike.
const likeFrom = 0.55

// sign returns the replacement for a content word of the later statement, and any other word itself.
func (l *Lexicon) sign(t *token, stored *Reading, near float32) uint32 {
	switch {
	case !t.content():
		return t.key
	case t.possessive != 0 && hasWord(stored, t.possessive):
		return samePossessor
	case stored.has(t):
		return sameWord
	case near >= likeFrom:
		return likeWord
	case t.number:
		return digits
	case t.row < 0:
		return unknownWord
	}
	return mix(group, uint32(t.cluster))
}

// has is whether a statement has a word, or one of the same stem.
func (r *Reading) has(t *token) bool {
	return slices.ContainsFunc(r.tokens, func(u token) bool {
		return !u.mark && (u.key == t.key || u.stem == t.stem) && !isNamesake(t, &u) && !isNamesake(&u, t)
	})
}

// commonWeight is the highest weight of a word that may be a person's name and a common word: Job, May, Mark.
const commonWeight = 7

// isNamesake reports whether a is a name that looks like the word b.
func isNamesake(a, b *token) bool { return a.name && !b.capital && b.weight < commonWeight }

// Pair returns the model's inputs for two statements.
func (l *Lexicon) Pair(later, stored Reading) Inputs {
	var in Inputs
	in.Sparse[storedWords] = wordFeatures(nil, spoken(stored.tokens))
	// near has for each token the highest cosine with a word of the other statement.
	nearLater, nearStored := make([]float32, len(later.tokens)), make([]float32, len(stored.tokens))
	for _, i := range later.compared {
		for _, j := range stored.compared {
			s := float32(1)
			if later.tokens[i].row != stored.tokens[j].row {
				s = l.table.Similarity(later.tokens[i].row, stored.tokens[j].row)
			}
			nearLater[i], nearStored[j] = max(nearLater[i], s), max(nearStored[j], s)
		}
	}
	in.Sparse[aligned] = l.aligned(&later, &stored, nearLater).counted()
	in.Sparse[crossed] = l.crossed(&later, &stored).counted()
	in.Dense = l.dense(&later, &stored, nearLater, nearStored)
	return in
}

package features

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/text"
)

// Parameters of BM25. Entries are short and much alike in length; sessions are texts as of a textbook, dialogue is
// between the two.
var (
	entryBM25    = text.BM25{K1: 0.9, B: 0.4}
	dialogueBM25 = text.BM25{K1: 1.2, B: 0.5}
	sessionBM25  = text.BM25{K1: 1.2, B: 0.75}
)

// posting says how much a document has of a term: its frequency as BM25 lets it count.
type posting struct {
	doc    int32
	weight float32
}

// invertedIndex finds documents by their terms. Documents are added in order, and the index is sealed before the
// first query.
type invertedIndex struct {
	bm25 text.BM25
	// added has the terms and counts of each document until all is sealed.
	added   []posting
	terms   []int32
	lengths []int32
	// The postings of term t are postings[starts[t]:starts[t+1]].
	starts   []int32
	postings []posting
	buffer   []int32
}

// add takes a document's terms, which stay the caller's.
func (l *invertedIndex) add(terms []int32) {
	doc := int32(len(l.lengths)) //nolint:gosec // bounded by the number of memories
	l.buffer = append(l.buffer[:0], terms...)
	slices.Sort(l.buffer)
	for i, t := range l.buffer {
		if i > 0 && l.buffer[i-1] == t {
			l.added[len(l.added)-1].weight++
			continue
		}
		l.terms = append(l.terms, t)
		l.added = append(l.added, posting{doc, 1})
	}
	l.lengths = append(l.lengths, int32(len(terms))) //nolint:gosec // bounded by the length of a turn
}

// seal sorts the added entries by term; terms is the number of terms.
func (l *invertedIndex) seal(terms int) {
	mean := 0.0
	for _, n := range l.lengths {
		mean += float64(n)
	}
	mean = max(1, mean/float64(max(1, len(l.lengths))))
	l.starts = make([]int32, terms+1)
	for _, t := range l.terms {
		l.starts[t+1]++
	}
	for t := range terms {
		l.starts[t+1] += l.starts[t]
	}
	l.postings = make([]posting, len(l.added))
	next := slices.Clone(l.starts)
	for i, p := range l.added {
		p.weight = float32(l.bm25.Weight(float64(p.weight), float64(l.lengths[p.doc])/mean))
		t := l.terms[i]
		l.postings[next[t]] = p
		next[t]++
	}
	l.added, l.terms, l.buffer = nil, nil, nil
}

func (l *invertedIndex) idf(term int32) float64 {
	n := 0
	if term >= 0 {
		n = int(l.starts[term+1] - l.starts[term])
	}
	return text.InverseFrequency(n, len(l.lengths))
}

// score is BM25 of the terms, as a share of the maximum for a document with all of them once. A negative term occurs
// in no document.
func (l *invertedIndex) score(terms []weighed) []float32 { return l.sum(terms, false) }

// cover is the share of the terms, by their weight, that a document has.
func (l *invertedIndex) cover(terms []weighed) []float32 { return l.sum(terms, true) }

// sum adds up the terms of each document, as shares of all query terms; once means that repetitions do not count.
func (l *invertedIndex) sum(terms []weighed, once bool) []float32 {
	out, total := make([]float32, len(l.lengths)), 0.0
	for _, t := range terms {
		total += float64(t.weight) * l.idf(t.number)
	}
	for _, t := range terms {
		if t.number < 0 {
			continue
		}
		share := float32(float64(t.weight) * l.idf(t.number) / total)
		for _, p := range l.postings[l.starts[t.number]:l.starts[t.number+1]] {
			if once {
				p.weight = 1
			}
			out[p.doc] += share * p.weight
		}
	}
	return out
}

// bytes is the memory of a sealed index.
func (l *invertedIndex) bytes() int { return 8*len(l.postings) + 4*(len(l.starts)+len(l.lengths)) }

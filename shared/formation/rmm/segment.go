package rmm

import (
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// How a speaker's statements are cut into topics.
const (
	// maxSummaryWords bounds a summary; further text begins a separate topic, so that no text is left out.
	maxSummaryWords = 60
	// blockSize is how many statements on each side of a gap are compared.
	blockSize = 2
	// leastCohesion is what keeps two blocks together at least.
	leastCohesion = 0.1
	// sameTurn is what being said in one breath adds to the cohesion.
	sameTurn = 0.25
)

// statement is a quotation with what segmenting needs of it.
type statement struct {
	formation.Candidate
	// turn is the position of the turn that tells it.
	turn  int
	owner string
	words int
	stems map[string]float64
}

func newStatement(c formation.Candidate, turn int, owner string) statement {
	s := statement{Candidate: c, turn: turn, owner: owner, words: len(strings.Fields(c.Content)),
		stems: map[string]float64{}}
	name := text.StemSet(owner)
	for _, stem := range text.ContentStems(c.Content) {
		if !name[stem] {
			s.stems[stem]++
		}
	}
	if c.Topic != "" {
		s.stems["~"+c.Topic]++ // the domain of life speaks for statements that share no word
	}
	return s
}

// alone reports whether a statement is a separate topic. A state is compared with the bank alone, so that a change of
// one state leaves the others. Events are summarised.
func (s statement) alone() bool { return s.Kind != memory.KindEpisodic }

// segments cuts one speaker's statements into topics, as TextTiling does. It compares the blocks before and after each
// gap. A topic ends at a gap without common words, or in a valley that is deeper than usual. It also ends where
// another event begins and where the summary would grow too long.
func segments(list []statement) [][]statement {
	var out [][]statement
	var tiled []statement
	for _, s := range list {
		if s.alone() {
			out = append(out, []statement{s})
			continue
		}
		tiled = append(tiled, s)
	}
	cuts := valleys(cohesion(tiled))
	var topic []statement
	for i, s := range tiled {
		if i > 0 && (cuts[i-1] || !fits(topic, s)) {
			out, topic = append(out, topic), nil
		}
		topic = append(topic, s)
	}
	if len(topic) > 0 {
		out = append(out, topic)
	}
	return out
}

// fits reports whether a statement may go on with a topic.
func fits(topic []statement, s statement) bool {
	words := s.words
	for _, t := range topic {
		words += t.words
		if t.EventTime.Expression != "" && s.EventTime.Expression != "" && !compatible(t.EventTime, s.EventTime) {
			return false // where no time was named, the day of the talk stands for it
		}
	}
	return words <= maxSummaryWords
}

// cohesion scores the gaps between neighbouring statements, 0 to 1.
func cohesion(list []statement) []float64 {
	out := make([]float64, max(len(list)-1, 0))
	for i := range out {
		before := blockOf(list[max(0, i+1-blockSize) : i+1])
		behind := blockOf(list[i+1 : min(len(list), i+1+blockSize)])
		out[i] = similar(before, behind)
		if list[i].turn == list[i+1].turn {
			out[i] = min(1, out[i]+sameTurn)
		}
	}
	return out
}

func blockOf(list []statement) map[string]float64 {
	block := map[string]float64{}
	for _, s := range list {
		for stem, n := range s.stems {
			block[stem] += n
		}
	}
	return block
}

// similar is the cosine of two bags of stems. Counts are whole numbers, so that the order of adding makes no
// difference.
func similar(a, b map[string]float64) float64 {
	var dot, aa, bb float64
	for stem, n := range a {
		dot += n * b[stem]
		aa += n * n
	}
	for _, n := range b {
		bb += n * n
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// valleys says at which gaps a topic ends. The depth of a gap is how far the scores rise to both sides of it.
func valleys(scores []float64) []bool {
	depths := make([]float64, len(scores))
	var mean, square float64
	for i := range scores {
		depths[i] = peak(scores, i, -1) + peak(scores, i, 1) - 2*scores[i]
		mean += depths[i] / float64(len(scores))
	}
	for _, d := range depths {
		square += (d - mean) * (d - mean) / float64(len(scores))
	}
	out := make([]bool, len(scores))
	for i, s := range scores {
		out[i] = s < leastCohesion || depths[i] > mean+math.Sqrt(square)/2
	}
	return out
}

// peak is how high the scores rise from a gap in one direction before they fall.
func peak(scores []float64, i, step int) float64 {
	for i+step >= 0 && i+step < len(scores) && scores[i+step] >= scores[i] {
		i += step
	}
	return scores[i]
}

// topicOf makes one candidate of a segment: the statements, each once, with all their turns.
func topicOf(segment []statement) formation.Candidate {
	first := segment[0]
	if len(segment) == 1 {
		c := first.Candidate
		c.Keywords = owned(first.owner, c.Keywords)
		return c
	}
	c := formation.Candidate{Speaker: first.Speaker, Tier: first.Tier, Kind: mode(segment, func(s statement) memory.Kind {
		return s.Kind
	}),
		Topic: mode(segment, func(s statement) string { return s.Topic })}
	var contents, keywords []string
	for _, s := range segment {
		if !slices.Contains(contents, s.Content) {
			contents = append(contents, s.Content)
		}
		for _, id := range s.Sources {
			if !slices.Contains(c.Sources, id) {
				c.Sources = append(c.Sources, id)
			}
		}
		if c.EventTime.Time.IsZero() || c.EventTime.Expression == "" && s.EventTime.Expression != "" {
			c.EventTime = s.EventTime
		}
		keywords = append(keywords, s.Keywords...)
	}
	c.Content = strings.Join(contents, " ")
	slices.Sort(keywords)
	c.Keywords = owned(first.owner, slices.Compact(keywords))
	return c
}

// mode is the most frequent value that is not empty, the first of several.
func mode[V ~string](segment []statement, of func(statement) V) V {
	var best V
	most, count := 0, map[V]int{}
	for _, s := range segment {
		if v := of(s); v != "" {
			count[v]++
		}
	}
	for _, s := range segment {
		if v := of(s); count[v] > most {
			best, most = v, count[v]
		}
	}
	return best
}

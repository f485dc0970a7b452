package parallel

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// When candidates belong together.
const (
	// nearCandidate is the cosine of two candidates that say much the same.
	nearCandidate = 0.7
	// nearMemory is how near two candidates are to one entry that either of them may change.
	nearMemory = 0.6
	// sharedWords is the least number of content words for two candidates with one subject. The words must also be
	// sharedShare of the shorter candidate's words; a denial has more words than the statement that it denies. For
	// short candidates within nearTurns turns, one rare word is enough. At most fewCandidates candidates, or one in
	// twenty, may have it.
	sharedWords = 2
	sharedShare = 0.3
	deniedShare = 0.2
	fewWords    = 3
	nearTurns   = 2

	fewCandidates = 3

	// wordsBound is the most candidates of a group that words and names alone join. In a long session nearly all
	// candidates are linked indirectly. The strongest links therefore come first, and the weakest are ignored.
	wordsBound = 40
)

// reporting words describe the act of speech, not its content.
var reporting = map[string]bool{"said": true, "ask": true, "share": true, "photo": true, "assist": true, "user": true,
	"know": true, "told": true, "still": true}

// sets is a union-find over positions.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func (s sets) find(i int) int {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

// join keeps the smaller position as the representative, so that the result does not depend on the order of joining.
func (s sets) join(i, j int) {
	i, j = s.find(i), s.find(j)
	s[max(i, j)] = min(i, j)
}

// link says how strongly two positions hang together by words.
type link struct {
	i, j     int
	strength float64
}

// joinWithin joins by links, the strongest first, as long as the sets stay within the bound.
func (s sets) joinWithin(links []link, bound int) {
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(b.strength, a.strength), cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j))
	})
	size := map[int]int{}
	for i := range s {
		size[s.find(i)]++
	}
	for _, l := range links {
		i, j := s.find(l.i), s.find(l.j)
		if i != j && size[i]+size[j] <= bound {
			s.join(i, j)
			size[min(i, j)] = size[i] + size[j]
		}
	}
}

// lists returns the sets by their first positions, each in ascending order.
func (s sets) lists() [][]int {
	at := map[int]int{}
	var out [][]int
	for i := range s {
		root := s.find(i)
		k, ok := at[root]
		if !ok {
			k = len(out)
			at[root] = k
			out = append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	return out
}

// groups brings candidates together that may have to do with each other.
func groups(in formation.Bundle) [][]int {
	s := newSets(len(in.Related))
	joinByKey(s, in)
	joinByVector(s, in)
	s.joinWithin(slices.Concat(linksByName(in), linksByWords(in)), wordsBound)
	return s.lists()
}

// joinByKey joins candidates of one turn, since they often state one change together. It also joins candidates of one
// slot, of one text, and near to one entry.
func joinByKey(s sets, in formation.Bundle) {
	first := map[string]int{}
	join := func(i int, parts ...string) {
		key := strings.Join(parts, "\x00")
		if j, ok := first[key]; ok {
			s.join(i, j)
			return
		}
		first[key] = i
	}
	for i, r := range in.Related {
		c := r.Candidate
		join(i, "text", strings.Join(text.ContentStems(c.Content), " "))
		if len(c.Sources) > 0 {
			join(i, "turn", c.Sources[0])
		}
		if c.Slot != "" {
			join(i, "slot", c.Slot)
		}
		for k, m := range r.Memories {
			if k < len(r.Similarity) && r.Similarity[k] >= nearMemory || c.Slot != "" && m.Slot == c.Slot {
				join(i, "entry", m.ID)
			}
		}
	}
}

// linksByName links candidates that name the same, each to the one before.
func linksByName(in formation.Bundle) []link {
	var out []link
	speakers, last := formation.SpeakerStems(in.Session.Turns), map[string]int{}
	for i, r := range in.Related {
		for _, name := range namesIn(r.Candidate.Content, speakers) {
			if j, ok := last[name]; ok {
				out = append(out, link{i, j, 1})
			}
			last[name] = i
		}
	}
	return out
}

// namesIn are the stems of the words written with a capital inside a sentence, but the speakers' names.
func namesIn(content string, speakers map[string]bool) []string {
	var out []string
	end := 0
	for _, w := range text.Words(content) {
		opening := end == 0 || strings.ContainsAny(content[end:w.Start], ".!?:\"")
		end = w.End
		stem := text.Stem(w.Lower)
		if w.Capital && !opening && !text.IsStopWord(w.Lower) && !speakers[stem] {
			out = append(out, stem)
		}
	}
	return out
}

// linksByWords links candidates that share content words, as strongly as these are a share of the shorter one's.
func linksByWords(in formation.Bundle) []link {
	var out []link
	stems, having := stemsOf(in)
	turns := turnsOf(in)
	common := max(fewCandidates, len(stems)/20)
	for i, r := range in.Related {
		shared, rare := map[int]int{}, map[int]bool{}
		for _, stem := range stems[i] {
			for _, j := range having[stem] {
				if j >= i {
					break
				}
				shared[j]++
				rare[j] = rare[j] || len(having[stem]) <= common
			}
		}
		for j, n := range shared {
			least := min(len(stems[i]), len(stems[j]))
			denies := r.Candidate.Negates || in.Related[j].Candidate.Negates
			nearby := least <= fewWords || turns[i]-turns[j] <= nearTurns
			if rare[j] && nearby || n == least || oneTopic(n, least, denies) {
				out = append(out, link{i, j, float64(n) / float64(least)})
			}
		}
	}
	return out
}

// stemsOf returns each candidate's content words, and which candidates have a word, in their order.
func stemsOf(in formation.Bundle) (stems [][]string, having map[string][]int) {
	speakers := formation.SpeakerStems(in.Session.Turns)
	stems, having = make([][]string, len(in.Related)), map[string][]int{}
	for i, r := range in.Related {
		for stem := range text.StemSet(r.Candidate.Content) {
			if !speakers[stem] && !reporting[stem] {
				stems[i] = append(stems[i], stem)
				having[stem] = append(having[stem], i)
			}
		}
	}
	return stems, having
}

// turnsOf are the positions of the candidates' last turns.
func turnsOf(in formation.Bundle) []int {
	position := in.Session.Positions()
	out := make([]int, len(in.Related))
	for i, r := range in.Related {
		for _, id := range r.Candidate.Sources {
			out[i] = max(out[i], position[id])
		}
	}
	return out
}

// oneTopic reports whether two candidates that share n content words, where the shorter has least, are of one topic.
func oneTopic(n, least int, denies bool) bool {
	share := sharedShare
	if denies {
		share = deniedShare
	}
	return n >= sharedWords && float64(n) >= share*float64(least)
}

// joinByVector joins candidates that are near to each other.
func joinByVector(s sets, in formation.Bundle) {
	for i, r := range in.Related {
		for j := range i {
			if s.find(i) != s.find(j) && memory.Cosine(r.Candidate.Vector, in.Related[j].Candidate.Vector) >= nearCandidate {
				s.join(i, j)
			}
		}
	}
}

// pack puts groups into as few bins of at most size candidates as it can. It takes the largest first, and puts each
// into the emptiest bin with room. A larger group has a separate bin. Positions in a bin ascend, and so do the bins'
// first positions.
func pack(groups [][]int, size int) [][]int {
	total := 0
	for _, g := range groups {
		total += len(g)
	}
	bins := make([][]int, (total+size-1)/size)
	bySize := slices.Clone(groups)
	slices.SortStableFunc(bySize, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	for _, g := range bySize {
		best := 0
		for i := range bins {
			if len(bins[i]) < len(bins[best]) {
				best = i
			}
		}
		if len(bins[best]) > 0 && len(bins[best])+len(g) > size {
			best = len(bins)
			bins = append(bins, nil)
		}
		bins[best] = append(bins[best], g...)
	}
	bins = slices.DeleteFunc(bins, func(b []int) bool { return len(b) == 0 })
	return ordered(bins)
}

func ordered(bins [][]int) [][]int {
	for _, b := range bins {
		slices.Sort(b)
	}
	slices.SortFunc(bins, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return bins
}

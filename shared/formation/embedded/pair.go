package embedded

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Pair is a statement beside a known entry that it may change.
type Pair struct {
	// Statement and Sources are the candidate's content and turns.
	Statement string
	Sources   []string
	// Entry is the known one.
	Entry memory.Memory
	// X are the features, as Features names them.
	X []float64
}

// Judge says how likely a pair is a change: that the statement takes the entry's place, takes it back or adds to it. 0 to 1.
type Judge func(Pair) float64

// token is a content word in its place.
type token struct {
	stem, lower string
	capital     bool
}

func tokensOf(marked string) []token {
	words := text.Words(marked)
	out := make([]token, len(words))
	for i, w := range words {
		lower := strings.TrimSuffix(w.Lower, "'s")
		out[i] = token{text.Stem(lower), lower, w.Capital && i > 0}
	}
	return out
}

// pairs returns the known entries of the same owner that share something with a statement, with their features.
func (d *decider) pairs(p proposal, known []memory.Memory, similarity map[string]float64) []Pair {
	if hardly(p.marked) {
		return nil
	}
	asked := map[string]bool{}
	if q := d.asked(p); q != "" && (p.cues | d.answerCues(p)).has(cueEnd|cueReplace|cueLimit) {
		asked = anchorsOf(q)
	}
	holders := map[string]int{}
	for _, m := range known {
		for a := range d.reading(m, p.self).anchors {
			holders[a]++
		}
	}
	var shared []overlap
	for _, m := range known {
		old := d.reading(m, p.self)
		// What happened stays true when it no longer does, and when it happens again.
		over := old.isOver(m, p.at) && (p.Negates ||
			p.cues&^cueAgain == 0 && p.Kind == memory.KindEpisodic && p.isOver(memory.Memory{Kind: p.Kind, EventTime: p.EventTime}, p.at))
		over = over || p.Negates && isKin(p.subject) != isKin(old.subject) && leads(p.reading) && leads(old)
		if !d.sameOwner(p, old) || p.at.Before(m.ValidFrom) || m.Sources[0] == p.Sources[0] || over {
			continue
		}
		o := overlapOf(p.reading, old, asked, holders)
		o.entry, o.old = m, old
		if o.own+o.asked > o.days || o.kin > 0 || p.classes&old.classes != 0 || o.days > 0 && o.stems > 0 || p.Slot != "" && p.Slot == m.Slot {
			shared = append(shared, o)
		}
	}
	return d.ranked(p, shared, similarity)
}

// ranked adds to the features of each pair how it compares with the others.
func (d *decider) ranked(p proposal, shared []overlap, similarity map[string]float64) []Pair {
	top, second, newest := 0.0, 0.0, memory.Memory{}
	for _, o := range shared {
		switch {
		case o.score > top:
			top, second, newest = o.score, top, o.entry
		case o.score > second:
			second = o.score
		}
		if o.score == top && o.entry.ValidFrom.After(newest.ValidFrom) {
			newest = o.entry
		}
	}
	out := make([]Pair, 0, len(shared))
	for _, o := range shared {
		rest := top
		if o.score == top {
			rest = second
		}
		x := d.features(p, o, similarity)
		nearer, later := 0, 0
		for _, other := range shared {
			nearer += count(d.nearness(p, other.entry, similarity) > d.nearness(p, o.entry, similarity))
			later += count(other.entry.ValidFrom.After(o.entry.ValidFrom))
		}
		x = append(x, o.score/max(top, 1e-9), o.score-rest, flag(o.entry.ID == newest.ID), float64(len(shared)), float64(nearer), float64(later))
		out = append(out, Pair{Statement: p.Content, Sources: p.Sources, Entry: o.entry, X: x})
	}
	return out
}

// overlap is what a statement and an entry share.
type overlap struct {
	entry memory.Memory
	old   *reading
	// own and asked count the shared anchors of the statement and of the question before it, days the weekdays among them; score
	// weighs them by how few entries have them.
	own, asked, days int
	// stems counts the shared content stems that are no anchors, kin the shared relatives.
	stems, kin       int
	score            float64
	names            int
	afterEnd, before int
	afterMore        int
	rarest           int
}

func overlapOf(now, old *reading, asked map[string]bool, holders map[string]int) overlap {
	o := overlap{rarest: 99}
	for _, a := range now.named { // in a fixed order, so that the sum is always the same
		if !old.anchors[a] {
			continue
		}
		o.own++
		if weekdayStem(a) {
			o.days++
		}
		o.score += 1 / float64(holders[a])
		o.rarest = min(o.rarest, holders[a])
	}
	for _, a := range slices.Sorted(maps.Keys(asked)) {
		if old.anchors[a] && !now.anchors[a] {
			o.asked++
			o.score += 0.7 / float64(holders[a])
			o.rarest = min(o.rarest, holders[a])
		}
	}
	for s := range now.stems {
		if old.stems[s] && !now.anchors[s] && s != selfMark {
			o.stems++
		}
	}
	for _, r := range now.kin {
		o.kin += count(slices.Contains(old.kin, r))
	}
	for i, t := range now.tokens {
		if !now.anchors[t.stem] || !old.anchors[t.stem] {
			continue
		}
		if t.capital {
			o.names++
		}
		o.afterEnd += count(near(now.tokens, i-4, i, endsBefore))
		o.before += count(near(now.tokens, i+1, i+5, endsAfter))
		o.afterMore += count(near(now.tokens, i-3, i, addsBefore))
	}
	return o
}

func near(tokens []token, from, to int, set map[string]bool) bool {
	for i := max(from, 0); i < min(to, len(tokens)); i++ {
		if set[tokens[i].lower] {
			return true
		}
	}
	return false
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func flag(b bool) float64 { return float64(count(b)) }

var (
	endsBefore = text.WordSet(`left leave leaving from instead not no goodbye bye farewell without dropped drop stopped stop quit gave given
		lost than old swapped swap traded replaced cancelled canceled off over done finished never longer sold ditched scrapped against
		rather leaves isn't wasn't aren't don't ended history bored away through`)
	endsAfter = text.WordSet(`anymore any gone over history off bored out nothing longer cancelled ended wasn't isn't didn't closed broke
		broken no through past instead fell swapped crown`)
	addsBefore = text.WordSet("besides beside top next also with at for in and plus of on about my to too")
	feeling    = text.WordSet(`feel feels feeling felt think thinks thinking thought learned taught showed shows meant means looking back
		leaves left made makes lesson proud curious used remember remembers`)
)

func hasAny(tokens []token, set map[string]bool) bool {
	return near(tokens, 0, len(tokens), set)
}

// nearness is how alike a statement and an entry are by their vectors.
func (d *decider) nearness(p proposal, m memory.Memory, similarity map[string]float64) float64 {
	if s, ok := similarity[m.ID]; ok {
		return s
	}
	return memory.Cosine(p.Vector, m.Vector)
}

// features reads off a pair what Features names, but for what compares it with the other pairs.
func (d *decider) features(p proposal, o overlap, similarity map[string]float64) []float64 {
	old, m := o.old, o.entry
	answers := d.answerCues(p) != 0
	cosine := d.nearness(p, m, similarity)
	newNames := 0
	for _, t := range p.tokens {
		if t.capital && p.anchors[t.stem] && !old.anchors[t.stem] {
			newNames++
		}
	}
	x := []float64{
		o.score, float64(o.own), float64(o.asked), float64(o.names), float64(o.rarest),
		float64(o.own) / float64(max(len(p.anchors), 1)), float64(o.own+o.asked) / float64(max(len(old.anchors), 1)),
		float64(min(o.afterEnd, 2)), float64(min(o.before, 2)), float64(min(o.afterMore, 2)),
		cosine, float64(newNames), flag(answers), float64(o.days), float64(o.own - o.days), float64(len(p.anchors) - o.own),
		float64(len(m.Sources)),
		float64(len(p.tokens)), float64(len(old.tokens)),
		math.Log1p(p.at.Sub(m.ValidFrom).Hours() / 24), flag(m.SessionID == d.session.ID),
		flag(p.Slot != "" && p.Slot == m.Slot), flag(p.Slot != "" && m.Slot != "" && p.Slot != m.Slot), flag(p.Slot != ""), flag(m.Slot != ""),
		flag(p.denies || p.Negates), flag(old.denies), flag(p.Topic == m.Topic),
		flag(p.owner == "self"), flag(old.owner == "self"), flag(p.owner == old.owner),
		flag(strings.Contains(p.marked, " said: ")), flag(strings.Contains(old.marked, " said: ")),
		flag(strings.HasPrefix(p.marked, selfMark+" asked")), flag(strings.HasPrefix(old.marked, selfMark+" asked")),
		flag(hasAny(p.tokens, feeling)), flag(hasAny(old.tokens, feeling)),
		flag(p.EventTime.Expression != ""), flag(m.EventTime.Expression != ""), flag(p.EventTime.Time.After(p.at)),
		flag(m.EventTime.Time.After(m.ValidFrom)),
		flag(strings.Contains(p.marked, "shared a photo")), flag(strings.Contains(old.marked, "shared a photo")),
	}
	x = append(x, flag(p.classes&old.classes != 0), flag(p.classes != 0 && old.classes != 0 && p.classes&old.classes == 0),
		float64(o.stems), float64(o.kin), flag(old.isOver(m, p.at)), flag(len(p.kin) > 0 && len(old.kin) > 0 && o.kin == 0),
		flag(isKin(p.subject)), flag(isKin(old.subject)), flag(p.subject == old.subject),
		flag(notNegation.MatchString(p.marked)), flag(p.weekday != "" && old.weekday != "" && p.weekday != old.weekday),
		flag(p.number != "" && old.number != "" && p.number != old.number), flag(p.number != "" && p.number == old.number))
	for c := cueEnd; c <= cueAgain; c <<= 1 {
		x = append(x, flag(p.cues.has(c)), flag(old.cues.has(c)))
	}
	for _, k := range pairKinds {
		x = append(x, flag(p.Kind == k), flag(m.Kind == k))
	}
	return x
}

var pairKinds = []memory.Kind{memory.KindFact, memory.KindPreference, memory.KindEpisodic, memory.KindProcedural}

// Features names the inputs of the model, in order. "old" is the known entry, "new" the statement.
func Features() []string {
	return strings.Fields(`overlap shared asked names rarest share_new share_old after_end before_end after_more cosine new_names
		answers_no days_shared matters_shared anchors_new sources_old words_new words_old age same_session same_slot other_slot slot_new
		slot_old denies_new denies_old same_topic self_new self_old same_owner said_new said_old asked_new asked_old feels_new feels_old
		dated_new dated_old ahead_new ahead_old photo_new photo_old same_matter other_matter stems_shared kin_shared over_old other_kin
		kin_new kin_old same_subject hardly other_weekday other_number same_number end_new end_old replace_new replace_old limit_new
		limit_old more_new more_old wish_new wish_old again_new again_old fact_new fact_old preference_new preference_old episodic_new
		episodic_old procedural_new procedural_old rank gap newest rivals nearer later`)
}

package features

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	model "github.com/mneme-memory/mneme/shared/ranking/standing"
	"github.com/mneme-memory/mneme/shared/text"
)

// Index has one user's data, ready for queries. It does not change, and is safe for concurrent use.
type Index struct {
	vocabulary
	units    []unit
	speakers []speaker
	// beside has the neighbours of each unit in its session: one before and one after, or -1.
	beside [][2]int32
	// users is the number of speakers who are users.
	users int
	// sessions has the number of units of each session.
	sessions                            int
	full, statements, dialogue, session *invertedIndex
	meanings
	// embedded has the memories with a vector, in the order of the units.
	embedded []memoryVector
	// newer finds the current memories that link to a memory.
	newer memory.Newer[link]
	// replaced has the earlier versions of a current memory, by its id.
	replaced map[string][]memory.Memory
	first    time.Time
	span     time.Duration
	bytes    int
}

// unit is a competitor for a place: the valid memories of one turn, or the memories that are no longer valid.
type unit struct {
	memories []memory.Memory
	turns    []memory.Turn
	// inverse has the scale of each memory's vector to a unit vector. terms are the sorted search terms of each
	// statement.
	inverse []float32
	terms   [][]int32
	at      time.Time
	session int32
	speaker int32
	// language is the language of the turns, else of the statements.
	language text.Language
	length   float32
	fact     float32
	standing float32
	active   bool
	asks     bool
	dated    bool
	timed    bool
	number   bool
	name     bool
	opens    bool
	// reply reports that an assistant said it, talk that none of the memories is more than talk.
	reply, talk bool
}

// memoryVector is the vector of a memory of a unit, with its scale to a unit vector.
type memoryVector struct {
	vector  []float32
	inverse float32
	unit    int32
}

// layVectors puts all vectors beside each other in memory, because each query reads all of them.
func (x *Index) layVectors() {
	total := 0
	for _, u := range x.units {
		for _, m := range u.memories {
			total += len(m.Vector)
		}
	}
	all := make([]float32, 0, total)
	for i := range x.units {
		u := &x.units[i]
		for k := range u.memories {
			v := &u.memories[k].Vector
			if len(*v) == 0 {
				continue
			}
			all = append(all, *v...)
			*v = all[len(all)-len(*v) : len(all) : len(all)]
			if u.inverse[k] != 0 {
				x.embedded = append(x.embedded, memoryVector{*v, u.inverse[k], int32(i)}) //nolint:gosec // as many as memories
			}
		}
	}
}

// link is the place of a memory with a link: its unit, and its place in the unit.
type link struct{ unit, member int }

// findLinks finds the current memories that link to others.
func (x *Index) findLinks() {
	var all []link
	for i, u := range x.units {
		for k := range u.memories {
			all = append(all, link{i, k})
		}
	}
	x.newer = memory.NewerOf(all, func(l link) memory.Memory { return x.units[l.unit].memories[l.member] })
}

// maxReplaced is the maximum number of earlier versions of a memory: the newest.
const maxReplaced = 8

// findReplaced finds the earlier versions of the current memories. A closed memory is the earlier version of the memory
// that names it as a predecessor.
func (x *Index) findReplaced(memories []memory.Memory) {
	closed := map[string]memory.Memory{}
	for _, m := range memories {
		if m.Status == memory.StatusSuperseded {
			closed[m.ID] = m
		}
	}
	x.replaced = map[string][]memory.Memory{}
	for _, m := range memories {
		if m.Status != memory.StatusActive {
			continue
		}
		var earlier []memory.Memory
		ids, seen := slices.Clone(m.Predecessors), map[string]bool{}
		for k := 0; k < len(ids) && len(earlier) < maxReplaced; k++ {
			if old, ok := closed[ids[k]]; ok && !seen[old.ID] {
				seen[old.ID] = true
				old.Vector, ids = nil, append(ids, old.Predecessors...)
				earlier = append(earlier, old)
			}
		}
		if len(earlier) > 0 {
			x.replaced[m.ID] = earlier
		}
	}
}

// Current returns the valid version of a memory that later versions replaced. ok is false without one.
func (x *Index) Current(id string) (m memory.Memory, ok bool) {
	for range len(x.units) + 1 { // a chain is no longer, even if imported entries name each other
		if m, ok = x.replacing(id); !ok || m.Status == memory.StatusActive {
			return m, ok
		}
		id = m.ID
	}
	return memory.Memory{}, false
}

// replacing returns the memory that replaced another one.
func (x *Index) replacing(id string) (memory.Memory, bool) {
	for _, u := range x.units {
		for _, m := range u.memories {
			if slices.Contains(m.Predecessors, id) {
				return m, true
			}
		}
	}
	return memory.Memory{}, false
}

// Replaced returns the earlier versions of a current memory, the newest first.
func (x *Index) Replaced(id string) []memory.Memory { return x.replaced[id] }

// The places of Index.beside.
const (
	oneBack = iota
	oneOn
)

// speaker is a person or an assistant with statements.
type speaker struct {
	role  memory.Role
	names []string
}

// New indexes a user's memories and kept turns. Memories without their turns are ranked by their statements alone.
func New(table *wordvector.Table, memories []memory.Memory, turns []memory.Turn) *Index {
	byID := make(map[string]memory.Turn, len(turns))
	for _, t := range turns {
		byID[t.ID] = t
	}
	x := &Index{}
	x.gather(memories, byID)
	x.findSpeakers(turns)
	x.place()
	x.layVectors()
	x.findLinks()
	x.findReplaced(memories)
	x.vocabulary = newVocabulary(table, x.findLanguages(), x.speakers)
	x.analyse()
	x.bytes = x.measure()
	return x
}

// unitKey is a unit's key.
type unitKey struct {
	turn   string
	active bool
}

// gather makes units of memories, in order of time and session.
func (x *Index) gather(memories []memory.Memory, turns map[string]memory.Turn) {
	at := make(map[unitKey]int, len(memories))
	for _, m := range memories {
		key := unitKey{turn: newest(m, turns), active: m.Status == memory.StatusActive}
		i, ok := at[key]
		if !ok {
			i = len(x.units)
			at[key] = i
			x.units = append(x.units, unit{active: key.active, at: m.ValidFrom, speaker: -1})
		}
		x.units[i].memories = append(x.units[i].memories, m)
	}
	for i := range x.units {
		x.units[i].describe(turns)
	}
	slices.SortStableFunc(x.units, func(a, b unit) int {
		m, n := a.memories[0], b.memories[0]
		return cmp.Or(a.at.Compare(b.at), strings.Compare(m.SessionID, n.SessionID), strings.Compare(m.ID, n.ID))
	})
}

// newest is the latest turn that a memory was made from.
func newest(m memory.Memory, turns map[string]memory.Turn) string {
	if len(m.Sources) == 1 {
		return m.Sources[0]
	}
	out := ""
	var at time.Time
	for _, id := range m.Sources {
		if t, ok := turns[id]; out == "" || ok && t.Time.After(at) {
			out, at = id, t.Time
		}
	}
	return out
}

// describe finds the turns of a unit's memories, and sets the unit's fields from them.
func (u *unit) describe(turns map[string]memory.Turn) {
	u.talk = true
	for _, m := range u.memories {
		u.talk = u.talk && m.Tier == memory.TierTalk
		for _, id := range m.Sources {
			t, ok := turns[id]
			if !ok || slices.ContainsFunc(u.turns, func(have memory.Turn) bool { return have.ID == id }) {
				continue
			}
			u.turns = append(u.turns, t)
		}
		u.dated = u.dated || !m.EventTime.Time.IsZero()
		u.timed = u.timed || m.EventTime.Expression != ""
		if m.Kind == memory.KindFact {
			u.fact += 1 / float32(len(u.memories))
		}
		u.inverse = append(u.inverse, inverse(m.Vector))
	}
	slices.SortFunc(u.turns, func(a, b memory.Turn) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.ID, b.ID))
	})
	n := 0
	for _, t := range u.turns {
		n += text.CountWords(t.Text)
	}
	if n == 0 {
		n = text.CountWords(u.memories[0].Content)
	}
	u.length = float32(math.Log(1 + float64(n)))
	if len(u.turns) == 0 {
		u.standing = float32(model.Shipped().Score(u.memories[0].Content))
		return
	}
	last := u.turns[len(u.turns)-1]
	u.reply = last.Role == memory.RoleAssistant
	u.at, u.asks = last.Time, strings.Contains(last.Text, "?")
	if last.Role != memory.RoleAssistant {
		u.standing = float32(model.Shipped().Score(last.Text))
	}
}

// inverse returns the scale of a vector to a unit vector. It is 0 if there is none.
func inverse(v []float32) float32 {
	var square float64
	for _, a := range v {
		square += float64(a) * float64(a)
	}
	if !(square > 1e-30 && square < 1e30) {
		return 0
	}
	return float32(1 / math.Sqrt(square))
}

// person returns the identity of a speaker, for any spelling of the name.
func person(t memory.Turn) string { return strings.ToLower(text.OneLine(t.Speaker)) }

// findSpeakers finds the speakers.
func (x *Index) findSpeakers(turns []memory.Turn) {
	known := map[string]int32{}
	for _, t := range turns {
		if _, ok := known[person(t)]; ok {
			continue
		}
		known[person(t)] = int32(len(x.speakers)) //nolint:gosec // a few
		s := speaker{role: t.Role}
		for _, w := range text.Words(t.Speaker) {
			s.names = append(s.names, w.Lower)
		}
		if t.Role == memory.RoleUser {
			x.users++
		}
		x.speakers = append(x.speakers, s)
	}
	for i := range x.units {
		if ts := x.units[i].turns; len(ts) > 0 {
			x.units[i].speaker = known[person(ts[len(ts)-1])]
		}
	}
}

// findLanguages finds the language of each unit. It returns all languages, the usual one first. Texts without a
// clear language are in the usual one.
func (x *Index) findLanguages() []text.Language {
	var all text.Tally
	tallies := make([]text.Tally, len(x.units))
	for i, u := range x.units {
		for _, t := range u.turns {
			tallies[i].Add(text.TallyWords(text.Words(t.Text)))
		}
		if len(u.turns) == 0 {
			for _, m := range u.memories {
				tallies[i].Add(text.TallyWords(text.Words(m.Content)))
			}
		}
		all.Add(tallies[i])
	}
	out := []text.Language{all.Language(text.English)}
	for i := range x.units {
		l := tallies[i].Language(out[0])
		x.units[i].language = l
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// place numbers the sessions and finds the neighbours of each unit. Only valid units have a place in their session.
func (x *Index) place() {
	numbers := map[string]int32{}
	x.beside = make([][2]int32, len(x.units))
	last := map[int32][]int32{} // session -> its units so far
	for i := range x.units {
		u := &x.units[i]
		x.beside[i] = [2]int32{-1, -1}
		id := u.memories[0].SessionID
		if n := len(u.turns); n > 0 {
			id = u.turns[n-1].SessionID
		}
		u.session = number(numbers, id)
		if !u.active {
			continue
		}
		line := append(last[u.session], int32(i)) //nolint:gosec // bounded by the number of memories
		last[u.session] = line
		u.opens = len(line) == 1
		if k := len(line) - 2; k >= 0 {
			x.beside[i][oneBack] = line[k]
			x.beside[line[k]][oneOn] = int32(i) //nolint:gosec // as above
		}
	}
	x.sessions = len(numbers)
	if n := len(x.units); n > 0 {
		x.first, x.span = x.units[0].at, x.units[n-1].at.Sub(x.units[0].at)
	}
}

// Len is how many memories are indexed.
func (x *Index) Len() int {
	n := 0
	for _, u := range x.units {
		n += len(u.memories)
	}
	return n
}

// Units is the number of units that compete for places: memories of one turn count once.
func (x *Index) Units() int { return len(x.units) }

// IsRequest reports whether a query is a task for an assistant, and not a question about the user. There is then one
// user who talks. The query names no speaker and asks for no fact about that user.
func (x *Index) IsRequest(q query.Query) bool {
	return x.users == 1 && !x.namesSpeaker(q.Question) && !q.Wants.Has(query.OwnFact)
}

// regimeOf returns the regime of a query.
func (x *Index) regimeOf(q query.Query) Regime {
	switch {
	case x.users != 1:
		return Companions
	case x.namesSpeaker(q.Question) || q.Wants.Has(query.Fact), q.Wants.Has(query.Statement):
		return Questions
	}
	return Requests
}

// Bytes is about how much memory the index takes, with the memories and turns it holds.
func (x *Index) Bytes() int { return x.bytes }

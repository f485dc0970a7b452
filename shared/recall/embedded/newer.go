package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// earlier begins the line of a memory that a newer one in the evidence may correct.
const earlier = "earlier: "

// findNewer finds the current memories of the evidence that link to others.
func (w *writer) findNewer() {
	seen := map[string]bool{}
	all := slices.DeleteFunc(slices.Concat(w.evidence.Memories, w.standing), func(m memory.Memory) bool {
		known := seen[m.ID]
		seen[m.ID] = true
		return known
	})
	w.newer = memory.NewerOf(all, func(m memory.Memory) memory.Memory { return m })
}

// newerOf returns the memories that may correct a memory. A memory that no longer holds has none.
func (w *writer) newerOf(m memory.Memory) []memory.Memory {
	if m.Status != memory.StatusActive {
		return nil
	}
	return w.newer.Of(m.ID)
}

// isCurrent reports whether the best memory of a turn has no newer one.
func (w *writer) isCurrent(u unit) bool { return len(w.newerOf(u.members[0])) == 0 }

// dressed returns the line of a memory, as dressed does, and says if a newer one may correct it.
func (w *writer) dressed(m memory.Memory, text string) string {
	if len(w.newerOf(m)) > 0 {
		return earlier + dressed(m, text)
	}
	return dressed(m, text)
}

// addNewer adds a line for each newer memory that has none. It reports whether all of them have a line now. A question
// about the past asks for the older memory, so only the newer memories with a better rank count there.
func (w *writer) addNewer(m memory.Memory) bool {
	if w.adding[m.ID] { // memories link to each other in a ring
		return true
	}
	w.adding[m.ID] = true
	defer delete(w.adding, m.ID)
	past := w.evidence.Query.Horizon.Intent == intent.Past
	for _, newer := range w.newerOf(m) {
		if past && w.rank(newer.ID) > w.rank(m.ID) || w.adding[newer.ID] {
			continue
		}
		if !w.isCited(newer.ID) && !w.addMember(newer.ID) {
			return false
		}
	}
	return true
}

// rank returns the rank of a memory of the evidence, and -1 for any other memory.
func (w *writer) rank(id string) int {
	return slices.IndexFunc(w.evidence.Memories, func(m memory.Memory) bool { return m.ID == id })
}

// isCited reports whether a memory has a line.
func (w *writer) isCited(id string) bool {
	return slices.ContainsFunc(w.cited, func(m memory.Memory) bool { return m.ID == id })
}

// addMember adds the line of a memory of the evidence, and reports whether it fits.
func (w *writer) addMember(id string) bool {
	u, place := w.find(id)
	switch {
	case u == nil:
		return false
	case place == 0:
		w.addHead(u)
		return u.head != nil
	}
	m := u.members[place]
	u.stated[id] = w.addLine(u, place, w.dressed(m, recall.Plain(m.Content))) != nil
	return u.stated[id]
}

// putNewerFirst moves the line of a newer memory before the older one's, if both are in one section.
func (w *writer) putNewerFirst() {
	if w.evidence.Query.Horizon.Intent == intent.Past {
		return
	}
	for _, l := range slices.Clone(w.lines) {
		if l.number == 0 {
			continue
		}
		for _, newer := range w.newerOf(w.cited[l.number-1]) {
			at := slices.Index(w.lines, l)
			behind := slices.IndexFunc(w.lines[at:], func(o *line) bool {
				return o.number > 0 && o.section == l.section && w.cited[o.number-1].ID == newer.ID
			})
			if behind > 0 {
				moved := w.lines[at+behind]
				w.lines = slices.Insert(slices.Delete(w.lines, at+behind, at+behind+1), at, moved)
			}
		}
	}
}

// denying words turn the verb behind them around.
var denying = text.WordSet("not no never cannot without neither nor dont cant wont isnt cancelled canceled")

const (
	// denialReach is the maximum distance, in words, of a denying word before its verb.
	denialReach = 3
	// opposed is the weight of a statement that opposes the question.
	opposed = 0.8
)

// readDenial reads whether a question is an open one, and whether it denies something: "what can't I eat". "Not often"
// answers a question with "how".
func (a *asked) readDenial(words []text.Word) {
	a.open = a.plain && !strings.HasPrefix(words[0].Lower, "how")
	a.denies = slices.ContainsFunc(words, isDenying)
}

func isDenying(w text.Word) bool { return denying[w.Lower] || strings.HasSuffix(w.Lower, "n't") }

// opposes reports whether a statement only denies the words of a question that asserts them, or only asserts the words
// of a question that denies them. "I can eat soy again" names no forbidden food. Only open questions in
// English are compared: a denial answers the others.
func (a asked) opposes(content string) bool {
	if !a.open {
		return false
	}
	words, asserted, denied := text.Words(recall.Plain(content)), false, false
	for i, w := range words {
		if !slices.ContainsFunc(a.words, func(q wanted) bool { return q.stem == text.Stem(w.Lower) }) {
			continue
		}
		if slices.ContainsFunc(words[max(0, i-denialReach):i], isDenying) {
			denied = true
		} else {
			asserted = true
		}
	}
	return asserted != denied && denied != a.denies
}

// pointing words stand for a thing of an older statement.
var pointing = text.WordSet("it there that them this")

// sharesMore reports whether a statement shares a content word with another that the question does not have, or points
// back to its thing: "I don't work there any more".
func (a asked) sharesMore(one, other string) bool {
	if slices.ContainsFunc(text.Words(one), func(w text.Word) bool { return pointing[w.Lower] }) {
		return true
	}
	have := text.StemSet(recall.Plain(other))
	for stem := range text.StemSet(recall.Plain(one)) {
		if have[stem] && !slices.ContainsFunc(a.words, func(q wanted) bool { return q.stem == stem }) {
			return true
		}
	}
	return false
}

package embedded

import (
	"math"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// turnJudged is the effect of a turn on the speaker's earlier statements.
type turnJudged struct {
	// each has the relations by a candidate's content and entry.
	each map[string]map[string]relation.Relation
	// by is the candidate that says most of the change of an entry: it is changed by that one alone.
	by map[string]string
	// alone has by entry how likely the sentence of the message that would change it most changes it alone.
	alone map[string]float64
}

// judge compares a turn with its related entries. It uses the messages around the turn's candidates; a short turn has
// one message.
func (d *decider) judge(turn memory.Turn) turnJudged {
	if out, ok := d.judged[turn.ID]; ok {
		return out
	}
	out := turnJudged{each: map[string]map[string]relation.Relation{}, by: map[string]string{},
		alone: map[string]float64{}}
	d.judged[turn.ID] = out
	var messages []string
	of := map[string][]formation.Related{}
	for _, r := range d.of[turn.ID] {
		if foreign(r.Candidate) {
			continue // others' words change nothing of the user's
		}
		m := d.message(r.Candidate)
		if of[m] == nil {
			messages = append(messages, m)
		}
		of[m] = append(of[m], r)
	}
	for _, m := range messages {
		d.judgeMessage(m, of[m], turn, out)
	}
	return out
}

// judgeMessage compares a message with the related entries of the message's candidates.
func (d *decider) judgeMessage(said string, of []formation.Related, turn memory.Turn, out turnJudged) {
	var own []memory.Memory
	found := map[string][]formation.Related{} // whose search found an entry: only those can change it
	for _, r := range of {
		for _, m := range bySpeaker(d.known(r.Memories), r.Candidate) {
			if found[m.ID] == nil {
				own = append(own, m)
			}
			found[m.ID] = append(found[m.ID], r)
		}
		out.each[r.Candidate.Content] = map[string]relation.Relation{}
	}
	later := relation.Statement{Text: said, Role: turn.Role, Speaker: of[0].Candidate.Speaker, Time: turn.Time}
	judged, whole := d.changes(later, of, own), 0.0
	for _, does := range judged {
		whole += does.Change()
	}
	for k, does := range judged {
		m := own[k]
		for _, r := range of {
			out.each[r.Candidate.Content][m.ID] = does
		}
		if before, ok := out.by[m.ID]; ok && out.each[before][m.ID].Change() >= does.Change() {
			continue
		}
		out.by[m.ID] = found[m.ID][0].Candidate.Content
		if whole >= d.former.closes && does.Change() >= alsoChanged ||
			len(found[m.ID]) > 1 && does.Change() >= d.former.links {
			out.by[m.ID], out.alone[m.ID] = d.teller(found[m.ID], m, later)
		}
	}
}

const (
	// alsoChanged is the least probability of a change by the whole message that may change a second entry. It applies
	// where one sentence alone surely changes an entry.
	alsoChanged = 0.05
	// aloneChanged is the least probability that a sentence alone changes an entry. toldAgain is the least probability
	// that it repeats the entry or adds to it.
	aloneChanged = 0.5
	toldAgain    = 0.7
)

// changes returns the effect of a message on entries. An entry that a sentence repeats and no sentence changes is
// unchanged ("I moved to Lisbon. I'm still a nurse."). An entry that no sentence changes is unchanged, too, where one
// sentence surely changes another entry. changes then judges the message without the unchanged entries.
func (d *decider) changes(later relation.Statement, of []formation.Related, own []memory.Memory) []relation.Relation {
	var sentences []string
	for _, r := range of {
		sentences = append(sentences, d.sentences(r.Candidate)...)
	}
	out, left := make([]relation.Relation, len(own)), make([]int, len(own))
	for k := range own {
		left[k] = k
	}
	for {
		entries := make([]memory.Memory, len(left))
		for i, k := range left {
			entries[i] = own[k]
		}
		whole := 0.0
		for i, does := range d.judges.Judge(later, asStored(entries)) {
			out[left[i]] = does
			whole += does.Change()
		}
		if len(sentences) < 2 || whole < d.former.closes { // there is nothing beside the news, or nothing will be closed
			return out
		}
		stay := d.unchanged(later, sentences, own, left, out)
		if len(stay) == 0 || len(stay) == len(left) {
			return out
		}
		left = slices.DeleteFunc(left, func(k int) bool { return slices.Contains(stay, k) })
	}
}

// unchanged returns the entries that the sentences of a whole message leave as they are. does is the effect on these
// entries.
func (d *decider) unchanged(
	later relation.Statement, sentences []string, own []memory.Memory, of []int, does []relation.Relation,
) (stay []int) {
	best, alone := 0.0, map[int]relation.Relation{}
	for _, k := range of {
		if does[k].Change() >= alsoChanged {
			alone[k] = d.alone(later, sentences, own[k])
			best = max(best, alone[k].Change())
		}
	}
	for _, k := range of {
		r, read := alone[k]
		if read && r.Change() < aloneChanged && (r[relation.Same]+r[relation.Adds] >= toldAgain || best >= d.former.closes) {
			stay, does[k] = append(stay, k), r
		}
	}
	return stay
}

// sentences returns the sentences of a turn that have a candidate's words. A candidate may be a part of a sentence.
// Then it stands for the sentence if another candidate is a part of it, too.
func (d *decider) sentences(c formation.Candidate) []string {
	turn := d.turns[c.Sources[0]]
	var out []string
	for _, sentence := range whole(d.former.splitter.Sentences(text.Printable(turn.Text))) {
		isOther := func(r formation.Related) bool {
			return r.Candidate.Content != c.Content && isRunOf(r.Candidate.Content, sentence)
		}
		switch {
		case !isRunOf(c.Content, sentence):
			if isRunOf(sentence, c.Content) {
				out = append(out, sentence)
			}
		case slices.ContainsFunc(d.of[turn.ID], isOther):
			out = append(out, plain(c.Content))
		default:
			out = append(out, sentence)
		}
	}
	if len(out) == 0 {
		return whole(d.former.splitter.Sentences(plain(c.Content)))
	}
	return out
}

// alone returns the effect of separate sentences on an entry. It takes the sentence that would change the entry most.
// Where no sentence changes it, alone takes the sentence that repeats most of it.
func (d *decider) alone(later relation.Statement, sentences []string, m memory.Memory) relation.Relation {
	var changes, tells relation.Relation
	stored := asStored([]memory.Memory{m})[0]
	for _, said := range sentences {
		later.Text = said
		r := d.judges.Between(later, stored)
		if r.Change() > changes.Change() {
			changes = r
		}
		if r[relation.Same]+r[relation.Adds] > tells[relation.Same]+tells[relation.Adds] {
			tells = r
		}
	}
	if changes.Change() >= aloneChanged {
		return changes
	}
	return tells
}

// teller returns the content of the candidate that states most of a change, with its probability. By the rules it is
// the candidate with the sentence that would most likely change the entry alone.
func (d *decider) teller(
	of []formation.Related, m memory.Memory, later relation.Statement,
) (content string, alone float64) {
	changes, options := make([]float64, len(of)), make([]decision.Option, len(of))
	for i, r := range of {
		c := r.Candidate
		changes[i] = d.alone(later, d.sentences(c), m).Change()
		options[i] = decision.Option{
			Base: math.Log(max(changes[i], math.SmallestNonzeroFloat64)),
			Features: []float64{decision.Odds(changes[i]) / 5, memory.Cosine(c.Vector, m.Vector),
				lengthOf(text.CountWords(c.Content))},
		}
	}
	at := 0
	if len(of) > 1 {
		at = d.former.choose.Choose(decision.Target, options)
	}
	return of[at].Candidate.Content, changes[at]
}

const (
	// maxMessageWords is how many words a message has that is read, about as many as the cross-encoder takes.
	maxMessageWords = 55
	// maxWordsBefore is the most words before the candidate. A longer text is cut at its end.
	maxWordsBefore = 25
)

// Message returns the text of a turn around one of its candidates, which are in order. It is the whole text, or as
// much as the model reads. It leaves out words that the turn quotes, since they state no fact about the speaker.
func Message(turn []formation.Candidate, at int) string {
	words, before := text.CountWords(turn[at].Content), 0
	read := map[int]bool{at: true}
	for from, to := at-1, at+1; from >= 0 || to < len(turn); from, to = from-1, to+1 {
		for _, next := range []int{to, from} {
			if next < 0 || next >= len(turn) || foreign(turn[next]) {
				continue
			}
			n := text.CountWords(turn[next].Content)
			if words+n > maxMessageWords || next < at && before+n > maxWordsBefore {
				if next == to {
					to = len(turn)
				} else {
					from = -1
				}
				continue
			}
			if words, read[next] = words+n, true; next < at {
				before += n
			}
		}
	}
	var said []string
	for i, c := range turn {
		if read[i] {
			said = append(said, plain(c.Content))
		}
	}
	return strings.Join(said, " ")
}

// foreign reports whether a candidate quotes another author's words, or is code alone. Neither states a fact about the
// user.
func foreign(c formation.Candidate) bool {
	code := strings.HasPrefix(c.Content, "[code:") && strings.Index(c.Content, "]") == len(c.Content)-1
	return code || strings.HasPrefix(c.Content, "[quotes:")
}

// statements has the words of a user's turn, and those that are surely the user's, in canonical form.
type statements struct{ all, sure string }

// statementsOf reads a turn. An assistant's turn has no statements.
func statementsOf(t memory.Turn) statements {
	if t.Role == memory.RoleAssistant {
		return statements{}
	}
	return statements{" " + text.Canonical(t.Text) + " ", " " + text.Canonical(text.Sure(t.Text, t.Speaker)) + " "}
}

// passOn reports whether the turn has a candidate's words, but not among the statements that are surely the user's.
// Such words change no entry, and no judgement of the turn reads them.
func (s statements) passOn(c formation.Candidate) bool {
	words := " " + text.Canonical(plain(c.Content)) + " "
	return strings.Contains(s.all, words) && !strings.Contains(s.sure, words)
}

// message returns the text around a candidate, from the strategy's judgement of the turn.
func (d *decider) message(c formation.Candidate) string {
	own := make([]formation.Candidate, 0, len(d.of[c.Sources[0]]))
	at := 0
	for i, r := range d.of[c.Sources[0]] {
		if own = append(own, r.Candidate); r.Candidate.Content == c.Content {
			at = i
		}
	}
	return Message(own, at)
}

package embedded

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// turnJudged is what a turn does to what its speaker told.
type turnJudged struct {
	// each has the relations by a candidate's content and entry.
	each map[string]map[string]relation.Relation
	// by is the candidate that says most of the change of an entry: it is changed by that one alone.
	by map[string]string
}

// judge holds what a turn says against what is related to it: the messages around its candidates, of which there is one where the turn is
// short.
func (d *decider) judge(turn memory.Turn) turnJudged {
	if out, ok := d.judged[turn.ID]; ok {
		return out
	}
	out := turnJudged{each: map[string]map[string]relation.Relation{}, by: map[string]string{}}
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

// judgeMessage holds a message against what is related to the candidates that it is around.
func (d *decider) judgeMessage(said string, of []formation.Related, turn memory.Turn, out turnJudged) {
	var own []memory.Memory
	found := map[string][]formation.Related{} // whose search found an entry: only those can change it
	for _, r := range of {
		for _, m := range told(d.known(r.Memories), r.Candidate) {
			if found[m.ID] == nil {
				own = append(own, m)
			}
			found[m.ID] = append(found[m.ID], r)
		}
		out.each[r.Candidate.Content] = map[string]relation.Relation{}
	}
	later := relation.Statement{Text: said, Role: turn.Role, Speaker: of[0].Candidate.Speaker, Time: turn.Time}
	for k, does := range d.judges.Judge(later, asStored(own)) {
		m := own[k]
		for _, r := range of {
			out.each[r.Candidate.Content][m.ID] = does
		}
		if before, ok := out.by[m.ID]; ok && out.each[before][m.ID].Change() >= does.Change() {
			continue
		}
		out.by[m.ID] = found[m.ID][0].Candidate.Content
		if does.Change() >= d.former.links {
			out.by[m.ID] = d.teller(found[m.ID], m, later)
		}
	}
}

// teller is the candidate that says most of what a message changes: the one that would most likely change the entry if it stood alone.
func (d *decider) teller(of []formation.Related, m memory.Memory, later relation.Statement) string {
	best, most := of[0].Candidate.Content, -1.0
	for _, r := range of {
		if len(of) == 1 {
			break
		}
		later.Text = plain(r.Candidate.Content)
		if change := d.judges.Judge(later, asStored([]memory.Memory{m}))[0].Change(); change > most {
			best, most = r.Candidate.Content, change
		}
	}
	return best
}

const (
	// maxMessageWords is how many words a message has that is read, about as many as the cross-encoder takes.
	maxMessageWords = 55
	// maxWordsBefore is how many of them stand before the candidate at most: what is too long is cut at its end.
	maxWordsBefore = 25
)

// Message is what a turn says around one of its candidates, which are in order: all of them, or as much as is read. Words that the turn
// quotes of others tell nothing of the speaker's.
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

// foreign reports whether a candidate quotes words that somebody else wrote.
func foreign(c formation.Candidate) bool { return strings.HasPrefix(c.Content, "[quotes:") }

// message is what is said around a candidate, with what the strategy had judged of the turn.
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

package embedded

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation/guard"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

const (
	// nearBest is the minimum share of the question for a newer linked statement in the place of the best.
	nearBest = 0.8
	// talkWeight is the weight of talk beside a memory, because talk seldom answers as well.
	talkWeight = 0.85
	// support is the required share of the question in a statement, 0 to 1.
	support = 0.4
	// supported is the same threshold for found memories with known support.
	supported = 0.3
	// margin is the required lead of the subject's best statement over the best of other people, if support is not
	// known.
	margin = 0.02
	// rankWeight is how much a place in the ranking costs.
	rankWeight = 0.06
	// maxSaidWords is the maximum length of a statement. A longer statement is cut to the part that the question
	// asks for.
	maxSaidWords = 40
	// maxTurnBytes is the length of the part of a recent turn that may answer.
	maxTurnBytes = 4 << 10
)

// Generator answers with the statements that match the question best. It is safe for concurrent use.
type Generator struct {
	table    *wordvector.Table
	splitter *text.Splitter
}

var _ recall.Generator = (*Generator)(nil)

// NewGenerator returns the generator.
func NewGenerator() *Generator {
	return &Generator{table: wordvector.Shipped(), splitter: text.NewSplitter()}
}

// Answer quotes the best memory of the profile with its citation. For a question about the present, a newer memory
// that answers as well takes its place. Answer prefers memories to talk, and the speakers' own words. It quotes
// passed-on words only if no own words answer, and marks them as passed on. A turn of the window answers, without a
// citation, if it is newer than the memory and answers as well, or if no memory answers. Answer abstains in three
// cases. No statement covers enough of the question. The found memories are about something else (Best). Or they
// rather answer the question about another person (Support, or the words of the lines if that is not known). The
// question then has the wrong person, or a false premise. A request of the only user gets the first memory of the
// ranker, which it must respect.
func (g *Generator) Answer(
	ctx context.Context, _ memory.Scope, e recall.Evidence, p recall.Profile,
) (recall.Answer, error) {
	if err := ctx.Err(); err != nil {
		return recall.Answer{}, fmt.Errorf("answer: %w", err)
	}
	q := questionOf(e.Query)
	a := askedOf(e.Query, q.when, people(p.Cited, e.Window), usual(p.Cited))
	// "What kind of animal is Bodge?" asks an assistant for nothing. Other languages show that less clearly.
	e.Request = e.Request && !a.plain
	best, ok := g.best(a, q.when, e, p.Cited)
	recent, turn, found := g.recent(a, q.when, e)
	if !ok && !found {
		return recall.Answer{Text: recall.Abstention, Abstained: true}, nil
	}
	if !ok {
		return recall.Answer{Text: g.sentence(q, turn), Abstained: true}, nil
	}
	m := p.Cited[best.number-1]
	if found && !e.Request && recent.tells >= best.tells && turn.ValidFrom.After(m.ValidFrom) {
		return recall.Answer{Text: g.sentence(q, turn), Abstained: true}, nil
	}
	return recall.Answer{Text: g.sentence(q, m) + " " + recall.Mark(best.number), Cited: []string{m.ID}}, nil
}

// best returns the memory to quote. ok is false if none supports an answer. For a question about the present state, a
// newer memory that says as much of the question takes the place of the best. So does one that links to the best and
// says nearly as much. For a question about the past, a closed memory that says nearly as much takes its place.
func (g *Generator) best(a asked, when bool, e recall.Evidence, cited []memory.Memory) (best scored, ok bool) {
	all := g.choose(a, when, e, cited)
	if len(all) == 0 {
		return best, false
	}
	best = all[0]
	if when {
		return best, true
	}
	state := e.Query.Horizon.Intent != intent.Event && !e.Request
	for _, s := range all[1:] {
		m, other := cited[s.number-1], cited[best.number-1]
		turned := a.opposes(m.Content) && !a.opposes(other.Content)
		corrects := slices.Contains(m.Links, other.ID) && s.tells >= nearBest*best.tells &&
			(!turned || a.sharesMore(m.Content, other.Content))
		least := best.says
		if e.Query.Horizon.Intent == intent.Past && m.Status != memory.StatusActive {
			least *= nearBest
		}
		same := state && !turned && s.says >= least && s.has >= best.has &&
			!text.IsAboutAnother(m.Content, other.Content)
		if suits(e.Query.Horizon, m, other) && (corrects || same) &&
			(m.Tier != memory.TierTalk || other.Tier == memory.TierTalk) {
			best = s
		}
	}
	return best, true
}

// suits reports whether a memory suits the time of a query better than another one. For the present, the newer one
// does. For a time in the past, the version of that time does. For an unknown past, the closed one does.
func suits(h query.Horizon, m, other memory.Memory) bool {
	if h.Intent == intent.Past {
		if closed := m.Status != memory.StatusActive; closed != (other.Status != memory.StatusActive) {
			return closed
		}
		if h.At.IsZero() || m.ValidFrom.After(h.At) {
			return false
		}
	}
	return m.ValidFrom.After(other.ValidFrom)
}

// recent returns the turn of the window that answers in the question's words, as talk. The assistant's turns, turns
// behind a memory and sentences with a question mark do not count. A query about the past has no recent answer.
func (g *Generator) recent(a asked, when bool, e recall.Evidence) (best scored, turn memory.Memory, ok bool) {
	if e.Query.Horizon.Intent == intent.Past {
		return best, turn, false
	}
	covered := map[string]bool{}
	for _, m := range slices.Concat(e.Memories, e.CoreMemories) {
		for _, id := range m.Sources {
			covered[id] = true
		}
	}
	var turns []memory.Memory
	for _, t := range slices.Backward(e.Window) {
		if t.Role == memory.RoleAssistant || covered[t.ID] {
			continue
		}
		turns = append(turns, memory.Memory{
			Content: g.statements(t.Text), Speaker: t.Speaker, Tier: memory.TierTalk, Status: memory.StatusActive,
			ValidFrom: t.Time,
		})
	}
	e.Request = false // a request gets memories that it must respect
	for _, s := range g.choose(a, when, e, turns) {
		if s.has >= support {
			return s, turns[s.number-1], true
		}
	}
	return best, turn, false
}

// statements returns the beginning of a turn without the sentences that ask something.
func (g *Generator) statements(said string) string {
	return statements(func(s string) []string { return sentences(g.splitter, s) }, text.Cut(said, maxTurnBytes))
}

// statements returns a text without the sentences that ask something.
func statements(split func(string) []string, said string) string {
	if !strings.ContainsAny(said, "?？") {
		return said
	}
	return strings.Join(slices.DeleteFunc(split(said), asks), " ")
}

// asks reports whether a sentence ends as a question.
func asks(sentence string) bool {
	sentence = strings.TrimRight(sentence, " \n\"”»)")
	return strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？")
}

// onlyAsks reports whether talk consists of questions. Such talk tells nothing. The question before an answer, in
// brackets, does not count.
func (g *Generator) onlyAsks(m memory.Memory) bool {
	said := recall.Plain(m.Content)
	if _, answer, ok := strings.Cut(said, "] "); ok && strings.HasPrefix(said, "[") {
		said = answer
	}
	return m.Tier == memory.TierTalk && said != "" && g.statements(said) == ""
}

// scored is a cited memory with its score.
type scored struct {
	number int
	score  float64
	// tells is the share of the question in the memory and its turn, and has is the part in the question's own words.
	// says is the share in the memory alone.
	tells, has, says float64
}

// choose returns the memories that answer, best first; none where they do not support an answer.
func (g *Generator) choose(a asked, when bool, e recall.Evidence, cited []memory.Memory) []scored {
	// A request's needs, such as an allergy for a restaurant, often share no words with it. There the ranker is
	// better than words.
	request := e.Request && a.person == "" && !a.blank
	least := a.support()
	if e.Support > 0 {
		least = min(least, supported)
	}
	var out, others, passed []scored
	var best [foreign + 1]float64
	shared := 0.0
	for i, m := range cited {
		if g.onlyAsks(m) {
			continue
		}
		whose := a.standing(m, e.Owner)
		tells, has := a.answersAsBefore(g.table, m, e)
		inRank := (request || len(a.words) == 0 && a.person != "") && !(a.user && text.SubjectOf(m.Content).IsUnnamed())
		if inRank {
			tells = 1 // the place in the ranking decides
		}
		best[whose] = max(best[whose], tells)
		if whose == own {
			shared = max(shared, has)
		}
		if whose == own && tells >= least {
			says, _ := a.answersAsBefore(g.table, memory.Memory{ID: m.ID, Content: m.Content, Speaker: m.Speaker}, e)
			if inRank {
				says = 1
			}
			score := weigh(m, (tells+says)/2, when, i)
			if a.opposes(m.Content) {
				score *= opposed
			}
			switch s := (scored{i + 1, score, tells, has, says}); {
			case passedOn(m):
				passed = append(passed, s)
			case a.leavesOut(m):
				others = append(others, s)
			default:
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		out = others
	}
	if len(out) == 0 && !a.user { // a question about the user is answered with the user's own words alone
		out = passed
	}
	told := a.user && shared >= support // the user said it in the question's words, whatever others say
	if e.Support < 0 && !request && !told {
		return nil
	}
	if e.Support == 0 && !told && best[own] < best[foreign]+a.margin() && best[foreign] > 0 {
		return nil
	}
	if a.language == text.English && (a.fact || !request) && e.Best != 0 && e.Best < ranking.Related && shared < support {
		return nil // of other languages it was not measured
	}
	slices.SortStableFunc(out, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return out
}

// weigh scores a memory of the subject. The rank breaks ties, and counts a little more, because the ranker uses more
// than words. A memory that is no longer valid counts in full. The evidence has it only for a question about the past.
func weigh(m memory.Memory, tells float64, when bool, rank int) float64 {
	score := tells / (1 + rankWeight*float64(rank))
	if when && !m.EventTime.Time.IsZero() {
		score *= 1.3
	}
	if m.Tier == memory.TierTalk {
		score *= talkWeight
	}
	return score
}

// passedOn reports whether most of a memory is words that its speaker passes on.
func passedOn(m memory.Memory) bool {
	if guard.IsMarked(m.Content) {
		return true
	}
	ownWords, others := text.Voices(m.Content, m.Speaker)
	return others != "" && len(text.ContentStems(ownWords)) <= len(text.ContentStems(others))
}

// sentence returns a memory as part of an answer. It marks words that the speaker passes on.
func (g *Generator) sentence(q question, m memory.Memory) string {
	text := recall.Plain(m.Content)
	if countWords(text) > maxSaidWords {
		text = q.extract(sentences(g.splitter, text), maxSaidWords)
	}
	if passedOn(m) && !guard.IsMarked(m.Content) {
		text = cmp.Or(m.Speaker, "The user") + guard.PassedOn + text
	}
	if m.Speaker != "" || m.Tier == memory.TierTalk {
		return dressed(m, text)
	}
	said := recall.Escaped(text) + validity(m)
	if date := dateOf(m.EventTime); q.when && date != "" && !strings.Contains(text, date) {
		return date + ": " + said
	}
	return said
}

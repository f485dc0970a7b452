package embedded

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of one turn and one statement.
const (
	maxSentences      = 200
	maxStatementWords = 60
	salientSentence   = 0.5
	salientQuestion   = 0.6
)

// Former forms memories by rule. It is safe for concurrent use.
type Former struct {
	identity Identity
	splitter *text.Splitter
	// judge tells changes; a pair counts from threshold on.
	judge     Judge
	threshold float64
}

var _ formation.Former = (*Former)(nil)

// NewFormer returns the former with the built-in model of changes; it takes some milliseconds to load.
func NewFormer(id Identity) *Former {
	model := builtinModel()
	return NewFormerWith(id, func(p Pair) float64 { return model.Probability(p.X) }, model.Threshold)
}

// NewFormerWith returns a former that takes a pair for a change when the judge gives it at least the threshold: for training, and for
// other models.
func NewFormerWith(id Identity, judge Judge, threshold float64) *Former {
	return &Former{identity: id, splitter: text.NewSplitter(), judge: judge, threshold: threshold}
}

// Version is name and version of strategy and policy.
func (f *Former) Version() string { return f.identity.PolicyVersion }

// Extract rewrites what the turns tell to statements, turn by turn in order.
func (f *Former) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	var out []formation.Candidate
	for i := range in.Turns {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("extract memories: %w", err)
		}
		e := turnExtractor{splitter: f.splitter, turns: in.Turns, index: i}
		out = append(out, e.candidates()...)
	}
	return out, nil
}

// turnExtractor works on one turn of a session.
type turnExtractor struct {
	splitter *text.Splitter
	turns    []memory.Turn
	index    int
	voice    voice
	names    map[string]bool
}

// statement is one kept sentence, or several that hang together.
type statement struct {
	marked string
	dates  []text.DateMention
	// expressions are the words of the dates, in order.
	expressions []string
	// ends says which of the dates are ends of what lasted.
	ends    []bool
	words   int
	sources []string
}

func (e *turnExtractor) candidates() []formation.Candidate {
	e.voice = voiceOf(e.turns, e.index)
	e.names = speakerNames(e.turns)
	statements := e.statements()
	statements = e.addCaption(statements)
	out := make([]formation.Candidate, 0, len(statements))
	for _, s := range statements {
		out = append(out, e.candidate(s))
	}
	return out
}

// statements returns what the text of the turn tells.
func (e *turnExtractor) statements() []statement {
	turn := e.turns[e.index]
	kept := e.salient(e.splitter.Split(unmark(turn.Text)))
	var out []statement
	for i, sentence := range kept {
		s := e.state(sentence, i == 0)
		if n := len(out); n > 0 && (leansBack(sentence.text) || weIt.MatchString(sentence.text) || names(s) && unnamed(out[n-1]) ||
			stillWith.MatchString(sentence.text) || len(out[n-1].sources) > 1 && isElliptic(sentence.text)) &&
			out[n-1].words+s.words <= maxStatementWords {
			out[n-1].join(s)
			continue
		}
		out = append(out, s)
	}
	return out
}

func speaksOfSelf(said string) bool {
	return slices.ContainsFunc(text.Words(said), func(w text.Word) bool { return firstPerson[w.Lower] })
}

// sentence is a trimmed sentence with what the features say about it.
type sentence struct {
	text     string
	value    float64
	question bool
	content  int
}

// salient returns the sentences worth keeping, in order; when none is, the best that tells
// anything at all.
func (e *turnExtractor) salient(texts []string) []sentence {
	var kept []sentence
	var best sentence
	_, answers := e.question()
	for _, text := range texts[:min(len(texts), maxSentences)] {
		s := e.weigh(text)
		switch {
		case answers && s.content > 0 && !s.question && s.value > 0 && isShortAnswer(s.text):
			kept, answers = append(kept, s), false // what answers a question tells something, however short
		case s.content == 0, s.question && s.value < salientQuestion:
		case s.value >= salientSentence, tellsChange(s), len(kept) > 0 && stillWith.MatchString(text):
			kept = append(kept, s)
		case s.value > best.value:
			best = s
		}
	}
	if len(kept) == 0 && best.content > 0 {
		kept = append(kept, best)
	}
	return kept
}

// stillWith opens what goes on with the sentence before it: "Still with my sister."
var stillWith = regexp.MustCompile(`(?i)^(?:still|but|and|only|just|though) (?:with|without|at|in|for|from|on) `)

// weIt opens what several did with what the sentence before it names: "It's over with Ana. We ended it yesterday."
var weIt = regexp.MustCompile(`(?i)^we(?:'ve|'d|’ve|’d)? \p{L}+ (?:it|them)\b`)

// unnamed reports whether a statement is about several who go without a name: "We're engaged!"
func unnamed(s statement) bool {
	return s.words <= 9 && strings.HasPrefix(s.marked, selfMark+" and others") && !names(s)
}

// names reports whether a statement names somebody or something.
func names(s statement) bool {
	return slices.ContainsFunc(tokensOf(s.marked), func(t token) bool {
		return t.capital && !timeWords[t.lower] && !capitalOnly[t.lower]
	})
}

// capitalOnly are words with a capital that name nobody.
var capitalOnly = text.WordSet("i i'm i've i'd i'll")

// tellsChange reports whether a short sentence says that something is over or was replaced, and of what.
func tellsChange(s sentence) bool {
	marked, _ := rewrite(s.text)
	return cuesOf(marked).has(cueEnd|cueReplace) && len(anchorsOf(marked)) > 0 && !s.question
}

func (e *turnExtractor) weigh(text string) sentence {
	s := sentence{text: untag(trimSentence(text, e.names))}
	if isFiller(s.text) || isVague(s.text, e.names, e.turns[e.index].Role == memory.RoleAssistant) {
		return s
	}
	for _, seg := range scanSegments(s.text, e.names) {
		s.value += seg.value()
		s.content += seg.content
		s.question = seg.question
	}
	return s
}

// state rewrites a sentence to a statement.
func (e *turnExtractor) state(s sentence, opening bool) statement {
	turn := e.turns[e.index]
	sources := []string{turn.ID}
	text := s.text
	prefix := ""
	if opening && !s.question && (isShortAnswer(text) || isElliptic(text)) {
		if q, ok := e.question(); ok {
			if answer, ok := joinAnswer(q.text, text); ok {
				text = answer
			} else {
				prefix = fmt.Sprintf("%s said, asked %q: ", selfMark, q.text)
			}
			sources = append(sources, q.turnID)
		}
	}
	annotated, mentions, expressions := annotate(text, turn.Time)
	marked, self := rewrite(annotated)
	switch {
	case prefix != "":
		marked = prefix + marked
	case s.question:
		marked = selfMark + " asked: " + marked
	default:
		marked = attribute(annotated, marked, self)
	}
	ends := make([]bool, len(mentions))
	for i, m := range mentions {
		ends[i] = endsAt(text, m)
	}
	return statement{marked: endWithStop(marked), ends: ends, dates: mentions, expressions: expressions,
		words: len(strings.Fields(marked)), sources: sources}
}

// join appends a statement that leans on this one.
func (s *statement) join(next statement) {
	s.marked += " " + capitalise(strings.TrimPrefix(next.marked, selfMark+" said: "))
	s.dates = append(s.dates, next.dates...)
	s.expressions = append(s.expressions, next.expressions...)
	s.ends = append(s.ends, next.ends...)
	s.words += next.words
}

// addCaption adds what a shared picture shows: to the last statement where one leaves room,
// because the picture illustrates it, else as one of its own.
func (e *turnExtractor) addCaption(statements []statement) []statement {
	turn := e.turns[e.index]
	caption := strings.Join(strings.Fields(unmark(turn.Caption)), " ")
	if caption == "" {
		return statements
	}
	caption = captionOpening.ReplaceAllString(caption, "")
	s := statement{marked: endWithStop(selfMark + " shared a photo: " + caption), words: len(strings.Fields(caption)) + 4,
		sources: []string{turn.ID}}
	if n := len(statements); n > 0 && statements[n-1].words+s.words <= maxStatementWords && len(statements[n-1].sources) == 1 {
		last := &statements[n-1]
		if slot, _ := findSlot(last.marked); slot == "" && !denies(last.marked) {
			last.marked += " " + s.marked
			last.words += s.words
			return statements
		}
	}
	return append(statements, s)
}

// captionOpening is how caption models begin, which says no more than "shared a photo".
var captionOpening = regexp.MustCompile(`^(?i:an? (?:close[- ]?up )?(?:photo|photograph|photography|picture|image) of )`)

// candidate completes a statement.
func (e *turnExtractor) candidate(s statement) formation.Candidate {
	turn := e.turns[e.index]
	kind := kindOf(s.marked, s.dates)
	c := formation.Candidate{
		Kind: kind, Content: e.voice.name(s.marked), Topic: topicOf(s.marked), Keywords: keywordsOf(s.marked),
		EventTime: eventTime(s, kind, turn.Time), Negates: denies(s.marked), Sources: slices.Clone(s.sources),
	}
	if turn.Role != memory.RoleAssistant {
		c.Slot = e.slot(s.marked, c.Negates)
	}
	return c
}

// slot returns the slot of a statement: what it sets, else what it denies.
func (e *turnExtractor) slot(marked string, negates bool) string {
	attribute, _ := findSlot(marked)
	if attribute == "" && negates {
		attribute, _ = findSlot(affirm(marked))
	}
	if attribute == "" {
		return ""
	}
	return slotOf(attribute, e.voice.self)
}

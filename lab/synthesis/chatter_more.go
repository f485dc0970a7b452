package synthesis

import (
	"math/rand/v2"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// shareMore is the share of small talk from chatter_talk.txt, which is nearer to friends' exaggerated talk.
const shareMore = 0.55

// shareMild is the share of small statements with general words alone.
const shareMild = 0.35

// moreChat are lists of words/chatter_talk.txt by their kind.
var moreChat = map[chatKind][]string{
	chatOpening: {"chat.open"}, chatOpeningReply: {"chat.open"},
	chatClosing: {"chat.close"}, chatClosingReply: {"chat.close"},
	chatRemark:     {"chat.react", "chat.react", "chat.take-up"},
	chatCompliment: {"chat.praise", "chat.truth", "chat.take-up"},
	chatEncourage:  {"chat.cheer", "chat.later", "chat.truth"},
	chatThanks:     {"chat.thanks"}, chatAgree: {"chat.truth", "chat.later"},
	chatElicit: {"chat.ask"}, chatAskMore: {"chat.ask"}, chatAdvice: {"chat.advice"},
	chatIdle:      {"chat.truth", "chat.later", "chat.ask"},
	chatIdleReply: {"chat.truth", "chat.react", "chat.later", "chat.take-up"},
	chatHostile:   {"chat.hostile"},
}

// more makes a phrase of chatter_talk.txt. It is empty when the kind has no list there.
func (c chatter) more(kind chatKind, in scope) string {
	names := moreChat[kind]
	if len(names) == 0 {
		return ""
	}
	list := c.words.lists[template.Pick(c.r, names)]
	if len(list) == 0 {
		return ""
	}
	return template.Tidy(template.Pick(c.r, list).Expand(c.r, in.resolve))
}

// Aside makes a small statement of a speaker to a friend without a target: a detail, a short answer, an opinion, a
// feeling. short is true for a statement that needs its question.
func (g *Generator) Aside(r *rand.Rand, speaker, friend string, short bool) string {
	name := "chat.tell"
	switch {
	case short:
		name = "chat.short"
	case template.Chance(r, shareMild):
		name = "chat.mild"
	}
	l := &life{Generator: g, r: r, used: map[string]bool{}}
	in := l.scope(map[string]string{"N": speaker, "F": friend}, nil)
	return template.Capitalise(template.Tidy(template.Pick(r, g.words.lists[name]).Expand(r, in.resolve)))
}

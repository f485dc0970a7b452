package synthesis

import (
	"math/rand/v2"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// shareMore is how often small talk is taken of chatter_talk.txt, which is nearer to how friends overdo it.
const shareMore = 0.55

// shareMild is how many of the small statements use general words alone.
const shareMild = 0.35

// moreChat are lists of words/chatter_talk.txt by the kind they can stand for.
var moreChat = map[chatKind][]string{
	chatOpening: {"chat.open"}, chatOpeningReply: {"chat.open"},
	chatClosing: {"chat.close"}, chatClosingReply: {"chat.close"},
	chatRemark: {"chat.react", "chat.react", "chat.take-up"}, chatCompliment: {"chat.praise", "chat.truth", "chat.take-up"},
	chatEncourage: {"chat.cheer", "chat.later", "chat.truth"},
	chatThanks:    {"chat.thanks"}, chatAgree: {"chat.truth", "chat.later"},
	chatElicit: {"chat.ask"}, chatAskMore: {"chat.ask"}, chatAdvice: {"chat.advice"},
	chatIdle: {"chat.truth", "chat.later", "chat.ask"}, chatIdleReply: {"chat.truth", "chat.react", "chat.later", "chat.take-up"},
	chatHostile: {"chat.hostile"},
}

// more makes a phrase of chatter_talk.txt; empty when the kind has none.
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

// Aside makes a small statement of a speaker to a friend that belongs to no target: a detail, a short answer, an opinion,
// a feeling. Short says that it makes sense with its question only.
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

package synthesis

import (
	"math/rand/v2"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

// chatKind names a list of words/chatter*.txt.
type chatKind string

// The kinds of small talk. In their phrases {N} is the speaker, {F} the other, {gist} the last told fact.
const (
	chatOpening      chatKind = "opening"
	chatOpeningReply chatKind = "opening-reply"
	chatClosing      chatKind = "closing"
	chatClosingReply chatKind = "closing-reply"
	// chatRemark comments on the last told fact in a few words.
	chatRemark chatKind = "remark"
	// chatCompliment praises the last told fact; chatEncourage wishes well.
	chatCompliment chatKind = "compliment"
	chatEncourage  chatKind = "encourage"
	chatThanks     chatKind = "thanks"
	chatAgree      chatKind = "agree"
	// chatEcho repeats the last told fact, by its gist.
	chatEcho chatKind = "echo"
	// chatElicit asks for anything, chatAskMore for more on the told fact, chatAskBack for the same from the other.
	chatElicit  chatKind = "elicit"
	chatAskMore chatKind = "ask-more"
	chatAskBack chatKind = "ask-back"
	// chatShow presents a picture.
	chatShow   chatKind = "show"
	chatAdvice chatKind = "advice"
	// chatRequest asks the assistant for a task that tells no fact about the user.
	chatRequest   chatKind = "request"
	chatIdle      chatKind = "idle"
	chatIdleReply chatKind = "idle-reply"
	// chatHostile instructs the assistant or its memory; chatRefuse is the assistant's reply.
	chatHostile chatKind = "hostile"
	chatRefuse  chatKind = "refuse"
)

// chatter makes texts without facts: greetings, reactions, praise, questions, advice, small talk. Phrases for talk
// with an assistant are in separate lists, with "assistant-" before the name, where there are any.
type chatter struct {
	words     *library
	r         *rand.Rand
	assistant bool
}

// line makes a phrase of a kind; in resolves its references.
func (c chatter) line(kind chatKind, in scope) string {
	if friendly := !c.assistant || kind == chatAdvice || kind == chatHostile; friendly && template.Chance(c.r, shareMore) {
		if s := c.more(kind, in); s != "" {
			return s
		}
	}
	if c.assistant {
		if list := c.words.lists["assistant-"+string(kind)]; len(list) > 0 {
			return template.Pick(c.r, list).Expand(c.r, in.resolve)
		}
	}
	return template.Pick(c.r, c.words.lists[string(kind)]).Expand(c.r, in.resolve)
}

package embedded

import (
	"regexp"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// echoedShare is how much of what an assistant says must be known for it to be an echo: it wraps what it recalls in words of its own.
const echoedShare = 0.75

// echoes reports whether a statement only says again what is known of somebody else, and which entry says most of it. People echo
// one entry at a time; an assistant recalls several at once.
func (d *decider) echoes(p proposal, known []memory.Memory) (id string, ok bool) {
	assistant := d.turns[p.Sources[0]].Role == memory.RoleAssistant
	if p.Negates || p.denies || !assistant && p.cues.has(cueEnd|cueReplace) || negative.MatchString(p.marked) ||
		!assistant && !strings.Contains(p.marked, " said: ") {
		return "", false
	}
	matter := d.echoedMatter(p)
	if len(matter) == 0 {
		return "", false
	}
	told, best := map[string]bool{}, 0
	for _, m := range known {
		stems, n := d.reading(m, p.self).stems, 0
		for s := range matter {
			if stems[s] {
				told[s] = true
				n++
			}
		}
		if n > best {
			best, id = n, m.ID
		}
	}
	if assistant {
		return id, float64(len(told)) >= echoedShare*float64(len(matter))
	}
	return id, best == len(matter)
}

// echoedMatter returns the content stems of a statement without the names of the session's speakers and the words of reporting.
func (d *decider) echoedMatter(p proposal) map[string]bool {
	matter := map[string]bool{}
	for _, w := range text.Words(p.marked) {
		if text.IsStopWord(w.Lower) || smallTalk[w.Lower] || reportWords[w.Lower] || recalling[w.Lower] || d.names[w.Lower] {
			continue
		}
		matter[text.Stem(w.Lower)] = true
	}
	return matter
}

var negative = regexp.MustCompile(`(?i)\b(?:not|never|no|isn't|wasn't|aren't|doesn't|don't|didn't|won't|can't|cannot)\b`)

// recalling words lead up to what is recalled.
var recalling = text.WordSet(`told remember remembers remembered recall recalls recalled mentioned mention know knows knew since
	assistant user according earlier previously`)

package embedded

import (
	"regexp"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

var (
	routinePattern = regexp.MustCompile(`(?i)\b(?:(?:every|each) (?:other )?(?:single )?(?:day|morning|afternoon|evening|night|week|weekend|month|year|\w+day)|` +
		`(?:on|most) (?:\w+days|weekends|mornings|evenings|weekdays)|usually|(?:once|twice|\w+ times) (?:a|per) (?:day|week|month|year)|daily|weekly)\b`)
	likingPattern = regexp.MustCompile(`(?i)` + selfMark +
		`(?: and others)?(?: \w+ly| also| always| still| just| does not| do not| would| can't| is)*` +
		` (?:likes?|loves?|enjoys?|prefers?|hates?|dislikes?|adores?|(?:a |such a |a big |a huge )?fan of|into|rather|(?:can't )?stand|allergic|obsessed|fond of|like|love|enjoy|keen on)\b`)
	favouritePattern = regexp.MustCompile(`(?i)\b(?:favou?rites?|fave|faves|prefers?|preferred)\b`)
)

// kindOf says what a statement is about: habits, likings, what happened or is planned, what the
// speaker is and has, and what they say of the world.
func kindOf(marked string, dates []text.DateMention) memory.Kind {
	switch {
	case strings.HasPrefix(marked, selfMark+" shared a photo"):
		return memory.KindEpisodic
	case routinePattern.MatchString(marked) && strings.Contains(marked, selfMark):
		return memory.KindProcedural
	case likingPattern.MatchString(marked), favouritePattern.MatchString(marked):
		return memory.KindPreference
	case len(dates) > 0, happened(marked):
		return memory.KindEpisodic
	case !strings.HasPrefix(marked, selfMark+" said") && strings.Contains(marked, selfMark):
		return memory.KindFact
	}
	return memory.KindSemantic
}

// happened reports whether the speaker is the subject of a verb in the past.
func happened(marked string) bool {
	_, after, found := strings.Cut(marked, selfMark)
	for found {
		words := text.Words(after[:min(len(after), 120)])
		for i, w := range words[:min(len(words), 5)] {
			if i == 0 && w.Lower == "said" {
				break
			}
			if isPast(w.Lower) && w.Lower != "put" && w.Lower != "read" {
				return true
			}
			if !adverbs[w.Lower] && !happenedLinks[w.Lower] {
				break
			}
		}
		_, after, found = strings.Cut(after, selfMark)
	}
	return false
}

var happenedLinks = text.WordSet("has have and others")

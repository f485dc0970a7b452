package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

const (
	maxKeywords     = 12
	maxKeywordBytes = 40
)

// topicOf returns the life domain that most words of a statement belong to, or its longest content word.
func topicOf(marked string) string {
	scores := map[string]int{}
	longest := ""
	for _, w := range text.Words(marked) {
		if text.IsStopWord(w.Lower) || smallTalk[w.Lower] || w.Number {
			continue
		}
		if domain, ok := domainOf[text.Stem(w.Lower)]; ok {
			scores[domain]++
		}
		if word := strings.TrimSuffix(w.Lower, "'s"); len(word) > len(longest) && len(word) <= maxKeywordBytes && isNounLike(w.Lower, word) {
			longest = word
		}
	}
	best := ""
	for _, d := range domains {
		if scores[d.name] > scores[best] {
			best = d.name
		}
	}
	if best != "" {
		return best
	}
	return longest
}

// keywordsOf returns the stems of a statement's content words, which match other forms of the words.
func keywordsOf(marked string) []string {
	var out []string
	for _, w := range text.Words(marked) {
		if text.IsStopWord(w.Lower) || smallTalk[w.Lower] || reportWords[w.Lower] || w.Number || len(w.Lower) < 3 {
			continue
		}
		stem := text.Stem(w.Lower)
		if len(stem) > maxKeywordBytes || slices.Contains(out, stem) {
			continue
		}
		if out = append(out, stem); len(out) == maxKeywords {
			break
		}
	}
	return out
}

// isNounLike leaves out what names nothing: adverbs, words of time and forms of verbs.
func isNounLike(lower, word string) bool {
	return !reportWords[word] && !timeWords[word] && !adverbs[word] && !isPast(word) &&
		!strings.HasSuffix(word, "ly") && !strings.HasSuffix(word, "ing") && !strings.Contains(lower, "n't") && !vagueWords[word]
}

// vagueWords are long and name nothing.
var vagueWords = text.WordSet(`however whatever whenever wherever although though without within beyond appreciates understands wishes
	makes remember important`)

// reportWords are ours, not the speaker's.
var reportWords = text.WordSet("said asked shared photo others themself")

// domainOf maps stems to domains.
var domainOf = indexDomains()

func indexDomains() map[string]string {
	index := map[string]string{}
	for _, d := range domains {
		for _, w := range strings.Fields(d.words) {
			stem := text.Stem(w)
			if _, taken := index[stem]; !taken {
				index[stem] = d.name
			}
		}
	}
	return index
}

// domains of life, with words that belong to them. On a tie the first wins.
var domains = []struct{ name, words string }{
	{"health", "health doctor hospital surgery sick ill illness injury injured pain therapy therapist medicine diagnosed allergy allergic diet vegan vegetarian gluten sleep stress anxiety weight dentist pregnant"},
	{"work", "work job career boss office company colleague coworker business meeting project client manager promotion promoted interview hired fired salary startup store shop internship nurse engineer teacher lawyer developer freelance"},
	{"family", "family wife husband son daughter kid child mom mum mother dad father parent sister brother cousin aunt uncle grandma grandmother grandfather niece nephew wedding married baby"},
	{"relationships", "friend girlfriend boyfriend partner dating engaged divorced relationship breakup single fiance"},
	{"pets", "dog cat puppy kitten pet turtle rabbit hamster parrot fish vet leash"},
	{"travel", "travel trip flight vacation holiday visit tour hotel airport passport beach abroad country itinerary roadtrip camping"},
	{"food", "food cook cooking recipe restaurant dinner lunch breakfast bake baking cake coffee tea chocolate cheese pizza pasta meal dessert cream drink wine vegetable"},
	{"study", "study university college school course class exam degree student graduate thesis homework lecture major professor education"},
	{"sport", "sport run running marathon race gym yoga basketball football soccer tennis swim swimming hike hiking bike cycling team game match workout training kickboxing climb ski surf coach tournament"},
	{"music", "music song guitar piano violin band concert sing singing album drum dj"},
	{"arts", "art paint painting draw drawing pottery sculpture photography dance dancing theater theatre gallery"},
	{"books", "book read reading novel author library write writing story poem screenplay script blog"},
	{"film", "movie film series watch cinema actor tv show"},
	{"games", "videogame gaming gamer console chess puzzle boardgame"},
	{"money", "money budget loan bank pay rent mortgage debt save saving invest investor insurance tax"},
	{"home", "home house apartment flat kitchen garden bedroom furniture move moved neighbor neighbour roof renovate live lives rent"},
	{"transport", "car bus train drive driving license bicycle motorcycle traffic"},
	{"technology", "phone laptop computer app software website code programming internet camera"},
	{"community", "community volunteer volunteering charity shelter donate donation politics campaign church veteran activist"},
	{"nature", "nature plant flower tree forest mountain ocean sunset weather lake park"},
}

package embedded

import "github.com/mneme-memory/mneme/shared/text"

// isVague reports whether a sentence says nothing that a question could be about: all its content words praise, rate or name nothing
// ("It was such a good time", "That is a lovely idea"). It is better to omit it than to keep it (SaliMory): it would only
// crowd out what tells something. A name, a number or a time makes any sentence tell something, and so does
// the speaker in it, unless that is an assistant.
func isVague(said string, names map[string]bool, assistant bool) bool {
	for _, w := range text.Words(said) {
		switch {
		case firstPerson[w.Lower] && !assistant:
			return false
		case text.IsStopWord(w.Lower), smallTalk[w.Lower], names[w.Lower], hollow[w.Lower], thirdPerson[w.Lower]:
		default:
			return false
		}
	}
	return true
}

// hollow words rate, or stand for something else; alone they tell nothing.
var hollow = text.WordSet(`talented talent skilled skills creative creativity interesting fascinating adorable brilliant thrilled
	delighted wise smart clever brave strong courageous encouraging refreshing relaxing exciting heartwarming touching breathtaking
	magical unreal surreal awful terrible horrible sad tough rough bad crazy wild insane idea ideas choice choices job work feeling
	feelings time times news surprise honour honor pleasure treat blast gift question answer point reason advice tip tips support
	supportive supporting vibe vibes pic pics picture photo experience experiences memories memory journey adventure challenge
	opportunity progress success goal goals dream dreams future world life heart spirit soul mind energy power place person people
	everybody nobody somebody definitely especially extremely incredibly seriously surely obviously clearly possibly probably hopefully
	sounds sounded looked seemed felt feels feel turned went come comes came going makes made gave gives getting got keeps kept taking
	takes took enjoy enjoyed enjoying share shared sharing loving believe remember forget imagine wonder check matter means meant mean
	helped help huge big little small whole full real right wrong easy difficult simple different similar same common rare nice-looking`)

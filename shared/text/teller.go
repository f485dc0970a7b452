package text

import "slices"

// advisersAbroad are people whose advice somebody takes for a rule of life, in German, Spanish, French, Portuguese and
// Italian. articlesAbroad stand before nouns in these languages.
var (
	advisersAbroad = WordSet(`arzt ärztin hausarzt hausärztin médico médica doctora médecin docteur doutor doutora medico
		dottore dottoressa entrenador entraîneur treinador allenatore`)
	articlesAbroad = WordSet("der die das el la los las le les il lo o os")
)

// tellsBehind reports whether words name the speaker of the words before them: an article or an owner and a noun, as in
// "says the patient". Advisers and the speaker's companions are left out, because their advice may be the speaker's
// rule.
func tellsBehind(words []Word) bool {
	first := words[0].Lower
	mine := firstOwner[first]
	if !mine && !articlesAbroad[first] && first != "a" && first != "an" && (!otherOwner[first] || first == "your") {
		return false
	}
	return !slices.ContainsFunc(words[1:], func(w Word) bool {
		return advisers[w.Lower] || advisersAbroad[w.Lower] || mine && IsCompanion(w.Lower)
	})
}

package query_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/text"
)

// wantsOf holds queries against whether they want a kind of answer.
func wantsOf(t *testing.T, kind string, queries map[string]bool) {
	t.Helper()
	for said, want := range queries {
		if got := understand(said, nil).Wants.Has(kind); got != want {
			t.Errorf("%q wants %s: %t, want %t", said, kind, got, want)
		}
	}
}

func TestAQuestionForAFact(t *testing.T) {
	wantsOf(t, query.Fact, map[string]bool{
		"Where does Ines live?": true, "What's my dog's name?": true, "Has she a car?": true, "When did Ines move?": true,
		"What could I cook on Sunday?":      false,
		"What are some good hotels for me?": false,
		"Are there any hotels in Rome?":     false,
		"Can she swim?":                     false, "Do you have ideas for dinner?": false, "Plan my weekend.": false,
		"": false,
	})
}

func TestAQuestionForAFactInManyForms(t *testing.T) {
	wantsOf(t, query.Fact, map[string]bool{
		"Have I met any of Ida's friends?":                       true,
		"What did we pick in the end, some tiles?":               true,
		"Did I ever tell you of a good dentist?":                 true,
		"The two tickets for Oslo, how much were they?":          true,
		"until when am I banned from driving":                    true,
		"By how much did it slip?":                               true,
		"Can you list the order in which I brought up my plans?": true, "Give me the story of how Ida and I met.": true,
		"Sum up for me what became of our trip.": true, "remind me what I ordered": true, "when's our anniversary": true,
		"Is the car insured?":                      true,
		"Did the vet call?":                        true,
		"Where's Ines?":                            true,
		"Which doctor?":                            true,
		"¿Cuánto dinero le debo a mi hermana?":     true,
		"Combien est-ce que je dois à mon frère ?": true, "我请了谁？": true, "¿Cómo se llama el perro de mi hermana?": true,
		"Tell me a bedtime story about a cat that learned to fly.": false, "Write a summary of the attached report.": false,
		"Suggest a gift for the friend I told you about.": false, "¿Cómo se hace una paella para mis amigos?": false,
		"Vad ska jag laga till middag i kväll?":            false,
		"Was hat mich der Herd gekostet?":                  true,
		"Um wie viel Uhr holt Dirk mich ab?":               true,
		"¿Quién pintó la cocina de mi casa el año pasado?": true,
		"Où est-ce que j'ai rangé mon passeport ?":         true, "Сколько стоила моя машина?": true, "我的医生叫什么名字？": true,
		"How do I descale a kettle?": false, "how to knit a sock": false, "The basil has aphids. What do I spray?": false,
		"Two ways, by bus or by train. Which one?": false,
		"Have a look at my letter.":                false,
		"Write a summary of this text.":            false,
		"Was könnte ich am Sonntag kochen?":        false,
		"Wie entkalke ich meinen Wasserkocher?":    false,
		"¿Qué me recomiendas para cenar?":          false,
		"请推荐一家什么餐厅？":                               false, "Schreib mir einen Brief.": false,
	})
}

func TestAStatementToSearchFor(t *testing.T) {
	wantsOf(t, query.Statement, map[string]bool{
		"Ines lives in Graz.":                   true,
		"The user has a dog.":                   true,
		"User's loan: 200,000 at 0 %":           true,
		"The plan was finalised and confirmed.": true,
		"Der Nutzer wohnt in Graz.":             true, "用户住在格拉茨": true, "I live in Graz.": false,
		"Suggest a lunch for ten.":                         false,
		"Where does Ines live?":                            false,
		"Write that the plan was confirmed.":               false,
		"Ines is coming on Sunday. Plan a dinner.":         false,
		"There is a gala with a long dinner and speeches.": false, "Gift ideas for a man who has everything": false,
		"Birthday present for a retired teacher": false,
		"Recipes that do not have nuts":          false,
		"User manual for my dishwasher":          false,
		"User passed the exam":                   true, "coffee": false, "": false, "please say what was decided": false,
	})
}

func TestAQuestionForAFactAboutTheSpeaker(t *testing.T) {
	wantsOf(t, query.OwnFact, map[string]bool{
		"Where do I live?":             true,
		"What's my dog's name?":        true,
		"which coffee did I like best": true,
		"What am I allergic to?":       true,
		"On which day do I swim?":      true, "whats my limit for fuel": true, "With whom should I dine?": false,
		"What could I cook on Sunday?":      false,
		"Where should I stay in Rome?":      false,
		"What are some good hotels for me?": false,
		"Plan my weekend.":                  false, "Where does Ines live?": false, "": false, "What": false,
	})
}

func TestAQuestionAboutTheUser(t *testing.T) {
	wantsOf(t, query.AboutUser, map[string]bool{
		"Where does the user live?": true,
		"Where do I live?":          true,
		"Wo wohnt der Nutzer?":      true,
		"¿Dónde vive el usuario?":   true,
		"Où habite l'utilisateur ?": true, "Onde mora o usuário?": true, "Dove abita l'utente?": true, "用户住在哪里？": true,
		"¿Dónde vivo?": true, "Dove abito?": true, "Onde moro?": true, "¿Dónde vive ella?": false,
		"Where does Mallory live?": false, "Where does the user's brother live?": false, "Where does my brother live?": false,
		"Wo wohnt mein Bruder?": false, "Where is the user manual?": false, "How many users are there?": false,
	})
}

func TestTheKindsOfAnswer(t *testing.T) {
	for said, want := range map[string]string{
		"How many trees are there?": "amount several interrogative fact, trees",
		"How old is Ida?":           "amount interrogative fact,",
		"It is old, is it?":         ",", "Who are the neighbours?": "name interrogative fact,",
		"What is the name of her cat?":          "name interrogative fact,",
		"What kind of music does Ida play?":     "interrogative fact, music",
		"Which old French novels did she read?": "name several interrogative fact, old french novels",
		"What do Ida and Bruno both like?":      "several interrogative fact,", "Has she a car?": "fact,",
		"Where do I live?": "name interrogative fact own_fact about_user,", "Plan my weekend.": "about_user,", "": ",",
	} {
		q := understand(said, nil)
		got := strings.TrimSpace(strings.Join(q.Wants, " ") + ", " + strings.Join(q.Category, " "))
		if got != want {
			t.Errorf("%q wants %q, want %q", said, got, want)
		}
	}
}

// A question for a time is known in other languages by its first words, in a text that is clearly in that language, or
// where that language is expected.
func TestAQuestionForATimeInManyLanguages(t *testing.T) {
	for said, want := range map[string]bool{
		"Wann ist der Termin bei dem Arzt?": true,
		"Seit wann hast du das Auto?":       true,
		"Wo ist der Termin bei dem Arzt?":   false,
		"¿Cuándo es la cita con el médico?": true, "¿Dónde es la cita con el médico?": false,
		"Quand est le rendez-vous chez le médecin ?": true, "Toplantı ne zaman?": false, "Ne zaman evlendi bu kadın?": true,
		"Когда она переехала в Рим?": true, "Где она была в Риме?": false,
		"彼女はいつローマに引っ越しましたか？": true, "彼女はどこに住んでいますか？": false, "他什么时候搬到罗马的？": true, "그는 언제 로마로 이사했나요?": true,
	} {
		q := understand(said, nil)
		if got := q.AsksWhen(q.Language(text.English)); got != want {
			t.Errorf("%q in %v: %v", said, q.Language(text.English), got)
		}
	}
	german := text.Detect("Ich bin mit dem Zug nach Hause gefahren und habe gelesen.", text.English)
	if short := understand("Wann Umzug?", nil); short.AsksWhen(text.English) || !short.AsksWhen(german) {
		t.Errorf("a short question is read in %v, want the expected language", short.Language(german))
	}
}

// A bare follow-up has the form of the question before it.
func TestAFollowUpIsReadWithTheQuestionBeforeIt(t *testing.T) {
	q := understand("And Ana?", []memory.Message{user("Which town did Tom live in in 2021?"), assistant("In Braga.")})
	if !q.Wants.Has(query.Name) || len(q.Dates) != 0 || q.Horizon.Intent != intent.Past {
		t.Errorf("got %+v, dates %v, horizon %+v", q.Wants, q.Dates, q.Horizon)
	}
}

package query_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

func TestAQuestionForAFact(t *testing.T) {
	for said, want := range map[string]bool{
		"Where does Ines live?": true, "What's my dog's name?": true, "Has she a car?": true, "When did Ines move?": true,
		"What could I cook on Sunday?": false, "What are some good hotels for me?": false, "Are there any hotels in Rome?": false,
		"Can she swim?": false, "Do you have ideas for dinner?": false, "Plan my weekend.": false, "": false,
	} {
		if got := understand(said, nil).Wants.Fact; got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

func TestAQuestionForAFactAboutTheSpeaker(t *testing.T) {
	for said, want := range map[string]bool{
		"Where do I live?": true, "What's my dog's name?": true, "which coffee did I like best": true, "What am I allergic to?": true,
		"What could I cook on Sunday?": false, "Where should I stay in Rome?": false, "What are some good hotels for me?": false,
		"Plan my weekend.": false, "Where does Ines live?": false, "": false, "What": false,
	} {
		if got := understand(said, nil).Wants.OwnFact; got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

func TestAQuestionAboutTheUser(t *testing.T) {
	for question, want := range map[string]bool{
		"Where does the user live?": true, "Where do I live?": true, "Wo wohnt der Nutzer?": true, "¿Dónde vive el usuario?": true,
		"Où habite l'utilisateur ?": true, "Onde mora o usuário?": true, "Dove abita l'utente?": true, "用户住在哪里？": true,
		"¿Dónde vivo?": true, "Dove abito?": true, "Onde moro?": true, "¿Dónde vive ella?": false,
		"Where does Mallory live?": false, "Where does the user's brother live?": false, "Where does my brother live?": false,
		"Wo wohnt mein Bruder?": false, "Where is the user manual?": false, "How many users are there?": false,
	} {
		if got := understand(question, nil).Wants.AboutUser; got != want {
			t.Errorf("%q: got %t", question, got)
		}
	}
}

func TestTheKindOfAnswer(t *testing.T) {
	for _, c := range []struct {
		query                                string
		amount, name, several, interrogative bool
		category                             []string
	}{
		{query: "How many trees are there?", amount: true, several: true, interrogative: true, category: []string{"trees"}},
		{query: "How old is Ida?", amount: true, interrogative: true},
		{query: "It is old, is it?"},
		{query: "Who are the neighbours?", name: true, interrogative: true},
		{query: "What is the name of her cat?", name: true, interrogative: true},
		{query: "What kind of music does Ida play?", interrogative: true, category: []string{"music"}},
		{query: "Which old French novels did she read?", name: true, several: true, interrogative: true,
			category: []string{"old", "french", "novels"}},
		{query: "What do Ida and Bruno both like?", several: true, interrogative: true},
		{query: "Plan my weekend."},
		{query: ""},
	} {
		w := understand(c.query, nil).Wants
		if w.Amount != c.amount || w.Name != c.name || w.Several != c.several || w.Interrogative != c.interrogative ||
			!slices.Equal(w.Category, c.category) {
			t.Errorf("%q wants %+v", c.query, w)
		}
	}
}

// A question for a time is known in other languages by its first words, in a text that is clearly in that language, or
// where that language is expected.
func TestAQuestionForATimeInManyLanguages(t *testing.T) {
	for said, want := range map[string]bool{
		"Wann ist der Termin bei dem Arzt?": true, "Seit wann hast du das Auto?": true, "Wo ist der Termin bei dem Arzt?": false,
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

// The form of a bare follow-up is that of the question before it.
func TestAFollowUpIsReadWithTheQuestionBeforeIt(t *testing.T) {
	q := understand("And Ana?", []memory.Message{user("Which town did Tom live in in 2021?"), assistant("In Braga.")})
	if !q.Wants.Name || !q.Wants.Interrogative || len(q.Dates) != 0 || !q.Horizon.Past {
		t.Errorf("got %+v, dates %v, horizon %+v", q.Wants, q.Dates, q.Horizon)
	}
}

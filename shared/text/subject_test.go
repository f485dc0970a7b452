package text_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestWhatIsAboutAnother(t *testing.T) {
	for _, c := range []struct {
		said, older string
		want        bool
	}{
		{"Tokyo is great now.", "I live in Porto.", true},
		{"My brother lives in Berlin now.", "I live in Porto.", true},
		{"My older brother lives in Berlin now.", "I live in Porto.", true},
		{"Anna works as a plumber now.", "I work as a nurse.", true},
		{"You live in Youville now.", "I live in Porto.", true},
		{"Her phone number is 555 now.", "My phone number is 444 and I share it.", false},
		{"The office is in Lisbon now.", "I live in Porto.", true},
		{"The appointment is on Friday now.", "I have an appointment on Monday.", false},
		{"My dog weighs 12 kg now.", "I have a dog that weighs 10 kg.", false},
		{"My dog weighs 12 kg now.", "I weigh 80 kg.", true},
		{"My new job is in Lisbon.", "I work in Porto.", false},
		{"My brother and I live in Berlin now.", "I live in Porto.", false},
		{"I live in Berlin now.", "I live in Porto.", false},
		{"Moved to Berlin last week.", "I live in Porto.", false},
		{"It is on Friday now.", "I have a meeting on Monday.", false},
		{"My brother lives in Berlin now.", "My brother lives in Oslo.", false},
		{"Vivo en Lisboa ahora.", "Vivo en Porto.", false},
		{"He now lives in Rome.", "I live in Graz.", true},
		{"My brother's flat is in Rome now.", "I live in Graz.", true},
		{"My life as a father is in Rome now.", "I live in Graz.", false},
		{"He vivido en Roma.", "Vivo en Graz.", false},
		{"Er wohnt jetzt in Rom.", "Ich wohne in Graz.", true},
		{"Mein Bruder wohnt jetzt in Rom.", "Ich wohne in Graz.", true},
		{"Meine kleine Schwester wohnt jetzt in Rom.", "Ich wohne in Graz.", true},
		{"Sein Vater wohnt jetzt in Rom.", "Ich wohne in Graz.", true},
		{"Mein Bruder wohnt jetzt in Rom.", "Ich habe einen Bruder in Oslo.", false},
		{"Él vive ahora en Roma.", "Vivo en Graz.", true},
		{"Ella vive ahora en Roma.", "Yo vivo en Graz.", true},
		{"Mi hermano vive ahora en Roma.", "Vivo en Graz.", true},
		{"Su madre vive ahora en Roma.", "Vivo en Graz.", true},
		{"Il habite maintenant à Rome.", "J'habite à Graz.", true},
		{"Elle habite maintenant à Rome.", "J'habite à Graz.", true},
		{"Mon frère habite maintenant à Rome.", "J'habite à Graz.", true},
		{"Ele mora agora em Roma.", "Moro em Graz.", true},
		{"O meu irmão mora agora em Roma.", "Moro em Graz.", true},
		{"Minha irmã mora agora em Roma.", "Eu moro em Graz.", true},
		{"Lui abita adesso a Roma.", "Abito a Graz.", true},
		{"Mio fratello abita adesso a Roma.", "Abito a Graz.", true},
		{"I miei genitori abitano a Roma.", "Io abito a Graz.", true},
		{"I am her doctor: she is no longer allergic to nuts.", "I am allergic to nuts.", true},
		{"I am his sister and he is not allergic to nuts any more.", "I am allergic to nuts.", true},
		{"I am Ana and I say he lives in Berlin now.", "I live in Graz.", true},
		{"I am Ana and he works at Bosch now.", "I work at Siemens.", true},
		{"I'm Ana's lawyer, and she lives in Berlin now.", "I live in Graz.", true},
		{"I know him well and he lives in Berlin now.", "I live in Graz.", true},
		{"I hear she moved to Rome.", "I live in Graz.", true},
		{"I moved to Berlin and he stayed in Graz.", "I live in Graz.", false},
		{"I am happy that he found a flat for us in Berlin.", "I live in Graz.", false},
		{"I told him he can have my old flat, as I live in Berlin now.", "I live in Graz.", false},
		{"I am the man she married in Berlin.", "I live in Graz.", false},
		{"I speak German and she speaks French.", "I speak Dutch.", false},
		{"I hear badly and she helps me.", "I hear well.", false},
		{"I am Muslim and he is not.", "I am a Christian.", false},
		{"I speak for her and she lives in Berlin now.", "I live in Graz.", true},
	} {
		if got := text.IsAboutAnother(c.said, c.older); got != c.want {
			t.Errorf("%q after %q: got %v", c.said, c.older, got)
		}
	}
}

// TestAStatementWithARelativeClauseIsAboutItsNoun has persons that the speaker names by a relative clause, and notes
// without a subject.
func TestAStatementWithARelativeClauseIsAboutItsNoun(t *testing.T) {
	for said, want := range map[string]bool{
		"The guy I share my desk with lives in Oslo now.":    true,
		"That woman we met in Rome moved to Oslo.":           true,
		"The girl I live with moved to Oslo last week.":      true,
		"A man I used to work with is allergic to nuts.":     true,
		"The bloke who fixed our roof works as a pilot now.": true,
		"Some lady that I sit next to eats fish.":            true,
		"Theo left Oslo and lives in Rome now.":              true,
		"Turns out my boss is allergic to wasps.":            true,
		"The people I work for live in Monaco.":              true,
		"My ex kept the flat in Oslo and still lives there.": true,
		"Turns out I am allergic to wasps.":                  false,
		"Lives in Oslo now.":                                 true,
		"Works as a pilot now.":                              true,
		"The company I work for moved to Oslo.":              false,
		"The flat I rent is in Oslo.":                        false,
		"The doctor I see says I am allergic to nuts.":       false,
		"The man I married and I live in Oslo.":              false,
		"The place we moved to is in Oslo.":                  false,
		"Living in Oslo now.":                                false,
		"That said, I live in Oslo.":                         false,
		"The last thing I ate was fish.":                     false,
	} {
		if got := text.SubjectOf(said).Other; got != want {
			t.Errorf("%q: got %t", said, got)
		}
	}
}

// TestOwnFactsWithOthersInThemAreOwn has facts of the speaker that name others, or look like statements about them.
func TestOwnFactsWithOthersInThemAreOwn(t *testing.T) {
	for _, said := range []string{
		"Mein Bruder und ich wohnen in Graz.", "Meine Frau und ich haben zwei Kinder.", "Mein Hund weckt mich um sechs.",
		"Mein Beruf ist Koch.",
		"Meine Schwester wohnt bei mir in Graz.", "Ich wohne bei meinem Bruder.", "Mein Bruder zieht zu uns nach Graz.",
		"Mein neues Büro ist in Graz.",
		"Mi hermano y yo vivimos en Graz.", "Mi mujer y yo tenemos dos hijos.", "Mi hermano vive conmigo en Graz.",
		"He comprado una casa en Graz.",
		"Mi trabajo está en Graz.", "Mi hermana y su marido viven aquí y trabajo con ellos.", "Vivo con mi hermano.",
		"Mi vida como padre es bonita.",
		"Mon frère et moi habitons à Graz.", "Ma femme et moi avons deux enfants.", "Mon chien me réveille à six heures.",
		"Mon travail est à Graz.",
		"J'habite chez mon frère.", "Il y a un an, j'ai déménagé à Graz.", "Il faut que je mange sans gluten.",
		"O meu irmão e eu moramos em Graz.", "Minha mulher e eu temos dois filhos.", "Meu irmão mora comigo em Graz.",
		"O meu trabalho é em Graz.",
		"Moro com o meu irmão.", "Mio fratello ed io abitiamo a Graz.", "Mia moglie e io abbiamo due figli.",
		"Il mio lavoro è a Graz.",
		"Il lavoro nuovo è a Graz.", "Mio fratello mi ospita a Graz.", "Abito con mio fratello.",
	} {
		if s := text.SubjectOf(said); s.Other {
			t.Errorf("%q: got %+v", said, s)
		}
	}
}

// TestAStatementAboutAnyPersonIsAboutAnother has persons that are in no list.
func TestAStatementAboutAnyPersonIsAboutAnother(t *testing.T) {
	for _, c := range []struct{ older, said string }{
		{"I live in Lisbon.", `My ex lives in Oslo now.|My therapist lives in Oslo now.|My lawyer moved to Oslo.|My co-worker now lives in Oslo.
			|My twin lives in Oslo now.|My ex-wife lives in Oslo now.|My step-mother lives in Oslo now.|They moved to Oslo.|It now lives in Oslo.
			|Dr. Smith lives in Oslo now.|One of my friends lives in Oslo now.|Everyone in my family lives in Oslo now.|The kids now live in Oslo.
			|Now he lives in Oslo.|My therapist now lives in Oslo.|A friend of mine lives in Oslo now.|My old piano tutor moved to Oslo.
			|His ex lives in Oslo.|Some of my colleagues moved to Oslo.|Currently she lives in Oslo.|Mary Ann lives in Oslo now.`},
		{"I am allergic to peanuts.", `They are no longer allergic to peanuts.|My ex is no longer allergic to peanuts.|My twin is not allergic to
			peanuts any more.|My brother-in-law isn't allergic to peanuts.`},
		{"I work as a baker.",
			"My therapist works as a pilot now.|My landlady's son works as a pilot now.|My ex has worked as a pilot since May."},
		{"Ich wohne in Lissabon.",
			"Mein Therapeut wohnt jetzt in Oslo.|Jetzt wohnt er in Oslo.|Sie wohnen jetzt in Oslo.|Die Kinder wohnen jetzt in Oslo."},
		{"Vivo en Lisboa.",
			"Mi ex vive ahora en Oslo.|Él ahora vive en Oslo.|Ahora él vive en Oslo.|Ellos viven en Oslo ahora.|Mi abogado vive en Oslo."},
		{"J'habite à Lisbonne.",
			"Mon ex habite maintenant à Oslo.|Ils habitent à Oslo maintenant.|Mon avocat vit à Oslo.|Maintenant elle habite à Oslo."},
		{"Moro em Lisboa.",
			"O meu ex mora agora em Oslo.|Eles moram agora em Oslo.|A minha terapeuta mora em Oslo.|Agora ele mora em Oslo."},
		{"Abito a Lisbona.",
			"Il mio ex abita adesso a Oslo.|Loro abitano a Oslo adesso.|La mia terapista abita a Oslo.|Adesso lei abita a Oslo."},
	} {
		for said := range strings.SplitSeq(c.said, "|") {
			if said = text.OneLine(said); !text.IsAboutAnother(said, c.older) {
				t.Errorf("%q after %q: got %+v", said, c.older, text.SubjectOf(said))
			}
		}
	}
}

// TestOwnFactsThatLookLikeOthersStay has the speaker's own facts in six languages.
func TestOwnFactsThatLookLikeOthersStay(t *testing.T) {
	for _, said := range []string{
		"My home is in Porto now.", "My new address is Rua Nova 7.", "My company moved to Porto.",
		"My team works from home on Fridays.",
		"My hair is red.", "My back hurts.", "My favourite band plays in Porto tonight.", "My job moved to Porto.",
		"My allergy is gone.",
		"My sister lives with me in Porto.", "My therapist helps me a lot.", "My car is a Fiat.", "My diet is vegan.",
		"My birthday is on 3 May.",
		"My budget is 500 euros.", "My office moved to Porto.", "My phone has died.", "My knee is better now.",
		"My blood type is A.",
		"My train leaves at nine and I live near the station.", "Everyone calls me Ana.", "They gave me a job in Porto.",
		"One of my goals is to run a marathon.", "It is my birthday.", "Now my home is in Porto.",
		"Mein Büro ist jetzt in Porto.", "Meine neue Adresse ist Rua Nova 7.", "Mein Rücken tut weh.",
		"Jetzt wohne ich in Porto.", "Mein Budget ist klein.",
		"Mi casa está en Porto.", "Mi presupuesto es pequeño.", "Ahora vivo en Porto.", "Mi dieta es vegana.",
		"Ellos viven conmigo en Porto.",
		"Mon adresse est rue Neuve 7.", "Maintenant j'habite à Porto.", "Mon budget est petit.",
		"Mon appartement est à Porto.",
		"Ils habitent chez moi.",
		"A minha casa é em Porto.", "Agora moro em Porto.", "O meu orçamento é pequeno.", "A minha dieta é vegana.",
		"Eles moram comigo em Porto.",
		"La mia casa è a Porto.", "Adesso abito a Porto.", "Il mio lavoro è a Porto.", "La mia dieta è vegana.",
		"Loro abitano con me a Porto.",
	} {
		if s := text.SubjectOf(said); s.Other {
			t.Errorf("%q: got %+v", said, s)
		}
		if sure := text.Sure(said, "Ana"); sure != said {
			t.Errorf("%q: only %q is surely the user's", said, sure)
		}
	}
}

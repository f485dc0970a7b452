package text_test

import (
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
	} {
		if got := text.IsAboutAnother(c.said, c.older); got != c.want {
			t.Errorf("%q after %q: got %v", c.said, c.older, got)
		}
	}
}

// TestOwnFactsWithOthersInThemAreOwn has facts of the speaker that name others, or look like statements about them.
func TestOwnFactsWithOthersInThemAreOwn(t *testing.T) {
	for _, said := range []string{
		"Mein Bruder und ich wohnen in Graz.", "Meine Frau und ich haben zwei Kinder.", "Mein Hund weckt mich um sechs.", "Mein Beruf ist Koch.",
		"Meine Schwester wohnt bei mir in Graz.", "Ich wohne bei meinem Bruder.", "Mein Bruder zieht zu uns nach Graz.", "Mein neues Büro ist in Graz.",
		"Mi hermano y yo vivimos en Graz.", "Mi mujer y yo tenemos dos hijos.", "Mi hermano vive conmigo en Graz.", "He comprado una casa en Graz.",
		"Mi trabajo está en Graz.", "Mi hermana y su marido viven aquí y trabajo con ellos.", "Vivo con mi hermano.", "Mi vida como padre es bonita.",
		"Mon frère et moi habitons à Graz.", "Ma femme et moi avons deux enfants.", "Mon chien me réveille à six heures.", "Mon travail est à Graz.",
		"J'habite chez mon frère.", "Il y a un an, j'ai déménagé à Graz.", "Il faut que je mange sans gluten.",
		"O meu irmão e eu moramos em Graz.", "Minha mulher e eu temos dois filhos.", "Meu irmão mora comigo em Graz.", "O meu trabalho é em Graz.",
		"Moro com o meu irmão.", "Mio fratello ed io abitiamo a Graz.", "Mia moglie e io abbiamo due figli.", "Il mio lavoro è a Graz.",
		"Il lavoro nuovo è a Graz.", "Mio fratello mi ospita a Graz.", "Abito con mio fratello.",
	} {
		if s := text.SubjectOf(said); s.Other {
			t.Errorf("%q: got %+v", said, s)
		}
	}
}

func TestAQuestionAboutTheUser(t *testing.T) {
	for question, want := range map[string]bool{
		"Where does the user live?": true, "Where do I live?": true, "Wo wohnt der Nutzer?": true, "¿Dónde vive el usuario?": true,
		"Où habite l'utilisateur ?": true, "Onde mora o usuário?": true, "Dove abita l'utente?": true, "用户住在哪里？": true,
		"Where does Mallory live?": false, "Where does the user's brother live?": false, "Where does my brother live?": false,
		"Wo wohnt mein Bruder?": false, "Where is the user manual?": false, "How many users are there?": false,
	} {
		if got := text.AsksAboutUser(question); got != want {
			t.Errorf("%q: got %t", question, got)
		}
	}
}

package features_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// senses are words that mean the same in English and German, by the beginnings of their forms. All texts have much of
// the first in common, as all embeddings of a real model have.
var senses = [][]string{
	{}, {"nut", "nüsse", "nüssen"}, {"allerg"}, {"bicycle", "fahrrad"}, {"garden", "garten"},
	{"teach", "unterricht", "lehr"},
	{"sister", "schwester"}, {"eat", "ess", "isst"}, {"school", "schule"}, {"rain", "regen", "regnet"}, {"sing", "chor"},
}

// bilingual embeds a text by its senses.
func bilingual(said string) []float32 {
	v := make([]float32, len(senses))
	v[0] = 2
	for i, forms := range senses {
		for w := range strings.FieldsSeq(strings.ToLower(said)) {
			for _, f := range forms {
				if strings.HasPrefix(w, f) {
					v[i]++
				}
			}
		}
	}
	return v
}

// germanTalk is a conversation with embedded memories.
func germanTalk() *talk {
	c := &talk{}
	for i, said := range []string{
		"Gestern bin ich mit dem Fahrrad durch den Wald nach Hause gefahren, und dann war ich sehr müde.",
		"Das kenne ich, wenn der Tag so lang war und man noch nichts gegessen hat.",
		"Von Nüssen bekomme ich keine Luft, ich bin seit der Kindheit allergisch.",
		"Meine Schwester wohnt jetzt mit ihren Kindern in Freiburg und hat einen Garten.",
		"Bei uns regnet es schon die ganze Woche, und ich habe keine Lust mehr.",
		"Ich unterrichte ab Februar an einer Schule in der Altstadt, darauf freue ich mich.",
	} {
		c.say(i/3, []string{"Lena", "Tobias"}[i%2], said).Vector = bilingual(said)
	}
	return c
}

func TestAQuestionFindsWhatWasSaidInAnotherLanguage(t *testing.T) {
	c := germanTalk()
	prior, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	x := features.New(wordvector.Shipped(), c.memories, c.turns)
	for query, want := range map[string]string{
		"What is she allergic to, which nuts should not be eaten?": "mt002", "Was there a bicycle in it?": "mt000",
		"Who has a garden, and is it the sister?": "mt003", "Where will she teach, at which school?": "mt005",
		"Did it rain?": "mt004",
	} {
		q := asking(query)
		q.Vector = bilingual(query)
		found := x.Candidates(q, prior.Weights.W, 1)
		if found[0].Memory.ID != want {
			t.Errorf("%q: got %q first, want %s", query, found[0].Memory.Content, want)
		}
	}
}

func TestWordsAreComparedInTheirLanguage(t *testing.T) {
	turns := map[string][2]string{ // what tells, and a question in other forms of its words
		"de": {"Die Häuser meiner Tanten haben große Gärten.", "Welches Haus hat einen Garten?"},
		"fr": {"Nous avons mangé chez les voisines de ma grand-mère.", "Où est-ce que la voisine a mangé ?"},
		"ru": {"Мы с подругами купили красную машину.", "Какая машина у подруги?"},
		"ja": {"四月から札幌の支社で働いています。", "いつ札幌に行きましたか。"},
		"zh": {"我上个月在成都买了一套小房子。", "你在哪里买的房子？"},
	}
	fillers := map[string]string{
		"de": "Das war aber eine lange Woche, und ich bin sehr müde.",
		"fr": "Je ne suis pas sûr que ce soit une bonne idée pour toi.",
		"ru": "Я так устала, что мне ничего не нужно.", "ja": "そうですか、それはよかったですね。", "zh": "今天真的太累了，什么都不想做。",
	}
	for language, said := range turns {
		c := &talk{}
		c.say(0, "Ida", fillers[language])
		c.say(0, "Bruno", said[0])
		c.say(1, "Ida", fillers[language])
		rows := c.ask(t, askingAt(began.Add(24*time.Hour), said[1]))
		for _, f := range []string{"coverage", "topical", "near_words", "meaning", "focus"} {
			if told, other := rows["mt001"][f], rows["mt002"][f]; told <= other || told <= 0 {
				t.Errorf("%s: %s of what tells is %v, of other turns %v", language, f, told, other)
			}
		}
	}
}

func TestTheOneAskedAboutIsKnownByNameInAScriptWithoutSpaces(t *testing.T) {
	c := &talk{}
	c.say(0, "李娜", "我在医院的急诊科工作。")
	c.say(0, "王强", "我在成都买房子。")
	rows := c.ask(t, asking("李娜在哪里工作？"))
	if rows["mt000"]["spoken_by"] != 1 || rows["mt001"]["spoken_by_other"] != 1 {
		t.Errorf("got %v and %v, want the first spoken by the one asked about", rows["mt000"], rows["mt001"])
	}
}

func TestOneAsksAboutOneselfInAnyLanguage(t *testing.T) {
	for query, said := range map[string]string{
		"Wogegen bin ich allergisch?": "Ich darf keine Nüsse essen, aber das weißt du ja.",
		"¿Cuándo es mi examen?":       "Me voy a examinar el martes por la tarde.",
		"Qu'est-ce que j'ai promis ?": "Je vais peindre la chambre de ma fille.",
		"Где я работаю?":              "Я теперь работаю в школе у метро.",
		"私の猫の名前は何ですか":                 "モモという猫を飼っています。", "我的猫叫什么？": "这只猫叫年糕。",
	} {
		c := &talk{}
		c.say(0, "Kim", said)
		c.say(0, "Assistant", said)
		rows := c.ask(t, asking(query))
		if rows["mt000"]["spoken_by"] != 1 || rows["mt001"]["spoken_by_other"] != 1 {
			t.Errorf("%q: want what the user said told from what the assistant did", query)
		}
	}
}

func TestATextThatDoesNotTellIsInTheUsersLanguage(t *testing.T) {
	c := germanTalk()
	c.say(3, "Lena", "Lieblingsfarben: Grüntöne!")
	rows := rowsOf(features.New(wordvector.Shipped(), c.memories, c.turns), asking("Grünton?"))
	if got := rows["mt006"]["topical"]; got <= 0 {
		t.Errorf("topical is %v, want the German plural found by its singular", got)
	}
}

// A question that names its speaker is not a request of that speaker, also in scripts without spaces.
func TestAQuestionThatNamesItsSpeakerIsNoRequestInAScriptWithoutSpaces(t *testing.T) {
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for speaker, query := range map[string]string{"小明": "小明喜欢吃什么？", "さくら": "さくらは何が好きですか"} {
		said := []memory.Turn{
			{ID: "t1", SessionID: "s1", Speaker: speaker, Role: memory.RoleUser, Text: query, Time: at},
			{ID: "t2", SessionID: "s1", Speaker: "Assistant", Role: memory.RoleAssistant, Text: "OK.", Time: at},
		}
		known := []memory.Memory{{ID: "m1", Content: query, Speaker: speaker, Sources: []string{"t1"},
			Status: memory.StatusActive}}
		x := features.New(wordvector.Shipped(), known, said)
		for _, c := range x.Candidates(askingAt(at.AddDate(0, 1, 0), query), make([]float32, len(features.Names())), 1) {
			if c.Regime != features.Questions {
				t.Errorf("%s: is taken for %s", query, c.Regime)
			}
		}
	}
}

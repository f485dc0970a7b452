package text_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestDetect(t *testing.T) {
	for said, want := range map[string]string{
		"I was in Berlin last week and it was fun": "en", "": "en", "São Tomé": "en", "No me digas!": "en", "Sushi": "en",
		"Meine Schwester wohnt seit dem Sommer in Köln":   "de",
		"No me he ido a casa de mi hermana porque llovía": "es",
		"Je n'ai pas mangé de viande depuis un an":        "fr",
		"Ho visto che non c'è più nessuno in casa":        "it",
		"Eu não gosto de café, mas ele gosta muito":       "pt",
		"Ik heb het boek niet gelezen, maar zij wel":      "nl",
		"Кем работает Ольга?":                             "ru",
		"猫の名前は何ですか":                                       "ja",
		"李娜在医院的哪个科工作":                                     "zh",
		"제 고양이 이름은 모모예요":                                  "ko",
		"แมวของฉันชื่อโมโม":                               "th",
	} {
		if got := text.Detect(said, text.English).String(); got != want {
			t.Errorf("%q is taken for %s, want %s", said, got, want)
		}
	}
	german := text.Detect("Meine Schwester wohnt seit dem Sommer in Köln", text.English)
	if got := text.Detect("Pizza!", german); got != german {
		t.Errorf("a text that does not tell is taken for %s, not for the expected language", got)
	}
}

func TestForeign(t *testing.T) {
	for said, want := range map[string]bool{
		"J'ai déménagé à Lyon": true, "Ich wohne jetzt in Köln": true, "引っ越しました": true, "I moved to Lyon": false,
		"Pizza!": false, "": false,
	} {
		if got := text.TallyWords(text.Words(said)).Foreign(); got != want {
			t.Errorf("%q: foreign is %t, want %t", said, got, want)
		}
	}
}

func TestSearchTermsOfOtherLanguages(t *testing.T) {
	for said, want := range map[string]string{
		"Wo haben die Häuser ihre Gärten?":                  "haus gart",
		"¿Dónde están las canciones que cantaba mi abuela?": "cancion cant abuel",
		"Il n'a pas trouvé l'île où elle habitait":          "trouv ile habit",
		"Она живёт в большом доме с мужем":                  "живет больш дом муж",
		"健太はどこに転勤しましたか。":                                    "健太 太は 転勤",
		"猫のモモを連れて行く。":                                       "猫の モモ 連れ れて 行く",
		"ｶﾞﾗｽとがっこう":                                         "ガラ ラス とが がっ っこ こう",
		"李娜为什么要搬家？":                                         "李娜 要搬 搬家",
		"서울에서 살아요":                                          "서울 울에 에서 살아 아요",
		"我2024年在Google工作，有3,5个":                             "我 2024 年 googl 工作 有 3,5 个",
	} {
		if got := strings.Join(text.SearchTerms(said), " "); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

package text_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

// TestALineBehindANameIsAnothersWord reads single lines of a user with the name Ana Pinto.
func TestALineBehindANameIsAnothersWord(t *testing.T) {
	for _, said := range []string{
		"Marta: I live in Braga now.", "Marta Silva: I live in Braga now.", "[10:32] Marta: I live in Braga now.",
		"**Marta:** I live in Braga now.",
		"Marta (10:32): I live in Braga now.", "Mum: I have moved to Braga.", "Dr. Weber: I moved to Braga.",
		"MARTA: my new home is in Braga",
		"Jürgen: ich wohne jetzt in Graz.", "Mateo: vivo en Sevilla ahora.", "Chloé: j'habite à Lyon maintenant.",
		"João: moro em Braga agora.",
		"Giulia: abito a Torino adesso.", "Anna: ik woon nu in Delft.", "Ольга: я теперь живу в Омске.", "田中さん：私は京都に住んでいます。",
		"小明：我现在住在成都。", "마르타 씨: 저는 부산에 살아요.",
	} {
		if own, others := text.Voices(said, "Ana Pinto"); own != "" || others != said {
			t.Errorf("%q: own %q, passed on %q", said, own, others)
		}
	}
}

func TestALineBehindAHeadingIsOwn(t *testing.T) {
	for _, said := range []string{
		"Ana: I live in Braga now.", "Pinto: I live in Braga now.", "Me: I live in Braga now.", "Ich: ich wohne in Graz.",
		"Yo: vivo en Sevilla.",
		"Moi : j'habite à Lyon.", "Eu: moro em Braga.", "Io: abito a Torino.", "Ik: ik woon in Delft.", "Я: я живу в Омске.",
		"私：私は京都に住んでいます。",
		"我：我住在成都。", "Update: I live in Braga now.", "PS: I live in Braga now.", "Note: I live in Braga now.",
		"Correction: I live in Braga now.",
		"Edit: I live in Braga now.", "FYI: I live in Braga now.", "TL;DR: I live in Braga now.",
		"Question: can I cook rice in my oven?",
		"Allergies: I can't eat nuts at all.", "Fun Fact: I iron everything I own.", "Work: I am a nurse at Mercy.",
		"Home: I live in Graz now.",
		"Dog: I walk him every morning.", "Nachtrag: ich wohne in Graz.", "Korrektur: ich wohne in Graz.",
		"Frage: kann ich das einfrieren?",
		"Corrección: vivo en Sevilla ahora.", "Nota: vivo en Sevilla ahora.", "Pregunta: ¿puedo comer esto?",
		"Note : j'habite à Lyon maintenant.",
		"Correction : j'habite à Lyon.", "Correção: moro em Braga agora.", "Pergunta: posso comer isso?",
		"Correzione: abito a Torino adesso.",
		"Domanda: posso congelarlo io?", "Correctie: ik woon nu in Delft.", "Vraag: kan ik dit invriezen?",
		"Поправка: я теперь живу в Омске.",
		"Вопрос: мне можно это есть?", "追記：私は京都に住んでいます。", "質問：私は京都に住めますか。", "更正：我现在住在成都。", "问题：我可以吃这个吗？",
		"I love two cities: Graz is where I live.", "Alexa: I live in Graz now.", "meeting at 10: I will be late for it",
	} {
		if own, others := text.Voices(said, "Ana Pinto"); own != said || others != "" ||
			text.Unsure(said, "Ana Pinto") != "" {
			t.Errorf("%q: own %q, passed on %q, unsure %q", said, own, others, text.Unsure(said, "Ana Pinto"))
		}
	}
}

// TestALineBehindAnUnknownLabelIsOwnAndUnsure reads labels that are no known names and no known headings.
func TestALineBehindAnUnknownLabelIsOwnAndUnsure(t *testing.T) {
	for _, said := range []string{"Xochitl: I live in Braga now.", "Gastroscopy: I am fine again.",
		"Marta: lives in Braga now."} {
		if own, others := text.Voices(said, "Ana"); own != said || others != "" || text.Unsure(said, "Ana") != said {
			t.Errorf("%q: own %q, passed on %q, unsure %q", said, own, others, text.Unsure(said, "Ana"))
		}
	}
}

func TestAHeadingWithinATranscriptIsOwn(t *testing.T) {
	own, others := text.Voices("Work: I am a nurse at Mercy\nHome: I live in Graz now", "Ana")
	if others != "" {
		t.Errorf("own %q, passed on %q", own, others)
	}
}

package text_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/text"
)

// surely reports whether words of a text that may be another's are surely the user's.
func surely(said string) bool {
	sure := text.Sure(said, "Ana")
	return slices.ContainsFunc([]string{"Oslo", "cats", "pilot", "peanuts"}, func(word string) bool {
		return strings.Contains(sure, word)
	})
}

// TestALineBehindAnAttributionClosesNothing has lines and exports of another person.
func TestALineBehindAnAttributionClosesNothing(t *testing.T) {
	for _, said := range []string{
		// single lines
		"Mallory: I moved to Oslo.", "Mallory: I work as a pilot now.", "Mallory Anne Smith: I moved to Oslo.",
		"@mallory: I moved to Oslo.",
		"mallory99: I moved to Oslo.", "Mallory：I moved to Oslo.", "My sister: I moved to Oslo.",
		"Message from Mallory: I moved to Oslo.",
		"Forwarded from Mallory:\nI moved to Oslo.", "She told everyone: I moved to Oslo.", "Her: I moved to Oslo.",
		"Mum: I moved to Oslo.",
		"@mallory: I am no longer allergic to peanuts", "Mi hermana: vivo en Oslo ahora.",
		"Meine Schwester: ich wohne jetzt in Oslo.",
		"My best friend wrote: I moved to Oslo.", "My wife wrote me this:\nI moved to Oslo.\nI am allergic to cats.",
		"xochitl: I moved to Oslo.",
		"From @mallory: I moved to Oslo.", "Quote from my boss: I moved to Oslo.", "Sie schrieb: Ich wohne jetzt in Oslo.",
		"Mallory escribió: vivo en Oslo ahora.", "Ma sœur a écrit : j'habite à Oslo maintenant.", "🦊: I moved to Oslo.",
		// exports
		"[12/03/2026, 10:15:02] Mallory: I live in Oslo now.", "12/03/2026, 10:15 - Mallory: I live in Oslo now.",
		"2026-03-12 10:15 M: I live in Oslo now.", "Mallory, [12.03.26 10:15]\nI live in Oslo now.",
		"Mallory [10:15]: I live in Oslo now.",
		"**Mallory**: I live in Oslo now.", "Mallory,I live in Oslo now.", "name,text\nMallory,I live in Oslo now.",
		"2026-03-12\tMallory\tI live in Oslo now.", "| Mallory | I live in Oslo now. |",
		"- name: Mallory\n  text: I live in Oslo now.",
		"Kofi Mensah: I live in Oslo.", "Papa : j'habite à Oslo.", "Mein Chef: ich wohne in Oslo.",
		"My landlord: I moved to Oslo.",
		"The doctor: I moved to Oslo.", "Text from my sister: I moved to Oslo.", "WhatsApp from Tom: I moved to Oslo.",
		"jdoe_77: I live in Oslo.",
		"As my mother put it: I moved to Oslo.", "Mon 10:15 Tom: I live in Oslo", "Tom (via Slack): I live in Oslo.",
		"Tom - I live in Oslo",
		"Tom <tom@x.org>: I live in Oslo.", "\"Tom\";\"I live in Oslo\"", "- **Tom** — I live in Oslo",
		"Tom wrote on Monday:\n\nI live in Oslo.",
		"March 12, 2026 10:15 Tom: I live in Oslo", "Here is a letter by my aunt:\nI live in Oslo.",
		"🦊 Mallory 🦊: I live in Oslo now.", "12.03.26, 10:15 - Mallory: Ich wohne jetzt in Oslo.",
		"Mallory — Today at 10:15\nI live in Oslo now.",
		"Mallory  10:15 AM\nI live in Oslo now.", "[10:15] M: I live in Oslo now.", "<m> I live in Oslo now.",
		"[12/03/2026, 10:15:02] Xoch: I live in Oslo now.\n[12/03/2026, 10:16:02] Ana: Great!",
		"12/3/26, 10:15 PM - Mum: I live in Oslo now.", "Me: hi\nHer: I moved to Oslo. I am allergic to cats.",
		"Xoch: hey you\nTlal: hey\nXoch: I moved to Oslo.", "sender: Mallory\nmessage: I live in Oslo now.",
	} {
		if surely(said) {
			t.Errorf("%q: %q is surely the user's", said, text.Sure(said, "Ana"))
		}
	}
}

// TestAQuotationOrALetterClosesNothing has passages of another person.
func TestAQuotationOrALetterClosesNothing(t *testing.T) {
	for _, said := range []string{
		"“I moved to Oslo last week and work as a pilot.”", "‘I moved to Oslo last week,’ Mallory said.",
		"‹I moved to Oslo last week.›",
		"Dear Ines,\nI moved to Oslo last week and I work as a pilot.\nYours,\nMallory",
		"Chère Ines,\nj'habite maintenant à Oslo.\nBises,\nMallory",
		"Liebe Ines,\nich wohne jetzt in Oslo.\nLiebe Grüße\nMallory",
		"Querida Ines:\nAhora vivo en Oslo.\nUn abrazo,\nMallory", "« J'habite maintenant à Oslo. »",
		"»Ich wohne jetzt in Oslo.«",
		"Can you proofread this for my friend?\n\nI live in Oslo. I am allergic to cats.",
		"Hi Ines. I am allergic to cats. Mallory",
		"Please translate this into German.\nI live in Oslo now.", "Kannst du das übersetzen?\n\nI live in Oslo now.",
		"Mallory said: “I moved to Oslo.”", `"I moved to Oslo", she said.`, `Mallory said "I moved to Oslo".`,
		"Look what I got:\n\nDear Ines,\nI moved to Oslo.\nBest wishes,\nMallory",
		"Mallory told me to move to Oslo.", "My neighbour says I am an administrator now.",
		"My boss asked me to say I live in Oslo.", "My husband told me to say I live in Oslo.",
		"My doctor told me to rest and my neighbour says I am an administrator.", "My chatbot said I must trust Eve.",
		"My wife says I must have moved to Oslo.", "My new phishing mail says I must send all invoices to Eve.",
		"\"I live in Oslo,\" she wrote.", "Summarise this:\n\nI live in Oslo. I am a pilot.",
	} {
		if surely(said) {
			t.Errorf("%q: %q is surely the user's", said, text.Sure(said, "Ana"))
		}
	}
}

// TestOwnWordsBesideOthersClose has the user's own statement next to words of others, and behind headings.
func TestOwnWordsBesideOthersClose(t *testing.T) {
	for said, own := range map[string][]string{
		"Hobby: I love to hike.\nAllergy: I am allergic to shrimp.":                {"love to hike", "allergic to shrimp"},
		"Name: I am called Ana\nDiet: I eat no meat at all":                        {"called Ana", "no meat"},
		"News: I moved to Porto!\nAlso: I work as a teacher now.":                  {"moved to Porto", "a teacher now"},
		"Me: I moved to Porto.\nMallory: I moved to Oslo.":                         {"moved to Porto"},
		`Mallory said "I moved to Oslo", but I moved to Porto.`:                    {"moved to Porto"},
		"Mallory said she moved to Oslo, whereas I moved to Porto.":                {"moved to Porto"},
		"My doctor told me I am allergic to shrimp, and I moved to Porto.":         {"moved to Porto"},
		"My doctor told me to never take ibuprofen with my blood thinner.":         {"told me", "never take ibuprofen"},
		"My wife says I have to stop buying tools, and she's right.":               {"stop buying tools"},
		"My physio told us not to run. My wife said that we can't have a dog.":     {"not to run", "a dog"},
		"My doctor says I'm not allowed to drink":                                  {"allowed to drink"},
		"Mallory sagt, sie wohnt in Oslo. Ich wohne in Porto.":                     {"wohne in Porto"},
		"She says she hates fish but I love it a lot.":                             {"love it a lot"},
		"Can you proofread my friend's note? I live in Porto.\n\nI live in Oslo.":  {"live in Porto"},
		"Mum: I moved to Oslo.\nI still live in Porto.":                            {"still live in Porto"},
		"“I moved to Oslo,” she said. I live in Porto.":                            {"live in Porto"},
		"[10:15] Me: I moved to Porto.\n[10:16] Mallory: I moved to Oslo.":         {"moved to Porto"},
		"She told everyone: I moved to Oslo.\nI moved to Porto.":                   {"moved to Porto"},
		"Marta told us she likes jazz, but my home is full of rock records.":       {"home is full"},
		"Tom hat gesagt: ich bin Pilot.\nIch bin Koch von Beruf.":                  {"Koch von Beruf"},
		"Monday: I swim.\nTuesday: I run in the park.\nWednesday: I rest.":         {"I swim", "I run", "I rest"},
		"Breakfast: I eat oats every day.\nLunch: I skip it.\nDinner: I eat soup":  {"oats", "skip", "soup"},
		"- Job: I am a nurse.\n- City: I live in Porto.\n- Pets: I have two cats.": {"nurse", "Porto", "two cats"},
		"| Home | I live in Porto |\n| Job | I am a nurse at a school |":           {"live in Porto", "nurse"},
		"12/03/2026: I moved to Porto.\n14/03/2026: I started as a nurse.":         {"moved to Porto", "as a nurse"},
		"10:15 Breakfast: I eat oats.":                                             {"I eat oats"},
		"Here is my day, my week: I swim, I run, I rest.":                          {"swim"},
		"My address: I live at Rua Nova 7 in Porto.":                               {"live at Rua"},
		"My partner and I live in Porto.":                                          {"live in Porto"},
		"Dietary needs: I am vegan.":                                               {"am vegan"},
		"Good news: I moved to Porto!":                                             {"moved to Porto"},
		"Pros: I like it.\nCons: I hate the rent.":                                 {"like it", "hate the rent"},
		"Day 1: I ran.\nDay 2: I swam.":                                            {"I ran", "I swam"},
		"I translate books.\nI live in Porto.":                                     {"live in Porto"},
		"Hi Assistant. I moved to Porto. Thanks, Ana":                              {"moved to Porto"},
		"Ziel: ich will laufen.":                                                   {"will laufen"},
		"Problema: no tengo coche.":                                                {"tengo coche"},
		"Nouvelle adresse : j'habite à Lyon.":                                      {"habite à Lyon"},
		"Novo endereço: moro em Braga.":                                            {"moro em Braga"},
		"Nuovo indirizzo: abito a Torino.":                                         {"abito a Torino"},
		"My job: I am a nurse.":                                                    {"nurse"},
		"I told everyone: I moved to Porto.":                                       {"moved to Porto"},
		"Ich habe allen gesagt: ich wohne jetzt in Porto.":                         {"Porto"},
		"That said: I moved to Porto.":                                             {"moved to Porto"},
		"Hi there. I am allergic to cats. Thanks!":                                 {"allergic to cats"},
		"Hello! I moved to Porto last week. Can you help me find a doctor? Thanks": {"moved to Porto"},
		"Hi Mneme,\nI moved to Porto.\nThanks,\nAna":                               {"moved to Porto"},
		"Dear Ines,\nI moved to Porto.\nYours,\nAna":                               {"moved to Porto"},
		"I wrote \"I moved to Oslo\" in my novel, and I live in Porto.":            {"live in Porto"},
		"I love the song “I will survive” a lot.":                                  {"love the song"},
		"My name, I live in Porto, and my job":                                     {"live in Porto"},
	} {
		sure := strings.Join(strings.Fields(text.Sure(said, "Ana")), " ")
		for _, words := range own {
			if !strings.Contains(sure, words) {
				t.Errorf("%q: %q is not in %q", said, words, sure)
			}
		}
	}
	if own, _ := text.Voices("User: I am allergic to shrimp.", ""); own != "User: I am allergic to shrimp." {
		t.Errorf("a line behind the user's role: own %q", own)
	}
}

// TestVoicesTakeTimeLinearInTheText has texts that make a reader start anew at each mark. A text of four times the
// length takes four times as long. The margin and the tries are for a busy machine: a quadratic reader took minutes.
func TestVoicesTakeTimeLinearInTheText(t *testing.T) {
	const short, times, tries = 4 << 10, 4, 3
	for _, unit := range []string{
		"!,", "! ", "; ", ", ", "a!b", "user!", "?user ", ", the user", "“a\"x\"", "«»", "„", "'a ", "'a'b", "‘a’",
		"Xo: I a\n",
		"Mallory: I am\n", "X: ",
		"@a: ", "|a", "a,b", "10:15 ", "[1] ", "\t", "\n", "-", "🦊", "she said but I ", "She said \"I am so ok now\", ",
		"Dear Ines,\n", "Yours,\n", "Hi Ines. ",
		"name: Tom\n", "I ", "my ex ", "of mine ", "，", "： ", "。user", " that", "a b c: ",
	} {
		read := func(n int) time.Duration {
			said := "user " + strings.Repeat(unit, n/len(unit))
			at := time.Now()
			text.Voices(said, "Ana")
			text.SubjectOf(said)
			return time.Since(at)
		}
		for try := 1; ; try++ {
			a, b := read(short), read(short*times)
			if b <= 2*times*a+time.Second {
				break
			}
			if try == tries {
				t.Errorf("%q: %d bytes take %v, %d take %v", unit, short, a, short*times, b)
				break
			}
		}
	}
}

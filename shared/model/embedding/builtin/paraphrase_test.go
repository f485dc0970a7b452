package builtin_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// A triple is a sentence, a paraphrase of it (or a question for it), and a sentence about another subject. The
// first list was at hand while the word lists were written. The second list was not used for any choice.
type triple struct{ sentence, paraphrase, other string }

var triples = map[string][]triple{
	"chosen on": {
		{"Ana works at a hospital as a nurse", "What is Ana's job?", "Ana adopted a grey cat last week"},
		{"Ben moved to Lisbon in spring", "Which city does Ben live in now?", "Ben cooked a mushroom risotto for guests"},
		{"Carla hates cilantro", "Carla dislikes the taste of coriander leaves, she avoids cilantro",
			"Carla bought a red bicycle"},
		{"Dev has two dogs", "What pets does Dev have?", "Dev passed his driving exam"},
		{"Elif's daughter started school", "Elif's kid is in first grade now", "Elif repaired the kitchen sink"},
		{"I got fired from my company", "He lost his job", "He went skiing with his cousins"},
		{"My mother passed away two years ago", "Her mom died", "Her flight was delayed by snow"},
		{"We are getting married in June", "When is the wedding?", "When does the train leave?"},
		{"I am allergic to peanuts", "Which foods trigger a reaction, like nuts?", "Which films does she watch?"},
		{"He plays the violin in an orchestra", "What musical instrument does he play?", "What did he study at university?"},
		{"She runs marathons every autumn", "She likes jogging and long races", "She is saving for a mortgage"},
		{"We visited Kyoto on our vacation", "Where did they travel for the holidays?", "What does she eat for breakfast?"},
		{"I don't eat meat", "He is a vegetarian", "He drives an old truck"},
		{"My car broke down on the highway", "His vehicle needed a repair", "His sister sings in a choir"},
		{"I'm learning to paint landscapes", "She took up an art hobby", "She dislikes her neighbours"},
		{"I can't sleep at night", "He suffers from insomnia", "He bought tickets for the football game"},
		{"Our baby was born on Tuesday", "They have a newborn infant", "They sold the old sofa"},
		{"I finished reading a novel about pirates", "What book did he read?", "What car does he drive?"},
		{"I am studying for my chemistry exam", "She is a student preparing for a test", "She walked her dog on the beach"},
		{"He teaches mathematics to teenagers", "He is a school teacher", "He has a headache"},
		{"I signed up for a pottery class", "She does ceramics", "She flew to Boston"},
		{"My brother lives in Toronto", "Where does his sibling reside?", "How much money did he spend?"},
		{"I prefer tea to coffee", "What does she like to drink?", "Where was she born?"},
		{"I broke my leg while climbing", "He was injured on a mountain", "He paints portraits"},
	},
	"held out": {
		{"Farah is a lawyer in Geneva", "What does Farah do for work, something with the law?",
			"Farah keeps bees on her roof"},
		{"Goran's puppy chewed the carpet", "Goran has a young dog", "Goran speaks four languages"},
		{"I quit smoking last winter", "She gave up cigarettes", "She painted the fence green"},
		{"We bought a house near the lake", "They purchased a home by the water", "They argued about politics"},
		{"My grandfather was a sailor in the navy", "His grandpa served in the military at sea",
			"His laptop stopped charging"},
		{"I am saving money for a trip to Peru", "She has a travel budget for South America", "She injured her knee"},
		{"I adore jazz concerts", "What kind of music does he enjoy?", "What time is the dentist appointment?"},
		{"I graduated from college in 2015", "When did she finish her degree?", "When did she buy her car?"},
		{"Hana bakes sourdough bread on Sundays", "What does Hana like to cook at weekends?", "Which team did Hana support?"},
		{"I take insulin twice a day", "He is a diabetic on medication", "He repaired his motorcycle"},
		{"My wife is expecting our second child", "His spouse is pregnant", "His office moved downtown"},
		{"I volunteer at an animal shelter", "She helps a charity for pets", "She prefers silver jewellery"},
		{"We go camping in the national forest", "They sleep in a tent outdoors", "They watched a comedy on television"},
		{"My boss gave me a raise", "He earns a higher salary after his promotion", "He has blue eyes"},
		{"I got divorced three years ago", "Her marriage ended", "Her garden is full of tomatoes"},
		{"I was born in a small village in Kenya", "What country is he originally from?", "What is his favourite colour?"},
		{"I had surgery on my shoulder in May", "She was operated on at the hospital", "She sings in the church choir"},
		{"I swim forty laps each morning", "What sport does he do for exercise?", "What wine does he recommend?"},
		{"My phone was stolen on the bus", "She lost her mobile to a thief", "She dances salsa on Fridays"},
		{"I code in Rust at a startup", "He is a software engineer at a young company", "He is afraid of spiders"},
		{"I feel anxious before every presentation", "She has stress and panic when speaking in public",
			"She planted two apple trees"},
		{"My parents live on a farm", "His mom and dad have a home in the countryside", "His exam went badly"},
		{"I'd love to see Iceland one day", "She dreams of a trip to Iceland", "She fixed a leaking tap"},
		{"I adopted a rescue kitten named Miso", "What is the name of her cat?", "What is the price of her rent?"},
		{"I wrote a poem for my grandmother", "He is a writer of poetry", "He rides the subway"},
		{"I won first prize at the chess tournament", "He is a champion in a board game", "He has the flu"},
		{"I can't drink milk", "She is lactose intolerant and avoids dairy", "She moved her desk"},
		{"My flight to Oslo was cancelled", "The airline called off the plane", "The soup needs more salt"},
		{"I speak Turkish with my children", "Which language does the family use with the kids?",
			"Which doctor treated the wound?"},
		{"I met my best friend in kindergarten", "How long has he known his buddy?", "How much does the sofa cost?"},
	},
}

// closer counts the triples whose paraphrase is nearer than the other sentence.
func closer(t *testing.T, list []triple) int {
	t.Helper()
	e := builtin.New()
	n := 0
	for _, c := range list {
		v, err := e.Embed(t.Context(), []string{c.sentence, c.paraphrase, c.other})
		if err != nil {
			t.Fatal(err)
		}
		near, far := cosine(v[0], v[1]), cosine(v[0], v[2])
		if near > far {
			n++
			continue
		}
		t.Logf("%.3f <= %.3f: %q, %q, %q", near, far, c.sentence, c.paraphrase, c.other)
	}
	return n
}

func TestParaphrasesAreCloser(t *testing.T) {
	want := map[string]int{"chosen on": 23, "held out": 29}
	for name, list := range triples {
		t.Run(name, func(t *testing.T) {
			if n := closer(t, list); n < want[name] {
				t.Errorf("%d of %d paraphrases are closer, want at least %d", n, len(list), want[name])
			} else {
				t.Logf("%d of %d paraphrases are closer", n, len(list))
			}
		})
	}
}

func cosine(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func BenchmarkEmbed(b *testing.B) {
	e := builtin.New()
	text := []string{"I moved to Lisbon last spring with my two dogs and started at a small design studio near the river."}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Embed(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

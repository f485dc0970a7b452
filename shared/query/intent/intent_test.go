package intent_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/text"
)

var now = time.Date(2024, 6, 12, 15, 0, 0, 0, time.UTC)

func TestReadTellsPresentPastAndEvents(t *testing.T) {
	m := intent.Trained()
	for question, want := range map[string]intent.Intent{
		"Where is Iris working?":                            intent.Present,
		"What did I say my dog is allergic to?":             intent.Present,
		"Do I still have the blue bicycle?":                 intent.Present,
		"Since when have I had the blue bicycle?":           intent.Present,
		"Suggest a place for a picnic.":                     intent.Present,
		"What's my new passport number?":                    intent.Present,
		"What was my old passport number?":                  intent.Past,
		"What did I use to eat before bed?":                 intent.Past,
		"Where did Iris live before she moved to Split?":    intent.Past,
		"could you remind me what my previous username was": intent.Past,
		"Who was my boss back then?":                        intent.Past,
		"When did Iris fly to Tokyo?":                       intent.Event,
		"Who did Iris meet at the airport?":                 intent.Event,
		"Why did Iris cancel the party?":                    intent.Event,
	} {
		if r := m.Read(question, text.Dates(question, now), now); r.Likeliest() != want || r.Past != (want == intent.Past) {
			t.Errorf("%s: read as %s %.2f, past %v; want %s", question, r.Likeliest(), r.Probabilities, r.Past, want)
		}
	}
}

func TestADateIsAskedAboutOrOnlyNamed(t *testing.T) {
	m := intent.Trained()
	for question, asked := range map[string]bool{
		"Which bicycle did I have in 2019?":                  true,
		"In March 2021, where was I working?":                true,
		"Since 2019, where do I work?":                       false,
		"I bought a bicycle in 2019. How much is a new one?": false,
	} {
		r := m.Read(question, text.Dates(question, now), now)
		if len(r.Dates) != 1 || r.Dates[0].Asked != asked || r.Past != asked || r.At.IsZero() == asked {
			t.Errorf("%s: %+v, want asked %v", question, r, asked)
		}
	}
	if r := m.Read("Where will I be in July 2024?", text.Dates("Where will I be in July 2024?", now),
		now); len(r.Dates) != 0 || r.Past {
		t.Errorf("a time to come: %+v", r)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON": "{", "nothing": "{}",
		"weights that do not fit": `{"version":"v","threshold":0.5,"intents":{"keys":[1],"weights":"","scales":[1,1,1],"bias":[0,0,0]},
			"dates":{"keys":[],"weights":"","scales":[1,1],"bias":[0,0]}}`,
		"keys out of order": `{"version":"v","threshold":0.5,"intents":{"keys":[2,1],"weights":"AAAAAAAA","scales":[1,1,1],"bias":[0,0,0]},
			"dates":{"keys":[],"weights":"","scales":[1,1],"bias":[0,0]}}`,
		"a threshold out of range": `{"version":"v","threshold":2,"intents":{"keys":[],"weights":"","scales":[1,1,1],"bias":[0,0,0]},
			"dates":{"keys":[],"weights":"","scales":[1,1],"bias":[0,0]}}`,
	} {
		if _, err := classifier.Parse[intent.Model]([]byte(data)); !errors.Is(err, classifier.ErrModel) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, q := range []string{"", "?", "2019", "\xff\xfe 2019?", strings.Repeat("before 2019 ", 5000),
		"2021年にはどこで働いていましたか?", "Dr. . . ?"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, question string) {
		r := intent.Trained().Read(question, text.Dates(question, now), now)
		sum := 0.0
		for _, p := range r.Probabilities {
			sum += p
		}
		if math.Abs(sum-1) > 1e-9 || !r.At.IsZero() && !r.Past {
			t.Errorf("%q: %+v", question, r)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	m := intent.Trained()
	for name, question := range map[string]string{
		"undated": "Which coffee did she use to drink before we moved to Lisbon?",
		"dated":   "Which coffee did she drink in May 2023?",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.Read(question, text.Dates(question, now), now)
			}
		})
	}
}

package crossencoder_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/relation/crossencoder"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordpiece"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(said string) relation.Statement {
	return relation.Statement{Text: said, Role: memory.RoleUser, Speaker: "Ana"}
}

func TestTheShippedModelTellsWhatChangesAndWhichPart(t *testing.T) {
	for _, c := range []struct {
		stored       []string
		later        string
		does         relation.Label
		gone, stands int
	}{
		{[]string{"I live in Porto", "I am allergic to peanuts"}, "I moved to Lisbon at the beginning of August",
			relation.Replaces, 0, 1},
		{[]string{"I'm a nurse", "I play tennis every Friday"}, "no more tennis for me, my knee is done", relation.Ends, 1,
			0},
	} {
		r := crossencoder.Shipped().Read(c.stored, c.later)
		told := relation.Softmax([]relation.Logits{r.Logits}, 1)[0]
		if told.Likeliest() != c.does {
			t.Errorf("%q after %q is %v, want %v", c.later, c.stored, told, c.does)
		}
		if r.Gone[c.gone] < 2*r.Gone[c.stands] {
			t.Errorf("%q after %q: gone are %.2f", c.later, c.stored, r.Gone)
		}
	}
	r := crossencoder.Shipped().Read([]string{"I live in Porto"}, "my colleague Tom lives in Lisbon")
	if told := relation.Softmax([]relation.Logits{r.Logits}, 1)[0]; told.Change() > 0.3 {
		t.Errorf("another person's home changes one's own: %v", told)
	}
}

func TestAnyTextIsRead(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		stored := rapid.SliceOfN(rapid.String(), 1, 4).Draw(r, "stored")
		if rapid.Bool().Draw(r, "long") {
			stored[0] = strings.Repeat("word ", 300)
		}
		got := crossencoder.Shipped().Read(stored, rapid.String().Draw(r, "later"))
		if len(got.Gone) != len(stored) {
			r.Fatalf("%d probabilities for %d parts", len(got.Gone), len(stored))
		}
		for _, p := range got.Gone {
			if !(p >= 0 && p <= 1) {
				r.Fatalf("a probability is %v", p)
			}
		}
		for _, z := range got.Logits {
			if math.IsNaN(float64(z)) || math.IsInf(float64(z), 0) {
				r.Fatalf("logits are %v", got.Logits)
			}
		}
	})
}

func TestParseRefusesWhatIsNoModel(t *testing.T) {
	network, err := os.ReadFile("model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../../../model/wordpiece/uncased.json")
	if err != nil {
		t.Fatal(err)
	}
	bare, err := wordpiece.Parse([]byte(strings.Replace(string(file), `"post_processor":`, `"other":`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		network   []byte
		tokenizer *wordpiece.Tokenizer
	}{
		"no network":        {[]byte("weights"), wordpiece.Uncased()},
		"half a network":    {network[:len(network)/2], wordpiece.Uncased()},
		"another tokenizer": {network, bare},
	} {
		if _, err := crossencoder.Parse(of.network, of.tokenizer); !errors.Is(err, crossencoder.ErrModel) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAJudgeLooksTwiceAtWhatTheLinearModelFindsLikeliest(t *testing.T) {
	stored := []relation.Statement{user("I live in Porto"), user("I have two cats"), user("My sister is called Eva")}
	judge := crossencoder.ShippedJudge()
	told := judge.Judge(user("I moved to Lisbon last month"), stored)
	i, own, whole := relation.Changed(told)
	if i != 0 || own < relation.LeastOwn || whole < judge.Thresholds().Certain {
		t.Errorf("a move is %v, thresholds %+v", told, judge.Thresholds())
	}
	told = judge.Judge(user("it rained all day"), stored)
	if _, own, _ := relation.Changed(told); own >= judge.Thresholds().Possible {
		t.Errorf("the weather is %v", told)
	}
	if got := judge.Judge(user("hello"), nil); len(got) != 0 {
		t.Errorf("nothing stored is %v", got)
	}
}

func TestAFactThatAMessageTellsAgainIsNotTheOneThatIsGone(t *testing.T) {
	for _, c := range []struct {
		parts        []string
		later        string
		gone, stands int
	}{
		{[]string{"I live in Porto", "I am allergic to peanuts"}, "Moved to Lisbon. Still allergic to peanuts though", 0, 1},
		{[]string{"I take the 20 bus", "I work at the library"}, "same library, but I cycle there now, no more bus", 0, 1},
		{[]string{"my sister Eva lives in Kiel", "she has two dogs"}, "one of Eva's dogs died, she's still in Kiel", 1, 0},
	} {
		gone := crossencoder.ShippedJudge().Session().Gone(user(c.later), c.parts)
		if gone[c.gone] < 2*gone[c.stands] {
			t.Errorf("%q after %q: gone are %.2f", c.later, c.parts, gone)
		}
	}
}

func TestASessionJudgesLikeItsJudge(t *testing.T) {
	stored := []relation.Statement{user("I live in Porto"), user("I have two cats")}
	judge := crossencoder.ShippedJudge()
	s := judge.Session()
	for range 2 {
		for _, later := range []string{"I moved to Lisbon last month", "we gave one of the cats away"} {
			want, got := judge.Judge(user(later), stored), s.Judge(user(later), stored)
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%q: got %v, want %v", later, got, want)
				}
			}
		}
	}
}

func TestAJudgeRefusesAChoiceThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*crossencoder.Choice){
		"no temperature": func(c *crossencoder.Choice) { c.Temperature = 0 },
		"no threshold":   func(c *crossencoder.Choice) { c.Thresholds.Certain = 0 },
		"all and more":   func(c *crossencoder.Choice) { c.Share = 1.5 },
		"nothing asked":  func(c *crossencoder.Choice) { c.Most = 0 },
	} {
		c := crossencoder.ShippedChoice()
		change(&c)
		if _, err := crossencoder.NewJudge(relation.Shipped(), crossencoder.Shipped, c); !errors.Is(err,
			crossencoder.ErrModel) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for name, words := range map[string]int{"short": 8, "long": 22} {
		stored, later := strings.Repeat("river ", words), strings.Repeat("bridge ", words)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				crossencoder.Shipped().Read([]string{stored}, later)
			}
		})
	}
}

func TestAJudgeReadsAMessageThatNamesItselfACorrection(t *testing.T) {
	judge := crossencoder.ShippedJudge()
	others := []relation.Statement{user("I have two brothers"), user("I sing in a choir on Mondays")}
	for _, c := range []struct {
		stored, later string
		changes       bool
	}{
		{"My flight leaves at 7.", "My mistake, the flight leaves at 9.", true},
		{"Our gate code is 4410.", "Scratch that, our gate code is 4401.", true},
		{"My daughter Ida is nine.", "I told you Ida is nine, but she is actually ten.", true},
		{"I take the bus to work.", "Sorry, I meant the tram, not the bus.", true},
		{"I play the harp.", "I was joking about the harp.", true},
		{"Meine Schwester wohnt in Graz.", "Ich habe mich vertan, meine Schwester wohnt in Linz.", true},
		{"J'habite à Lyon.", "Je me suis trompé, j'habite à Lille.", true},
		{"My mother is 71.", "I meant to say thanks for the recipe.", false},
		{"I have an appointment with Dr Ng on Tuesday.", "I meant the other printer, not this one.", false},
		{"I like green.", "I like blue.", false},
	} {
		told := judge.Judge(user(c.later), append([]relation.Statement{user(c.stored)}, others...))
		i, _, whole := relation.Changed(told)
		if got := i == 0 && whole >= judge.Thresholds().Certain; got != c.changes {
			t.Errorf("%q after %q: %.2f, want a change: %t", c.later, c.stored, told, c.changes)
		}
	}
}

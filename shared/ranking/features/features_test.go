package features_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// house is a small conversation in two sessions; comments have the ids.
func house() *talk {
	c := &talk{}
	c.say(0, "Ida", "Hello Bruno, nice to see you again.")                                      // mt000
	c.say(0, "Bruno", "What did you do at the pottery class?")                                  // mt001
	c.say(0, "Ida", "I made a blue vase and broke two plates.")                                 // mt002
	c.say(0, "Ida", "Then we drove home through the rain.")                                     // mt003
	c.say(1, "Bruno", "My parrot learned to whistle yesterday.")                                // mt004
	c.say(1, "Ida", "That sounds wonderful.")                                                   // mt005
	c.say(1, "Bruno", "We moved to Lisbon with seven suitcases, and the violin stayed behind.") // mt006
	return c
}

func TestEachFeatureTellsWhatItsNameSays(t *testing.T) {
	for _, c := range []struct {
		feature, query, more, less string
	}{
		{"statement", "blue vase", "mt002", "mt003"},
		{"coverage", "blue vase", "mt002", "mt003"},
		{"topical", "blue vase", "mt002", "mt003"},
		{"dialogue", "blue vase", "mt002", "mt003"},
		{"relative", "blue vase", "mt002", "mt003"},
		{"meaning", "What instrument does he play?", "mt006", "mt005"},
		{"apart", "What instrument does he play?", "mt006", "mt002"},
		{"near_words", "Which bird?", "mt004", "mt003"},
		{"near_around", "Which bird?", "mt005", "mt003"},
		{"focus", "Which bird?", "mt004", "mt003"},
		{"head", "What kind of bird?", "mt004", "mt003"},
		{"spoken_by", "What did Ida make?", "mt002", "mt004"},
		{"spoken_by_other", "What did Ida make?", "mt004", "mt002"},
		{"tells_time", "When did the parrot whistle?", "mt004", "mt006"},
		{"tells_number", "How many suitcases were there?", "mt006", "mt004"},
		{"tells_name", "Where did they move?", "mt006", "mt004"},
		{"names", "anything", "mt006", "mt004"},
		{"length", "anything", "mt006", "mt005"},
		{"asks", "anything", "mt001", "mt002"},
		{"opens", "anything", "mt004", "mt005"},
		{"recency", "anything", "mt006", "mt000"},
		{"answers", "pottery class", "mt002", "mt003"},
		{"around", "pottery", "mt002", "mt005"},
		{"session", "parrot", "mt006", "mt003"},
		{"session_best", "parrot", "mt006", "mt003"},
		{"session_lead", "parrot", "mt006", "mt003"},
	} {
		t.Run(c.feature, func(t *testing.T) {
			rows := house().ask(t, asking(c.query))
			if more, less := rows[c.more][c.feature], rows[c.less][c.feature]; more <= less {
				t.Errorf("%q: %s has %v, %s has %v; want more", c.query, c.more, more, c.less, less)
			}
		})
	}
}

func TestRareWordsAreThoseOfFewTurns(t *testing.T) {
	c := &talk{}
	for range 6 {
		c.say(0, "Ida", "We played tennis.")
	}
	c.say(0, "Ida", "We restored a harpsichord.")
	rows := c.ask(t, asking("anything"))
	if rows["mt006"]["rare"] <= rows["mt000"]["rare"] {
		t.Errorf("harpsichord %v, tennis %v", rows["mt006"]["rare"], rows["mt000"]["rare"])
	}
}

func TestFactIsAShareOfTheMemories(t *testing.T) {
	c := house()
	c.memories[2].Kind = memory.KindFact
	second := c.memories[2]
	second.ID, second.Kind = "mt002b", memory.KindEpisodic
	c.memories = append(c.memories, second)
	rows := c.ask(t, asking("blue vase"))
	if got := rows["mt002"]["fact"]; got != 0.5 {
		t.Errorf("one of two is a fact: got %v", got)
	}
	if got := rows["mt003"]["fact"]; got != 0 {
		t.Errorf("an event: got %v", got)
	}
}

func TestTimesOfTheQueryMeetThoseOfMemories(t *testing.T) {
	c := house()
	c.memories[3].EventTime = memory.EventTime{Time: time.Date(2023, time.July, 1, 0, 0, 0, 0, time.UTC),
		Precision: memory.PrecisionMonth}
	c.memories[2].EventTime = memory.EventTime{
		Time:      time.Date(2023, time.January, 1, 0, 0, 0, 0, time.UTC),
		Precision: memory.PrecisionYear,
	}
	c.memories[5].EventTime = memory.EventTime{Time: time.Date(2021, time.July, 1, 0, 0, 0, 0, time.UTC),
		Precision: memory.PrecisionDay}
	rows := c.ask(t, asking("What happened on 12 July 2023?"))
	for id, want := range map[string]float32{"mt003": 1, "mt002": 0.3, "mt005": 0, "mt006": 0} {
		if got := rows[id]["happened_then"]; got != want {
			t.Errorf("happened_then of %s: %v, want %v", id, got, want)
		}
	}
	rows = c.ask(t, asking("What did they say on 4 March 2024?"))
	for id, want := range map[string]float32{"mt000": 1, "mt003": 1, "mt004": 0.5} {
		if got := rows[id]["said_then"]; got != want {
			t.Errorf("said_then of %s: %v, want %v", id, got, want)
		}
	}
	rows = c.ask(t, asking("When was the drive home?"))
	if rows["mt003"]["has_event"] != 1 || rows["mt004"]["has_event"] != 0 {
		t.Errorf("has_event: dated %v, undated %v", rows["mt003"]["has_event"], rows["mt004"]["has_event"])
	}
}

func TestTheUserIsI(t *testing.T) {
	c := &talk{}
	c.say(0, "Ida", "My bicycle is green.")
	c.say(0, "Assistant", "Green bicycles are rare.")
	rows := c.ask(t, asking("What colour is my bicycle?"))
	if rows["mt000"]["spoken_by"] != 1 || rows["mt001"]["spoken_by_other"] != 1 {
		t.Errorf("user %v, assistant %v", rows["mt000"], rows["mt001"])
	}
	rows = house().ask(t, asking("What did Ida tell Bruno?"))
	if rows["mt002"]["spoken_by"] != 0 || rows["mt002"]["spoken_by_other"] != 0 {
		t.Error("who names both asks about neither")
	}
}

// The talk before a short query completes it, and counts less than the query's words.
func TestAFollowUpIsReadByTheTalk(t *testing.T) {
	c := &talk{}
	c.say(0, "Ida", "The blue vase broke.")
	c.say(1, "Bruno", "The violin was repaired.")
	c.say(2, "Ida", "The puppy sleeps.")
	talk := []memory.Message{{Role: memory.RoleUser, Content: "Is the violin of Bruno fine again?"}}
	rows := c.ask(t, asking("and the vase?", talk...))
	vase, violin, puppy := rows["mt000"], rows["mt001"], rows["mt002"]
	for _, name := range []string{"topical", "coverage", "statement", "dialogue", "near_words", "focus"} {
		if !(vase[name] > violin[name] && violin[name] > puppy[name]) {
			t.Errorf("%s of what is asked for is %v, of the talk's %v, of neither's %v", name, vase[name], violin[name],
				puppy[name])
		}
	}
	rows = c.ask(t, asking("And what broke his heart?", talk...))
	if rows["mt001"]["spoken_by"] != 1 || rows["mt000"]["spoken_by_other"] != 1 {
		t.Errorf("who is named before it is not who is meant: %v", rows)
	}
	if rows = c.ask(t, asking("And Ida?", talk...)); rows["mt000"]["spoken_by"] != 1 {
		t.Errorf("who is named is not who is meant: %v", rows)
	}
	when := []memory.Message{{Role: memory.RoleUser, Content: "When did Bruno move?"}}
	c.say(3, "Ida", "I moved yesterday.")
	if rows = c.ask(t, asking("And Ida?", when...)); rows["mt003"]["tells_time"] != 1 {
		t.Error("it does not ask when, as the question before it")
	}
}

// A stop word counts as a name if the text writes it as a name.
func TestASpeakerMayBeCalledLikeAStopWord(t *testing.T) {
	for query, want := range map[string]string{
		"What does Don like?": "Don", "Is Will's bicycle green?": "Will", "Where does Will ride?": "Will",
		"What does the boss like?": "",
		"Why don't they ride?":     "", "Where will they ride?": "", "Will they ride the bicycle?": "",
		"Do the bicycles shine?": "",
	} {
		c := &talk{}
		for _, name := range []string{"Don", "Will", "The Sun"} {
			c.say(0, name, "My bicycle is green.")
		}
		rows := c.ask(t, asking(query))
		for id, name := range map[string]string{"mt000": "Don", "mt001": "Will", "mt002": "The Sun"} {
			if got := rows[id]["spoken_by"] == 1; got != (name == want) {
				t.Errorf("%s: spoken by %s is %t", query, name, got)
			}
		}
	}
}

// A word of a document is read in its place, as a query's is.
func TestAnAuxiliaryIsNoTermOfADocument(t *testing.T) {
	c := &talk{}
	c.say(0, "Ida", "Will you come? I hope so.")
	c.say(0, "Ida", "I met Will, I hope so.")
	rows := c.ask(t, asking("Does Ida know Will?"))
	if a, b := rows["mt000"]["dialogue"], rows["mt001"]["dialogue"]; a >= b {
		t.Errorf("who asks has %v, who met him %v", a, b)
	}
}

func TestWhatNoLongerHoldsAnswersOnlyWhoAsksForThePast(t *testing.T) {
	c := house()
	c.memories[2].Status = memory.StatusSuperseded
	x := features.New(wordvector.Shipped(), c.memories, c.turns)
	if rows := rowsOf(x, asking("blue vase")); rows["mt002"] != nil {
		t.Error("the present has what is past")
	}
	past := asking("blue vase")
	past.Past = true
	rows := rowsOf(x, past)
	if rows["mt002"] == nil {
		t.Error("the past lacks what is past")
	}
	if alone := rowsOf(x, asking("blue vase")); rows["mt003"]["around"] != alone["mt003"]["around"] {
		t.Error("what no longer holds stands before another")
	}
}

func TestSimilarityIsTheBestCosineOfATurn(t *testing.T) {
	c := house()
	c.memories[2].Vector = memory.Vector{0, 3}
	second := c.memories[2]
	second.ID, second.Content, second.Vector = "mt002b", "Ida broke two plates.", memory.Vector{4, 4}
	odd := c.memories[2]
	odd.ID, odd.Content, odd.Vector = "mt002c", "Ida likes clay.", memory.Vector{1, 0, 0}
	c.memories = append(c.memories, second, odd)
	x := features.New(wordvector.Shipped(), c.memories, c.turns)
	q := asking("broken plates")
	q.Vector = []float32{2, 0}
	for _, got := range x.Candidates(q, make([]float32, len(features.Names())), 1) {
		if got.Memory.ID != "mt002b" || len(got.Siblings) != 2 || got.Siblings[0].ID != "mt002" || len(got.Turns) != 1 {
			t.Errorf("got %s with %d siblings and %d turns", got.Memory.ID, len(got.Siblings), len(got.Turns))
		}
		if d := got.Cosine - 0.70710678; d > 1e-5 || d < -1e-5 {
			t.Errorf("cosine %v, want that of 45 degrees", got.Cosine)
		}
	}
}

func TestCandidatesAreInOrderAndNoMoreThanAsked(t *testing.T) {
	c := house()
	x := features.New(wordvector.Shipped(), c.memories, c.turns)
	q := asking("What did Ida break at the pottery class?")
	weights := make([]float32, len(features.Names()))
	for i := range weights {
		weights[i] = float32(i%3) + 1
	}
	all := x.Candidates(q, weights, 100)
	if len(all) != len(c.memories) {
		t.Fatalf("%d of %d", len(all), len(c.memories))
	}
	for k := range len(all) + 1 {
		if got := x.Candidates(q, weights, k); len(got) != k || k > 0 && !reflect.DeepEqual(got, all[:k]) {
			t.Errorf("the best %d are not the first %d of all", k, k)
		}
	}
	for i := range all[1:] {
		if value(all[i], weights) < value(all[i+1], weights)-1e-4 {
			t.Errorf("%d is worse than the next", i)
		}
	}
	if got := x.Candidates(q, weights, -1); len(got) != 0 {
		t.Errorf("asked for none, got %d", len(got))
	}
}

func value(c features.Candidate, weights []float32) float32 {
	s := c.Cosine
	for i, w := range weights {
		s += w * c.Features[i]
	}
	return s
}

func TestNamesAreOneForEachFeature(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range features.Names() {
		if n == "" || seen[n] {
			t.Errorf("%q is empty or twice", n)
		}
		seen[n] = true
	}
	end := 0
	for _, r := range features.Regimes() {
		first, next := r.Span()
		if first != end || next <= first {
			t.Errorf("%s goes from %d to %d, want from %d", r, first, next, end)
		}
		end = next
	}
	if end != len(seen) {
		t.Errorf("%d features, %d names", end, len(seen))
	}
}

// A query has the features of its regime, and no others.
func TestEachRegimeHasFeaturesOfItsOwn(t *testing.T) {
	alone := &talk{}
	alone.say(0, "Ida", "I broke two plates at the pottery class.")
	for name, tt := range map[string]struct {
		of   *talk
		said string
		want features.Regime
	}{
		"several people":    {house(), "What did I break?", features.Companions},
		"a fact":            {alone, "What did I break?", features.Questions},
		"a named user":      {alone, "Ida broke plates.", features.Questions},
		"a task":            {alone, "Suggest a present for my teacher.", features.Requests},
		"advice":            {alone, "What should I make next?", features.Requests},
		"nobody has spoken": {&talk{memories: alone.memories}, "What did I break?", features.Companions},
	} {
		x := features.New(wordvector.Shipped(), tt.of.memories, tt.of.turns)
		for _, c := range x.Candidates(asking(tt.said), make([]float32, len(features.Names())), 3) {
			first, end := tt.want.Span()
			for i, v := range c.Features {
				if (i < first || i >= end) && v != 0 {
					t.Errorf("%s: %s is %v", name, features.Names()[i], v)
				}
			}
			if c.Regime != tt.want || c.Features[first] != 1 {
				t.Errorf("%s: got %s, want %s", name, c.Regime, tt.want)
			}
		}
	}
}

// An irregular past form is found by its base form.
func TestIrregularFormsAreFoundByTheirBaseForm(t *testing.T) {
	rows := house().ask(t, asking("What did Ida break?"))
	if rows["mt002"]["topical"] <= 0 {
		t.Error("broke is not found by break")
	}
}

func TestRepliesAreMarked(t *testing.T) {
	c := &talk{}
	c.say(0, "Ida", "I need a name for my parrot.")
	c.say(0, "", "Pico would suit a parrot, or Basil.")
	c.turns[1].Role = memory.RoleAssistant
	for said, want := range map[string]float32{"Which name did you suggest?": 1, "Which name suits my parrot?": 0,
		"suggest a name": 0} {
		rows := c.ask(t, asking(said))
		if got := rows["mt001"]["reply_asked"]; got != want || rows["mt001"]["reply"] != 1 || rows["mt000"]["reply"] != 0 {
			t.Errorf("%q: reply_asked is %v, want %v; rows %v", said, got, want, rows)
		}
	}
}

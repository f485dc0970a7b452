package questions_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/lab/synthesis/questions"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func generator(t *testing.T, o questions.Options) *questions.Generator {
	t.Helper()
	g, err := questions.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestEqualOptionsMakeEqualConversations(t *testing.T) {
	a := generator(t, questions.Options{Seed: 7, Conversations: 3}).Conversation(2)
	b := generator(t, questions.Options{Seed: 7, Conversations: 9}).Conversation(2)
	if !reflect.DeepEqual(a, b) {
		t.Error("conversation 2 differs with the number of conversations, or from run to run")
	}
	if c := generator(t, questions.Options{Seed: 8}).Conversation(0); reflect.DeepEqual(c.Sessions, a.Sessions) {
		t.Error("another seed makes the same conversation")
	}
}

func TestConversationsHoldTogether(t *testing.T) {
	for _, split := range []synthesis.Split{synthesis.SplitTrain, synthesis.SplitHeldout} {
		g := generator(t, questions.Options{Seed: 3, Conversations: 12, Split: split})
		for i := range g.Len() {
			c := g.Conversation(i)
			turns := checkTurns(t, c)
			if len(c.Questions) < 40 {
				t.Errorf("%s: %d questions on a conversation of %d turns", split, len(c.Questions), len(turns))
			}
			for _, q := range c.Questions {
				checkQuestion(t, q, turns)
			}
		}
	}
}

// checkTurns checks order, speakers and text of all turns, and returns them by id.
func checkTurns(t *testing.T, c questions.Conversation) map[string]memory.Turn {
	t.Helper()
	turns := map[string]memory.Turn{}
	last := memory.Turn{}
	for _, s := range c.Sessions {
		for i, turn := range s.Turns {
			_, twice := turns[turn.ID]
			switch {
			case twice:
				t.Fatalf("turn %s stands twice", turn.ID)
			case !turn.Time.After(last.Time):
				t.Fatalf("turn %s is not after the one before", turn.ID)
			case i > 0 && turn.Speaker == last.Speaker:
				t.Errorf("turn %s: %s speaks twice in a row", turn.ID, turn.Speaker)
			case turn.Text == "" || strings.ContainsAny(turn.Text+turn.Caption, "{}[]|"):
				t.Errorf("turn %s has text %q, caption %q", turn.ID, turn.Text, turn.Caption)
			case (turn.Role == memory.RoleAssistant) != (turn.Speaker == "Assistant"):
				t.Errorf("turn %s: %s has role %s", turn.ID, turn.Speaker, turn.Role)
			}
			turns[turn.ID], last = turn, turn
		}
	}
	return turns
}

func checkQuestion(t *testing.T, q questions.Question, turns map[string]memory.Turn) {
	t.Helper()
	if !strings.HasSuffix(q.Text, "?") || strings.ContainsAny(q.Text, "{}[]|") || strings.Contains(q.Text, "  ") {
		t.Errorf("question %q", q.Text)
	}
	if len(q.Evidence) == 0 {
		t.Errorf("question %q has no evidence", q.Text)
	}
	for _, id := range q.Evidence {
		turn, known := turns[id]
		if !known || !turn.Time.Before(q.AskedAt) {
			t.Errorf("question %q: evidence %s is no turn from before", q.Text, id)
		}
	}
}

func TestEveryCategoryIsAsked(t *testing.T) {
	seen := map[questions.Category]int{}
	several, answers := 0, 0
	g := generator(t, questions.Options{Seed: 1, Conversations: 30})
	for i := range g.Len() {
		for _, q := range g.Conversation(i).Questions {
			seen[q.Category]++
			if len(q.Evidence) > 1 {
				several++
			}
			if q.Category == questions.CategoryDetail {
				answers++
			}
		}
	}
	for _, c := range []questions.Category{
		questions.CategoryTold, questions.CategoryDetail, questions.CategoryTemporal, questions.CategoryMulti,
		questions.CategoryNow,
	} {
		if seen[c] == 0 {
			t.Errorf("no question of category %s", c)
		}
	}
	if several < 100 || answers < 500 {
		t.Errorf("%d questions with several turns, %d on details: want more", several, answers)
	}
}

// TestMistakenQuestionsNameTheWrongOne checks that each names a person without a turn that answers it.
func TestMistakenQuestionsNameTheWrongOne(t *testing.T) {
	g := generator(t, questions.Options{Seed: 4, Conversations: 10})
	n := 0
	for i := range g.Len() {
		c := g.Conversation(i)
		asked := map[string]bool{}
		for _, q := range c.Questions {
			if q.Category != questions.CategoryMistaken {
				asked[q.Text] = true
			}
		}
		for _, q := range c.Questions {
			if q.Category != questions.CategoryMistaken {
				continue
			}
			if n++; c.Assistant || asked[q.Text] {
				t.Errorf("%q is asked in a talk with an assistant, or has an answer", q.Text)
			}
		}
	}
	if n < 100 {
		t.Errorf("%d mistaken questions", n)
	}
}

func TestAssistantsAreTalkedTo(t *testing.T) {
	o := questions.Options{Seed: 2, Conversations: 4, Rates: questions.DefaultRates()}
	o.Rates.Assistant = 1
	g := generator(t, o)
	for i := range g.Len() {
		c := g.Conversation(i)
		if !c.Assistant {
			t.Fatal("the other is no assistant")
		}
		for _, q := range c.Questions {
			words := " " + strings.Trim(q.Text, "?") + " "
			if !strings.Contains(words, " I ") && !strings.Contains(words, " my ") && !strings.Contains(words, " me ") &&
				strings.Contains(words, "Assistant") {
				t.Errorf("question %q names the assistant", q.Text)
			}
		}
	}
}

// TestSplitsShareNoNames checks the simplest held-out words: the speakers' names.
func TestSplitsShareNoNames(t *testing.T) {
	names := map[synthesis.Split]map[string]bool{synthesis.SplitTrain: {}, synthesis.SplitHeldout: {}}
	for split, seen := range names {
		g := generator(t, questions.Options{Seed: 5, Conversations: 60, Split: split})
		for i := range g.Len() {
			for _, turn := range g.Conversation(i).Sessions[0].Turns {
				seen[turn.Speaker] = true
			}
		}
	}
	for name := range names[synthesis.SplitTrain] {
		if name != "Assistant" && names[synthesis.SplitHeldout][name] {
			t.Errorf("%s is in both splits", name)
		}
	}
}

func TestNewRefusesWhatCannotBe(t *testing.T) {
	bad := questions.DefaultRates()
	bad.More = 1.5
	for name, o := range map[string]questions.Options{
		"conversations": {Conversations: -1}, "sessions": {Sessions: 201}, "questions": {Questions: -1},
		"split":      {Split: "other"},
		"rates.more": {Rates: bad},
		"rates":      {Rates: questions.Rates{More: 0.5}},
	} {
		if _, err := questions.New(o); !fault.IsTerminal(err) || fault.Field(err) != name {
			t.Errorf("%s: got %v, want a terminal error about it", name, err)
		}
	}
}

func BenchmarkConversation(b *testing.B) {
	g, err := questions.New(questions.Options{Seed: 1, Conversations: 1000})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		g.Conversation(i % 1000)
	}
}

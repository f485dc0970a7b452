package reinforcement_test

import (
	"testing"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// A transition measures the changes of one session. Unchanged older memories count for neither side, in any words.
func TestATransitionIsOfOneSession(t *testing.T) {
	people, err := synthesis.Generate(synthesis.Options{Seed: 79, Persons: 3, Sessions: 8, Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	o, changed := reinforcement.Defaults().Transition, 0
	for _, p := range people {
		judge, err := reinforcement.NewJudge(t.Context(), p, builtin.New())
		if err != nil {
			t.Fatal(err)
		}
		life, err := formation.Pipeline{
			Former:   &salimory.Embedded{Former: embedded.NewFormer(embedded.IdentityOf(salimory.Name))},
			Strategy: salimory.Name, Embedder: builtin.New(),
		}.Begin(judge.Subject())
		if err != nil {
			t.Fatal(err)
		}
		for session := range p.Sessions {
			before, err := judge.Remembered(t.Context(), life)
			if err != nil {
				t.Fatal(err)
			}
			brings, changes := 0, false
			for _, target := range p.Targets {
				if target.Session == session && target.Operation != memory.OpNone {
					brings++
					changes = changes || target.Operation != memory.OpAdd
				}
			}
			// A life without a change is right only where the session brings and ends nothing.
			if still := judge.Transition(before, before, session, o); (still.F1 == 1) != (brings == 0) {
				t.Errorf("%s, session %d brings %d, and nothing made of it is %+v", p.ID, session, brings, still)
			}
			was, err := life.Formed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := life.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			after, err := judge.Remembered(t.Context(), life)
			if err != nil {
				t.Fatal(err)
			}
			formed, err := life.Formed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if made := judge.Transition(before, after, session, o); made.Made > len(formed.Operations)-len(was.Operations)+
				brings ||
				made.Wanted > 3*brings {
				t.Errorf("%s, session %d brings %d: %+v", p.ID, session, brings, made)
			}
			if retrieved, err := judge.Retrieved(t.Context(), before, life, session); err != nil || changes && !retrieved {
				t.Errorf("%s, session %d: not looked at, %v", p.ID, session, err)
			} else if changes {
				changed++
			}
		}
	}
	if changed == 0 {
		t.Error("nobody changed anything")
	}
}

// Hand-made cases: the entries that the answer tells, without the words of the question, and the right value.
func TestHowPersonalAnAnswerIsByRule(t *testing.T) {
	p, err := synthesis.New(synthesis.Options{Seed: 1, Persons: 1, Sessions: 1})
	if err != nil {
		t.Fatal(err)
	}
	judge, err := reinforcement.NewJudge(t.Context(), p.Person(0), builtin.New())
	if err != nil {
		t.Fatal(err)
	}
	bank := []reward.BankEntry{
		{Text: "I drink oat milk in my coffee every morning."}, {Text: "We adopted a greyhound called Biscuit."},
		{Text: "My coffee used to be black."},
	}
	const question, golden = "How do I take my coffee?", "oat milk"
	for name, tc := range map[string]struct {
		question, golden, answer string
		bank                     []reward.BankEntry
		want                     reward.Personalization
	}{
		"with more of its entry": {question, golden, "With oat milk, every morning.", bank, reward.PersonalizationGood},
		"the value alone":        {question, golden, "Oat milk.", bank, reward.PersonalizationBasic},
		"what holds no more":     {question, golden, "You used to take it black.", bank, reward.PersonalizationBad},
		"something else of the user": {question, golden, "You adopted a greyhound called Biscuit!", bank,
			reward.PersonalizationBad},
		"right, with something else": {
			question, golden, "Oat milk, every morning, and you adopted a greyhound, Biscuit.", bank,
			reward.PersonalizationBasic,
		},
		"nothing, though it is known":  {question, golden, "I cannot say.", bank, reward.PersonalizationUnderuse},
		"nothing, for it is not known": {question, golden, "I cannot say.", bank[1:2], reward.PersonalizationNone},
		"what the question itself says": {"Is it oat milk that I take in my coffee?", golden, "Yes, oat milk.", bank,
			reward.PersonalizationNone},
		"no entry at all": {question, golden, "With oat milk.", nil, reward.PersonalizationNone},
	} {
		got, err := judge.Rules(0).Personalization(t.Context(), reward.Answered{
			Question: tc.question, Golden: tc.golden, Answer: tc.answer, Memory: tc.bank, Outdated: []string{"black"},
		})
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

package embedded_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// form runs lines through Extract and Decide, every candidate related to what is known, and
// returns the operations and the bank after them.
func form(t *testing.T, known []memory.Memory, in formation.Session) ([]memory.Operation, []memory.Memory) {
	t.Helper()
	bundle := formation.Bundle{Session: in}
	candidates := extract(t, in)
	formation.Number(candidates)
	for _, c := range candidates {
		bundle.Related = append(bundle.Related, formation.Related{Candidate: c, Memories: known})
	}
	verdict, err := former.Decide(context.Background(), bundle)
	if err != nil {
		t.Fatalf("decide: %v", err)
	}
	ops := verdict.Operations
	w, err := memory.Plan(scope, ops, known, thursday)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	bank := append(append([]memory.Memory{}, known...), w.Put...)
	for _, c := range w.Close {
		for i := range bank {
			if bank[i].ID == c.ID {
				bank[i].Status = c.Status
			}
		}
	}
	return ops, bank
}

// later returns a session one month after the lines of the first.
func later(lines ...string) formation.Session {
	in := session(lines...)
	in.ID = "s2"
	for i := range in.Turns {
		in.Turns[i].ID = fmt.Sprintf("u%d", i+1)
		in.Turns[i].Time = in.Turns[i].Time.AddDate(0, 1, 0)
	}
	return in
}

func TestDecide(t *testing.T) {
	for _, c := range []struct{ before, now, want string }{
		// new values
		{"Ana: I live in Berlin.", "Ana: I moved to Rome last week.", "UPDATE"},
		{"Ana: I live in Berlin.", "Ana: I live in Munich now.", "UPDATE"},
		{"Ana: I'm based in Berlin.", "Ana: Well, I relocated to Oslo.", "UPDATE"},
		{"Ana: I work as a nurse.", "Ana: I started working as a teacher.", "UPDATE"},
		{"Ana: I'm a nurse.", "Ana: I got promoted to head nurse.", "UPDATE"},
		{"Ana: I work at Siemens.", "Ana: I joined Bosch in June.", "UPDATE"},
		{"Ana: I'm single.", "Ana: I got engaged yesterday!", "UPDATE"},
		{"Ana: I'm 29 years old.", "Ana: I turned 30 yesterday.", "UPDATE"},
		{"Ana: My favourite film is Alien.", "Ana: My favourite film is Heat now.", "UPDATE"},
		{"Ana: I'm vegetarian.", "Ana: I went vegan.", "UPDATE"},
		{"Ana: I drive a Volvo.", "Ana: I drive a Fiat now.", "UPDATE"},
		{"Ana: I run every Tuesday.", "Ana: I run every Thursday now.", "UPDATE"},
		{"Ana: My preferred airline is Iberia.", "Ana: My preferred airline is KLM.", "UPDATE"},
		{"Ana: I prefer meetings in the morning.", "Ana: I prefer meetings in the afternoon.", "UPDATE"},
		{"Ana: My sister lives in Lyon.", "Ana: My sister moved to Nice.", "UPDATE"},
		{"Ana: My phone number is 555 0100.", "Ana: My phone number is 555 0199.", "UPDATE"},
		{"Ana: My dog's name is Rex.", "Ana: Actually, my dog's name is now Max.", "UPDATE"},
		{"Ana: I live in Berlin.", "Ana: I no longer live in Berlin, I moved to Rome.", "UPDATE"},
		// the same again, or more of it
		{"Ana: I live in Berlin.", "Ana: I live in Berlin.", "NONE"},
		{"Ana: I live in Berlin.", "Ana: Yeah, I live in Berlin!", "NONE"},
		{"Ana: I love hiking in the Alps.", "Ana: I love hiking in the Alps!", "NONE"},
		{"Ana: I live in Berlin.", "Ana: I live in Berlin near the zoo.", "UPDATE"},
		// traps: nothing may be replaced
		{"Ben: I live in Berlin.", "Ana: I moved to Rome.", "ADD"},
		{"Ana: I live in Berlin.", "Ana: My sister lives in Rome.", "ADD"},
		{"Ana: My sister lives in Lyon.", "Ana: My brother lives in Nice.", "ADD"},
		{"Ana: I live in Berlin.", "Ana: I was moved to tears.", "ADD"},
		{"Ana: I live in Berlin.", "Ana: I moved to Rome in 2010.", "ADD"},
		{"Ana: I live in Berlin.", "Ana: I lived in Rome as a child.", "ADD"},
		{"Ana: I live in Berlin.", "Ana: I would love to live in Rome.", "ADD"},
		{"Ana: I live in Berlin.", "Ana: I'm moving to Rome next year.", "ADD"},
		{"Ana: I work as a nurse.", "Ana: I work at Mercy Hospital.", "ADD"},
		{"Ana: My favourite film is Alien.", "Ana: My favourite colour is teal.", "ADD"},
		{"Ana: My favourite film is Alien.", "Ana: My favourite film is also Heat.", "ADD"},
		{"Ana: My dog's name is Rex.", "Ana: My dog's name is Bo.", "ADD"},
		{"Ana: My son's name is Tom.", "Ana: My daughter's name is Eva.", "ADD"},
		{"Ana: I run every Tuesday.", "Ana: I also run every Thursday.", "UPDATE"},
		{"Ana: I run every Tuesday.", "Ana: I swim every Thursday.", "ADD"},
		{"Ana: I like tea.", "Ana: I like coffee.", "ADD"},
		{"Ana: I ran five miles.", "Ana: I ran six miles.", "ADD"},
		{"Ana: I gave Ben a book.", "Ben: I gave Ana a book.", "ADD"},
		{"Ana: I painted a lake with my son.", "Ana: I painted a lake with my daughter.", "ADD"},
		// denials
		{"Ana: I play tennis every Sunday.", "Ana: I no longer play tennis.", "DELETE"},
		{"Ana: I live in Berlin.", "Ana: I don't live in Berlin anymore.", "DELETE"},
		{"Ana: I work at Siemens.", "Ana: I no longer work at Siemens.", "DELETE"},
		{"Ana: I love playing the violin.", "Ana: I don't play the violin any more.", "DELETE"},
		{"Ana: I smoke.", "Ana: I quit smoking.", "DELETE"},
		{"Ana: I hate olives.", "Ana: It's not true that I hate olives, I was joking.", "DELETE"},
		{"Ana: I hate olives.", "Ana: It's not true that Ben hates olives.", "ADD"},
		{"Ana: I'm planning a trip to Kenya.", "Ana: I cancelled the trip to Kenya.", "DELETE"},
		{"Ben: I play tennis every Sunday.", "Ana: I no longer play tennis.", "ADD"},
		{"Ana: My sister plays tennis.", "Ana: I no longer play tennis.", "ADD"},
		{"Ana: I play chess every Sunday.", "Ana: I no longer play tennis.", "ADD"},
		{"Ana: I live in Berlin.", "Ana: I no longer live in Rome.", "ADD"},
		{"Ana: I played tennis yesterday.", "Ana: I no longer play tennis.", "ADD"},
		{"Ana: I play tennis every Sunday.", "Ana: I will never quit tennis.", "ADD"},
		{"Ana: I work at the bakery.", "Ana: I stopped by the bakery.", "ADD"},
		{"Ana: I work at Siemens.", "Ana: I no longer play tennis.", "ADD"},
	} {
		_, known := form(t, nil, session(c.before))
		if len(known) != 1 {
			t.Errorf("%q: made %d memories, want one", c.before, len(known))
			continue
		}
		ops, _ := form(t, known, later(c.now, "Ben: ok"))
		var got []string
		for _, op := range ops {
			got = append(got, string(op.Kind))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q then %q: got %v (%s), want %s", c.before, c.now, got, ops[len(ops)-1].Reason, c.want)
		}
	}
}

func TestDecideSeesWhatItHasJustWritten(t *testing.T) {
	ops, bank := form(t, nil, session("Ana: I live in Berlin.", "Ana: I live in Rome now.", "Ana: I live in Oslo now."))
	var active []string
	for _, m := range bank {
		if m.Status == memory.StatusActive {
			active = append(active, m.Content)
		}
	}
	if len(ops) != 3 || len(active) != 1 || active[0] != "Ana lives in Oslo now." || bank[2].Version != 3 {
		t.Errorf("operations %+v leave %q", ops, active)
	}
}

func TestDecideNeverReplacesTheNewerByTheOlder(t *testing.T) {
	_, known := form(t, nil, later("Ana: I live in Rome."))
	_, bank := form(t, known, session("Ana: I live in Berlin."))
	if len(bank) != 2 || bank[0].Status != memory.StatusActive {
		t.Fatalf("got %+v, want the newer value as it was and the older one kept", bank)
	}
	if old := bank[1]; old.Status != memory.StatusSuperseded || !old.ValidTo.Equal(known[0].ValidFrom) {
		t.Errorf("the older value is %+v, want it valid until the newer one", old)
	}
	if ops, _ := form(t, known, session("Ana: I live in Rome.")); len(ops) != 1 || ops[0].Kind != memory.OpNone {
		t.Errorf("the same value told late gives %+v, want NONE", ops)
	}
}

func TestDecideIsDeterministicAndComplete(t *testing.T) {
	in := session("Ana: I live in Berlin and I love tea. I have a cat called Bo.", "Ben: I moved to Rome last week.", "Ana: I ran 5 miles.")
	first, bank := form(t, nil, in)
	second, _ := form(t, nil, in)
	if !reflect.DeepEqual(first, second) {
		t.Error("two runs differ")
	}
	ids := map[string]bool{}
	for _, m := range bank {
		if ids[m.ID] || m.Content == "" || m.Strategy != "salimory" || m.PolicyVersion != former.Version() || m.ValidFrom.IsZero() ||
			len(m.Sources) == 0 || m.SessionID != "s1" {
			t.Errorf("incomplete entry %+v", m)
		}
		ids[m.ID] = true
	}
}

func TestDecideRefusesUnknownTurns(t *testing.T) {
	b := formation.Bundle{Session: session("Ana: hi"),
		Related: []formation.Related{{Candidate: formation.Candidate{Content: "Ana sings.", Sources: []string{"other"}}}}}
	if _, err := former.Decide(context.Background(), b); !fault.IsTerminal(err) {
		t.Errorf("got %v, want a terminal error", err)
	}
}

func TestEventTimes(t *testing.T) {
	for _, c := range []struct {
		said string
		want memory.EventTime
		kind memory.Kind
	}{
		{"I went to Rome last week.", memory.EventTime{Time: day(2023, 5, 15), Precision: memory.PrecisionDay, Expression: "last week"},
			memory.KindEpisodic},
		{"I bought a bike last month.", memory.EventTime{Time: day(2023, 4, 1), Precision: memory.PrecisionMonth, Expression: "last month"},
			memory.KindEpisodic},
		{"I retired in 2019.", memory.EventTime{Time: day(2019, 1, 1), Precision: memory.PrecisionYear, Expression: "2019"}, memory.KindEpisodic},
		{"I bought a bike.", memory.EventTime{Time: day(2023, 5, 25), Precision: memory.PrecisionDay}, memory.KindEpisodic},
		{"I bought a bike a few years ago.", memory.EventTime{}, memory.KindEpisodic},
		{"I lived in Oslo for three years.", memory.EventTime{}, memory.KindEpisodic},
		{"I will stay in Oslo until August.", memory.EventTime{}, memory.KindEpisodic},
		{"I have lived in Oslo since 2019.", memory.EventTime{Time: day(2019, 1, 1), Precision: memory.PrecisionYear, Expression: "2019"},
			memory.KindEpisodic},
		{"I met Tom the week before 9 June 2022.", memory.EventTime{Time: day(2022, 5, 30), Precision: memory.PrecisionDay,
			Expression: "the week before 9 June 2022"}, memory.KindEpisodic},
		{"I had surgery the Friday before 15 July 2022.",
			memory.EventTime{Time: day(2022, 7, 8), Precision: memory.PrecisionDay, Expression: "the Friday before 15 July 2022"},
			memory.KindEpisodic},
		{"I had surgery the day after 15 July 2022.", memory.EventTime{Time: day(2022, 7, 16), Precision: memory.PrecisionDay,
			Expression: "the day after 15 July 2022"}, memory.KindEpisodic},
		{"I bought a bike last winter.", memory.EventTime{Time: day(2022, 1, 1), Precision: memory.PrecisionYear, Expression: "last winter"},
			memory.KindEpisodic},
		{"I went hiking on Tuesday.", memory.EventTime{Time: day(2023, 5, 23), Precision: memory.PrecisionDay, Expression: "Tuesday"},
			memory.KindEpisodic},
		{"I have a bike.", memory.EventTime{}, memory.KindFact},
		{"I love jazz.", memory.EventTime{}, memory.KindPreference},
		{"I swim every morning.", memory.EventTime{}, memory.KindProcedural},
		{"Whales breathe air.", memory.EventTime{}, memory.KindSemantic},
	} {
		got := extract(t, session("Ana: "+c.said))
		if len(got) != 1 || got[0].EventTime != c.want || got[0].Kind != c.kind {
			t.Errorf("%q: got %+v, want %s at %+v", c.said, got, c.kind, c.want)
		}
	}
}

func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

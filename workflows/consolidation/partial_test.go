package consolidation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	formationllm "github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/formation/strategies"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// partial is a former that fails on some turns. It cannot extract the text "unreadable", and it cannot decide on
// "undecidable".
type partial struct {
	known []memory.Memory // the entries shown to the last Extract
}

func (p *partial) Version() string { return "partial" }

func (p *partial) Reads() int { return 3 }

func (p *partial) Extract(_ context.Context, in formation.Session) ([]formation.Candidate, error) {
	p.known = in.Known
	var out []formation.Candidate
	for _, t := range in.Turns {
		c := formation.Candidate{Kind: memory.KindFact, Content: t.Text, Sources: []string{t.ID}}
		if t.Text == "unreadable" {
			c = formation.Candidate{Sources: c.Sources, Fault: "event_date is no date"}
		}
		out = append(out, c)
	}
	return out, nil
}

func (p *partial) Decide(_ context.Context, in formation.Bundle) (v formation.Verdict, err error) {
	for _, r := range in.Related {
		c := r.Candidate
		if c.Content == "undecidable" {
			v.Failed = append(v.Failed, formation.Failure{Sources: c.Sources, Reason: "target m9 is not there"})
			continue
		}
		m := memory.Memory{
			ID: memory.DeriveID(in.Session.Scope, c.Sources, c.Ordinal), Kind: c.Kind, Content: c.Content,
			Status:  memory.StatusActive,
			Sources: c.Sources, ValidFrom: in.Session.Turns[0].Time, SessionID: in.Session.ID, Strategy: "salimory",
			PolicyVersion: "partial",
		}
		v.Operations = append(v.Operations, memory.Operation{Kind: memory.OpAdd, Sources: c.Sources, New: &m})
	}
	return v, nil
}

// A part that a policy cannot process fails alone. The rest is formed, and a replay brings the failed turns again.
func TestWhatFailsAloneIsPutAsideAndTheRestCounts(t *testing.T) {
	s := newShop(t)
	former := &partial{}
	s.Formers = func(string, string) (formation.Former, error) { return former, nil }
	contents := func() (out []string) {
		page, err := s.Bank.List(t.Context(), owner, bank.ListOptions{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Memories {
			out = append(out, m.Content)
		}
		slices.Sort(out)
		return out
	}
	var events []consolidation.Event
	for _, held := range batchOf(1, "I live in Porto", "unreadable", "undecidable", "I have two sons").Turns {
		events = append(events, consolidation.Event{ID: held.EventID, SessionID: "s1", Turn: &held.Turn})
	}
	p := params()
	p.Scope = owner
	if err := consolidation.Form(t.Context(), s.Activities, p, append(events, closed("s1")), start); err != nil {
		t.Fatal(err)
	}
	if got := contents(); !slices.Equal(got, []string{"I have two sons", "I live in Porto"}) {
		t.Errorf("the bank has %q", got)
	}
	dead := s.announced.deadLetters
	if len(dead) != 1 || len(dead[0].Turns) != 2 || dead[0].Turns[0].ID != "s1:1" || dead[0].Turns[1].ID != "s1:2" {
		t.Fatalf("dead letters %+v, want the two turns that failed", dead)
	}
	if kept, err := s.Bank.Turns(t.Context(), owner, []string{"s1:0", "s1:1", "s1:2", "s1:3"}); err != nil ||
		len(kept) != 2 {
		t.Errorf("%d turns count as formed, %v; want those that did not fail", len(kept), err)
	}

	// The turns come again, and now the former can process them.
	for i, text := range map[int]string{1: "My sons are twins", 2: "I live near the station of Porto"} {
		events[i].Turn.Text = text
	}
	if err := consolidation.Form(t.Context(), s.Activities, p, append(slices.Clone(events[1:3]), closed("s1")),
		start); err != nil {
		t.Fatal(err)
	}
	if got := contents(); len(got) != 4 || len(s.announced.deadLetters) != 1 {
		t.Errorf("the bank has %q, and there are %d dead letters", got, len(s.announced.deadLetters))
	}
	if len(former.known) != 2 || former.known[0].Vector != nil {
		t.Errorf("the former read %+v, want both entries that there were", former.known)
	}
}

// measured records the longest text that it embeds.
type measured struct {
	embedding.Embedder
	longest int
}

func (m *measured) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, t := range texts {
		m.longest = max(m.longest, len(t))
	}
	return m.Embedder.Embed(ctx, texts)
}

// The search text of a turn is limited to the length that embedding models read, because some models refuse longer
// input.
func TestLongTurnsAreSearchedForByTheirBeginning(t *testing.T) {
	s := newShop(t)
	former, m := &long{}, &measured{Embedder: s.Embedder}
	s.Formers, s.Embedder = func(string, string) (formation.Former, error) { return former, nil }, m
	if _, err := s.Extract(t.Context(), batchOf(1, strings.Repeat("I live in Porto. ", 1500))); err != nil {
		t.Fatal(err)
	}
	if m.longest == 0 || m.longest > 2<<10 {
		t.Errorf("a text of %d bytes was embedded", m.longest)
	}
}

// long is a former that reads the known entries and extracts nothing.
type long struct{ partial }

func (long) Extract(context.Context, formation.Session) ([]formation.Candidate, error) {
	return nil, nil
}

// rewording is a former that extracts the same fact from every turn, each time in other words. A model's budget may
// refuse it.
type rewording struct {
	partial
	times int
	err   error
	// faulty is the id of a turn whose extraction fails.
	faulty string
}

func (r *rewording) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.times++
	out, err := r.partial.Extract(ctx, in)
	for i := range out {
		out[i].Content = fmt.Sprintf("%s, told %d", out[i].Content, r.times)
		if slices.Contains(out[i].Sources, r.faulty) {
			out[i] = formation.Candidate{Sources: out[i].Sources, Fault: "event_date is no date"}
		}
	}
	return out, err
}

// A turn with entries is formed again when it comes again, from the dead letters or by a repeated delivery. The new
// entries are kept.
func TestWhatIsMadeOfATurnThatComesAgainIsNotLost(t *testing.T) {
	s := newShop(t)
	former := &rewording{}
	s.Formers = func(string, string) (formation.Former, error) { return former, nil }
	b := batchOf(1, "I live in Porto", "I have two sons")
	once := s.decide(t.Context(), t, b, start)
	again := s.decide(t.Context(), t, b, start)
	if once.Decided.Write.Put[0].ID != again.Decided.Write.Put[0].ID {
		t.Error("the same turns give other ids although nothing was made of them")
	}
	once.Batch.Turns = nil // put aside, however many entries it has
	if err := s.Apply(t.Context(), once); err != nil {
		t.Fatal(err)
	}
	replayed := s.decide(t.Context(), t, b, start)
	repeated := s.decide(t.Context(), t, b, start)
	if err := s.Apply(t.Context(), replayed); err != nil {
		t.Fatal(err)
	}
	page, err := s.Bank.List(t.Context(), owner, bank.ListOptions{})
	if err != nil || len(page.Memories) != 4 {
		t.Errorf("the bank has %+v, %v; want both of what was made before and both of what is made now", page.Memories, err)
	}
	if id := replayed.Decided.Write.Put[0].ID; id != repeated.Decided.Write.Put[0].ID ||
		id == once.Decided.Write.Put[0].ID {
		t.Errorf("an attempt that is repeated gives another id than %s", id)
	}
}

// A tenant with a used-up budget is served without a model. Its turns come again when the budget allows it.
func TestABudgetThatIsUsedUpIsMadeUpForLater(t *testing.T) {
	s := newShop(t)
	model := &rewording{err: llm.ErrBudget}
	s.Formers = func(_, policy string) (formation.Former, error) {
		if policy == "llm" {
			return model, nil
		}
		return salimory.NewEmbedded(), nil
	}
	b := batchOf(1, "I live in Porto.", "I have two sons.")
	var events []consolidation.Event
	for _, held := range b.Turns {
		events = append(events, consolidation.Event{ID: held.EventID, SessionID: "s1", Turn: &held.Turn})
	}
	p := params()
	p.Scope, p.Policy = owner, "llm"
	form := func() (policies []string) {
		t.Helper()
		if err := consolidation.Form(t.Context(), s.Activities, p, append(slices.Clone(events), closed("s1")),
			start); err != nil {
			t.Fatal(err)
		}
		page, err := s.Bank.List(t.Context(), owner, bank.ListOptions{Statuses: []memory.Status{memory.StatusActive}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Memories {
			policies = append(policies, m.PolicyVersion)
		}
		return policies
	}
	got := form()
	if len(got) == 0 || slices.Contains(got, "partial") {
		t.Fatalf("formed by %q, want the embedded policy", got)
	}
	dead := s.announced.deadLetters
	if len(dead) != 1 || len(dead[0].Turns) != 2 || dead[0].Instead != "llm" || dead[0].ClosedAt.IsZero() {
		t.Fatalf("dead letters %+v, want the session", dead)
	}
	model.err = nil
	model.faulty = "s1:1" // the extraction of a turn fails: its stand-in stays
	if got := form(); !slices.Contains(got, "partial") || len(got) != 2 || len(s.announced.deadLetters) != 2 {
		t.Errorf("with a turn that fails what holds is formed by %q, dead letters %d", got, len(s.announced.deadLetters))
	}
	model.faulty, s.announced.deadLetters = "", s.announced.deadLetters[:1]
	if got := form(); !slices.Equal(got, []string{"partial", "partial"}) || len(s.announced.deadLetters) != 1 {
		t.Errorf("what holds is formed by %q, want by the model alone", got)
	}
	if kept, err := s.Bank.Turns(t.Context(), owner, []string{"s1:0", "s1:1"}); err != nil || len(kept) != 2 {
		t.Errorf("%d turns count as formed, %v", len(kept), err)
	}
}

// fleeting is a former that leaves every turn to working memory. It also fails on the content of the second turn.
type fleeting struct{ partial }

func (*fleeting) Decide(_ context.Context, in formation.Bundle) (v formation.Verdict, err error) {
	for _, turn := range in.Session.Turns {
		v.Passing = append(v.Passing, formation.Passing{TurnID: turn.ID, Until: start.Add(time.Hour)})
	}
	v.Failed = []formation.Failure{{Sources: []string{in.Session.Turns[1].ID}, Reason: "target m9 is not there"}}
	return v, nil
}

// Working memory holds a passing turn even if the turn comes again.
func TestWorkingMemoryHoldsTurnsThatComeAgain(t *testing.T) {
	for name, model := range map[string]formation.Former{
		"in place of a model without a budget": &rewording{err: llm.ErrBudget}, "beside what failed": &fleeting{},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.Formers = func(_, policy string) (formation.Former, error) {
				if policy == "llm" {
					return model, nil
				}
				return salimory.NewEmbedded(), nil
			}
			b := batchOf(10, "My head hurts today.", "I'm making soup tonight.")
			var events []consolidation.Event
			for _, held := range b.Turns {
				events = append(events, consolidation.Event{ID: held.EventID, SessionID: b.SessionID, Turn: &held.Turn})
			}
			p := params()
			p.Scope, p.Policy = owner, "llm"
			if err := consolidation.Form(t.Context(), s.Activities, p, append(events, closed(b.SessionID)), start); err != nil {
				t.Fatal(err)
			}
			held, err := s.Window.Recent(t.Context(), owner, b.Turns[1].Time)
			if err != nil || len(held) != 2 || len(s.announced.deadLetters) != 1 {
				t.Errorf("working memory holds %+v, %v, and there are %d dead letters; want both turns", held, err,
					len(s.announced.deadLetters))
			}
		})
	}
}

// A turn fails alone if a model refuses it or answers at too great length. The workflow never repeats the same
// question.
func TestATurnThatIsRefusedFailsAlone(t *testing.T) {
	for name, step := range map[string]llmtest.Step{
		"refused": llmtest.Filtered(), "cut off": llmtest.Truncated(), "rejected": llmtest.Status(413),
	} {
		for _, role := range []llm.Role{llm.RoleExtractor, llm.RoleManager} {
			t.Run(name+"/"+string(role), func(t *testing.T) {
				s, server := newShop(t), llmtest.New(t)
				server.Always(func(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
					if c.Role == role && strings.Contains(c.User(), "nurse") {
						step(w, r, c)
						return
					}
					llmtest.FakeModel()(w, r, c)
				})
				former, err := salimory.NewLLM(server.Client(t), formationllm.DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				formed := s.form(t, former, "salimory")
				if dead := s.announced.deadLetters; len(dead) != 1 || len(dead[0].Turns) != 1 || dead[0].Turns[0].ID != "s1:2" ||
					formed != 3 {
					t.Errorf("%d turns are formed, dead letters %+v; want the turn that is refused alone", formed, dead)
				}
				sent := map[string]int{}
				for _, c := range server.Calls(role) {
					if sent[string(c.Raw)]++; sent[string(c.Raw)] > 1 && c.Data() != nil {
						t.Errorf("a request was sent %d times", sent[string(c.Raw)])
					}
				}
			})
		}
	}
}

// A model may refuse the context instead of the turns. The turns are then formed without context.
func TestATurnIsNotLostForWhatIsShownBesideIt(t *testing.T) {
	for _, role := range []llm.Role{llm.RoleExtractor, llm.RoleManager} {
		t.Run(string(role), func(t *testing.T) {
			s, server := newShop(t), llmtest.New(t)
			server.Always(func(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
				if c.Role == role && strings.Contains(c.User(), "nurse") {
					llmtest.Filtered()(w, r, c)
					return
				}
				llmtest.FakeModel()(w, r, c)
			})
			former, err := salimory.NewLLM(server.Client(t), formationllm.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			known := memory.Memory{
				ID: memory.DeriveID(owner, []string{"s0:0"}, 0), Kind: memory.KindFact, Content: "I work as a nurse.",
				Status:  memory.StatusActive,
				Sources: []string{"s0:0"}, SessionID: "s0", ValidFrom: start, RecordedAt: start, Strategy: "salimory",
				PolicyVersion: "llm/1",
			}
			vectors, err := s.Embedder.Embed(t.Context(), []string{known.Content})
			if err != nil {
				t.Fatal(err)
			}
			known.Vector = vectors[0]
			if err := s.Bank.Write(t.Context(), owner, memory.Write{Put: []memory.Memory{known}}); err != nil {
				t.Fatal(err)
			}
			formed := s.form(t, former, "salimory", "I live in Porto.", "I have two sons.", "I work as a surgeon now.",
				"I love green tea.")
			if len(s.announced.deadLetters) != 0 || formed != 4 {
				t.Errorf("%d turns are formed, dead letters %+v; want all", formed, s.announced.deadLetters)
			}
		})
	}
}

// form runs a former on a session of four turns, and returns the number of formed turns.
func (s shop) form(t *testing.T, former formation.Former, strategy string, texts ...string) int {
	t.Helper()
	s.Formers = func(string, string) (formation.Former, error) { return former, nil }
	if len(texts) == 0 {
		texts = []string{"I live in Porto.", "I have two sons.", "I work as a nurse.", "I love green tea."}
	}
	var events []consolidation.Event
	for _, held := range batchOf(1, texts...).Turns {
		events = append(events, consolidation.Event{ID: held.EventID, SessionID: "s1", Turn: &held.Turn})
	}
	p := params()
	p.Scope, p.Strategy, p.Policy = owner, strategy, "llm"
	if err := consolidation.Form(t.Context(), s.Activities, p, append(events, closed("s1")), start); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Bank.Turns(t.Context(), owner, []string{"s1:0", "s1:1", "s1:2", "s1:3"})
	if err != nil {
		t.Fatal(err)
	}
	return len(kept)
}

// broken answers as the fake model does, but the first element of a role's answer has an unknown kind.
func broken(role llm.Role) llmtest.Step {
	return llmtest.Reply(func(c llmtest.Call) string {
		var answer map[string]any
		text := llmtest.Answer(c)
		if c.Role != role || json.Unmarshal([]byte(text), &answer) != nil {
			return text
		}
		for _, list := range []string{"operations", "memories", "facts", "topics"} {
			if things, _ := answer[list].([]any); len(things) > 0 {
				thing := things[0].(map[string]any)
				for _, field := range []string{"op", "action", "kind"} {
					if thing[field] != nil {
						thing[field] = "UPSERT"
						break
					}
				}
			}
		}
		out, err := json.Marshal(answer)
		if err != nil {
			return err.Error()
		}
		return string(out)
	})
}

// An element of an answer that breaks the schema fails alone, in every strategy. The model sees it once, and then the
// rest counts.
func TestWhatBreaksTheSchemaFailsAlone(t *testing.T) {
	roles := map[string][]llm.Role{
		"deltamem": {llm.RoleAgent}, "membuilder": {llm.RoleSemantic}, "memory-r2": {llm.RoleFacts, llm.RoleFactManager},
		"rmm": {llm.RoleTopics, llm.RoleTopicManager}, "salimory": {llm.RoleExtractor, llm.RoleManager},
	}
	for _, strategy := range strategies.All() {
		for _, role := range roles[strategy.Name] {
			t.Run(strategy.Name+"/"+string(role), func(t *testing.T) {
				s, server := newShop(t), llmtest.New(t)
				server.Always(broken(role))
				former, err := strategy.LLM(server.Client(t), formationllm.DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				formed := s.form(t, former, strategy.Name)
				repairs := 0
				for _, c := range server.Calls(role) {
					if c.IsRepair() {
						repairs++
					}
				}
				if dead := s.announced.deadLetters; repairs != 1 || len(dead) != 1 || len(dead[0].Turns) != 1 || formed != 3 {
					t.Errorf("%d repairs, %d turns are formed, dead letters %+v; want one, and the turn of what is wrong", repairs,
						formed, dead)
				}
			})
		}
	}
}

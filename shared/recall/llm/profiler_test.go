package llm_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/llm"
)

var (
	scope = memory.Scope{Tenant: "acme", User: "ana"}
	now   = time.Date(2024, 5, 6, 9, 30, 0, 0, time.UTC)
)

type object = map[string]any

func entry(id string, kind memory.Kind, content string) memory.Memory {
	return memory.Memory{ID: id, Kind: kind, Content: content, Status: memory.StatusActive, ValidFrom: now,
		Sources: []string{"t"}}
}

func asked(text string, messages ...memory.Message) query.Query {
	return query.Understand(query.Input{Text: text, Messages: messages, Now: now})
}

func evidence(budget int) recall.Evidence {
	return recall.Evidence{
		Query: asked("What should Ana eat?"), WordBudget: budget,
		Memories: []memory.Memory{
			entry("id-1", memory.KindFact, "Ana is allergic to nuts."),
			entry("id-2", memory.KindPreference, "Ana loves oat milk."),
			entry("id-3", memory.KindFact, "Ana lives in Porto."),
		},
		Window: []memory.Turn{{ID: "turn-1", Speaker: "Ana", Role: memory.RoleUser, Text: "I want to cook tonight",
			Time: now}},
	}
}

func line(text string, cites ...int) object {
	if cites == nil {
		cites = []int{}
	}
	return object{"text": text, "cites": cites}
}

func section(name string, lines ...object) object { return object{"name": name, "lines": lines} }

func profileOf(sections ...object) object { return object{"nothing": false, "sections": sections} }

func step(t *testing.T, v any) llmtest.Step {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return llmtest.Text(string(out))
}

func newProfiler(t *testing.T, s *llmtest.Server) *llm.Profiler {
	t.Helper()
	p, err := llm.NewProfiler(s.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProfileNumbersWhatItCites(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleUtilizer, step(t, profileOf(
		section("recent", line("Ana wants to cook tonight.")),
		section("constraints", line("No nuts [7] for Ana, [NO_CITE] she lives in Porto.", 3, 1, 3)),
		section("preferences", line("Ana </memory> loves \"oat\" milk.", 2)),
		section("constraints", line("Ana is in Porto.", 3)),
	)))
	got, err := newProfiler(t, s).Profile(t.Context(), scope, evidence(100))
	if err != nil {
		t.Fatal(err)
	}
	want := []recall.Section{
		{Name: "constraints", Lines: []string{"No nuts for Ana, she lives in Porto. [1][2]", "Ana is in Porto. [1]"}},
		{Name: "preferences", Lines: []string{`Ana \u003c/memory\u003e loves "oat" milk. [3]`}},
		{Name: "recent", Lines: []string{"Ana wants to cook tonight."}},
	}
	if !reflect.DeepEqual(got.Sections, want) {
		t.Errorf("got %q\nwant %q", got.Sections, want)
	}
	var ids []string
	for _, m := range got.Cited {
		ids = append(ids, m.ID)
	}
	if !slices.Equal(ids, []string{"id-3", "id-1", "id-2"}) {
		t.Errorf("cited are %v", ids)
	}
}

func TestProfileKeepsTheWordBudget(t *testing.T) {
	answer := profileOf(section("constraints", line("one two three four", 1), line("five six seven eight nine ten", 2),
		line("x y", 3)))
	for _, tc := range []struct {
		budget int
		want   []string
	}{
		{100, []string{"one two three four [1]", "five six seven eight nine ten [2]", "x y [3]"}},
		{8, []string{"one two three four [1]", "x y [2]"}},
		{5, []string{"one two three four [1]"}},
		{4, []string{"x y [1]"}},
		{2, []string{"one [1]"}},
		{1, nil},
	} {
		s := llmtest.New(t)
		s.Script(model.RoleUtilizer, step(t, answer))
		got, err := newProfiler(t, s).Profile(t.Context(), scope, evidence(tc.budget))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, sec := range got.Sections {
			lines = append(lines, sec.Lines...)
		}
		if !slices.Equal(lines, tc.want) || len(got.Cited) != len(tc.want) {
			t.Errorf("budget %d: lines %q, %d cited, want %q", tc.budget, lines, len(got.Cited), tc.want)
		}
		if n := len(strings.Fields(strings.Join(lines, " "))); n > tc.budget {
			t.Errorf("budget %d: %d words", tc.budget, n)
		}
	}
}

func TestProfileRejectsWhatItCannotVouchFor(t *testing.T) {
	for name, answer := range map[string]object{
		"unknown memory":     profileOf(section("constraints", line("x", 5))),
		"memory 0":           profileOf(section("constraints", line("x", 0))),
		"uncited constraint": profileOf(section("constraints", line("x"))),
		"talk as a limit":    profileOf(section("constraints", line("x", 4))),
		"uncited timeline":   profileOf(section("timeline", line("x"))),
		"a block not shown":  profileOf(section("core", line("x"))),
		"no text":            profileOf(section("constraints", line(" [1] ", 1))),
		"unknown section":    profileOf(section("secrets", line("x", 1))),
		"no sections":        profileOf(),
		"empty section":      profileOf(section("constraints")),
		"nothing and lines":  {"nothing": true, "sections": []object{section("constraints", line("x", 1))}},
		"half a number": profileOf(object{"name": "constraints",
			"lines": []object{{"text": "x", "cites": []float64{1.5}}}}),
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Script(model.RoleUtilizer, step(t, answer), step(t, answer))
			e := evidence(100)
			e.Memories = append(e.Memories, entry("id-4", memory.KindFact, "I never eat figs"))
			e.Memories[3].Tier = memory.TierTalk
			got, err := newProfiler(t, s).Profile(t.Context(), scope, e)
			if !errors.Is(err, model.ErrMalformed) || got.Sections != nil {
				t.Errorf("got %+v and %v, want ErrMalformed", got, err)
			}
		})
	}
}

func TestTheCoreBlockNeedsNoCitation(t *testing.T) {
	answer := profileOf(section("preferences", line("Ana loves oat milk.", 2)),
		section("core", line("Ana is a nurse."), line("Ana must not eat nuts.", 1)))
	s := llmtest.New(t)
	s.Script(model.RoleUtilizer, step(t, answer))
	e := evidence(100)
	e.Core.Content = "ana/job: Ana is a nurse."
	got, err := newProfiler(t, s).Profile(t.Context(), scope, e)
	want := []recall.Section{
		{Name: "core", Lines: []string{"Ana is a nurse.", "Ana must not eat nuts. [1]"}},
		{Name: "preferences", Lines: []string{"Ana loves oat milk. [2]"}},
	}
	if err != nil || !reflect.DeepEqual(got.Sections, want) {
		t.Errorf("got %+v, %v", got.Sections, err)
	}
	if call := s.Calls(model.RoleUtilizer)[0]; !strings.Contains(string(call.Data()), e.Core.Content) ||
		!strings.Contains(call.System(), "core block") {
		t.Errorf("the model was asked %s", call.User())
	}
}

func TestWhatStandsIsShownOnceWithItsCitation(t *testing.T) {
	e := evidence(100)
	deaf := entry("id-4", memory.KindFact, "I'm deaf.")
	deaf.Speaker = "Ana"
	e.CoreMemories = []memory.Memory{e.Memories[0], deaf}
	e.Core = memory.Core{Content: "Ana is allergic to nuts.\nI'm deaf.", Version: 1, Lines: []memory.CoreLine{
		{Text: "Ana is allergic to nuts.", Memories: []string{"id-1"}}, {Text: "I'm deaf.", Memories: []string{"id-4"}},
	}}
	deafLine := `Ana (2024-05): "I'm deaf."`
	for name, tt := range map[string]struct {
		answer object
		want   []recall.Section
	}{
		"none is told": {profileOf(section("preferences", line("Ana loves oat milk.", 2))), []recall.Section{
			{Name: "core", Lines: []string{"Ana is allergic to nuts. [1]", deafLine + " [2]"}},
			{Name: "preferences", Lines: []string{"Ana loves oat milk. [3]"}},
		}},
		"one is told": {profileOf(section("constraints", line("Ana must not eat nuts.", 1))), []recall.Section{
			{Name: "core", Lines: []string{deafLine + " [1]"}},
			{Name: "constraints", Lines: []string{"Ana must not eat nuts. [2]"}},
		}},
		"nothing bears on it": {object{"nothing": true, "sections": []object{}}, []recall.Section{
			{Name: "core", Lines: []string{"Ana is allergic to nuts. [1]", deafLine + " [2]"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Script(model.RoleUtilizer, step(t, tt.answer))
			got, err := newProfiler(t, s).Profile(t.Context(), scope, e)
			if err != nil || !reflect.DeepEqual(got.Sections, tt.want) || got.Unrelated != (name == "nothing bears on it") {
				t.Errorf("got %+v, %v", got, err)
			}
			if data := string(s.Calls(model.RoleUtilizer)[0].Data()); !strings.Contains(data, `"n":4`) ||
				strings.Contains(data, `"core"`) {
				t.Errorf("the model was shown %s", data)
			}
		})
	}
}

// Without other evidence, no model call is needed.
func TestWhatStandsAloneNeedsNoModel(t *testing.T) {
	s := llmtest.New(t)
	e := recall.Evidence{Query: asked("x"), WordBudget: 100,
		CoreMemories: []memory.Memory{entry("id-1", memory.KindFact, "Ana is vegan.")}}
	e.Core = memory.Core{Version: 1, Lines: []memory.CoreLine{{Text: "Ana is vegan.", Memories: []string{"id-1"}}}}
	got, err := newProfiler(t, s).Profile(t.Context(), scope, e)
	if err != nil || len(s.Calls(model.RoleUtilizer)) != 0 || len(got.Cited) != 1 || len(got.Sections) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestACoreBlockAloneIsEvidence(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleUtilizer, step(t, profileOf(section("core", line("Ana is a nurse.")))))
	got, err := newProfiler(t, s).Profile(t.Context(), scope, recall.Evidence{Query: asked("x"),
		Core: memory.Core{Content: "Ana is a nurse."}})
	if err != nil || len(got.Sections) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestProfileOfNothing(t *testing.T) {
	s := llmtest.New(t)
	p := newProfiler(t, s)
	got, err := p.Profile(t.Context(), scope, recall.Evidence{Query: asked("x")})
	if err != nil || got.Sections != nil || s.Total() != 0 {
		t.Errorf("without evidence: %+v, %v, %d calls", got, err, s.Total())
	}
	s.Script(model.RoleUtilizer, step(t, object{"nothing": true, "sections": []object{}}))
	got, err = p.Profile(t.Context(), scope, evidence(0))
	if err != nil || got.Sections != nil || s.Total() != 1 {
		t.Errorf("nothing to the point: %+v, %v, %d calls", got, err, s.Total())
	}
	if !strings.Contains(s.Calls(model.RoleUtilizer)[0].System(), "at most 200 words") {
		t.Error("the default budget is not in the prompt")
	}
}

// A standing memory stays when the model's line about it has no room after others.
func TestWhatStandsIsNotLostForOtherLines(t *testing.T) {
	s := llmtest.New(t)
	e := recall.Evidence{Query: asked("x"), WordBudget: 24,
		Memories:     []memory.Memory{entry("id-2", memory.KindFact, "Ana drinks oat milk.")},
		CoreMemories: []memory.Memory{entry("id-1", memory.KindFact, "Ana is allergic to nuts.")}}
	e.Core = memory.Core{Version: 1, Lines: []memory.CoreLine{{Text: "Ana is allergic to nuts.",
		Memories: []string{"id-1"}}}}
	s.Script(model.RoleUtilizer, step(t, profileOf(
		section("constraints", line("Ana drinks oat milk"+strings.Repeat(" every day", 8)+".", 1)),
		section("preferences", line("Ana must not eat nuts"+strings.Repeat(" of any kind", 5)+".", 2)))))
	got, err := newProfiler(t, s).Profile(t.Context(), scope, e)
	if err != nil || !slices.ContainsFunc(got.Cited, func(m memory.Memory) bool { return m.ID == "id-1" }) {
		t.Errorf("got %+v, %v, want a line that cites what stands", got.Sections, err)
	}
}

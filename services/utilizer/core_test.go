package utilizer_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
)

var builder = tenant.Tenant{ID: "acme", Strategy: tenant.StrategyMembuilder, Policy: tenant.PolicyEmbedded}

// withCore gives ana a core block.
func withCore(t *testing.T, r *utilizer.Recaller) {
	t.Helper()
	core := memory.Core{Content: "Ana has a sister called Eva.", Version: 1, UpdatedAt: now, Sources: []string{"t1"},
		SessionID: "s1"}
	if err := r.Bank.Write(t.Context(), ana, memory.Write{Core: &core}); err != nil {
		t.Fatal(err)
	}
}

// sectionOf returns the lines of a section of a profile.
func sectionOf(p recall.Profile, name string) []string {
	for _, s := range p.Sections {
		if s.Name == name {
			return s.Lines
		}
	}
	return nil
}

func TestTheCoreBlockIsShownForEveryStrategy(t *testing.T) {
	past := where
	past.AsOf = now.AddDate(0, 0, -1)
	stranger := where
	stranger.User = "eva"
	for name, tt := range map[string]struct {
		tenant tenant.Tenant
		query  utilizer.Request
		want   []string
	}{
		"a strategy that writes it":      {builder, where, []string{"Ana has a sister called Eva."}},
		"another strategy":               {acme, where, []string{"Ana has a sister called Eva."}},
		"a question about the past":      {builder, past, nil},
		"a user of whom there is none":   {builder, stranger, nil},
		"the same user of another house": {tenant.Tenant{ID: "beta", Strategy: tenant.StrategyMembuilder}, where, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecaller(t)
			withCore(t, r)
			got, err := r.Recall(t.Context(), tt.tenant, tt.query)
			if err != nil || len(got.Degraded) != 0 || !slices.Equal(sectionOf(got.Profile, embedded.SectionCore), tt.want) {
				t.Errorf("got %+v, %v, degraded %q", got.Profile.Sections, err, got.Degraded)
			}
		})
	}
}

// A line of the core block comes with its memory, even if the query does not need it. A line is omitted if its memory
// no longer holds or is deleted.
func TestTheCoreBlockCitesWhatItRestsOn(t *testing.T) {
	r := newRecaller(t)
	page, err := r.Bank.List(t.Context(), ana, bank.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	core := memory.Core{Version: 1, UpdatedAt: now, Sources: []string{"t1"}, SessionID: "s1"}
	var allergy memory.Memory
	for _, m := range page.Memories {
		switch m.Content {
		case "Ana is allergic to peanuts.":
			allergy = m
		case "Ana plays tennis.":
			w := memory.Write{Close: []memory.Closing{{ID: m.ID, Status: memory.StatusRetracted, ValidTo: now,
				OperationID: "o"}}}
			if err := r.Bank.Write(t.Context(), ana, w); err != nil {
				t.Fatal(err)
			}
		default:
			continue
		}
		core.Lines = append(core.Lines, memory.CoreLine{Text: m.Content, Memories: []string{m.ID}})
		core.Content += m.Content + "\n"
	}
	core.Lines = append(core.Lines, memory.CoreLine{Text: "Ana is vegan.", Memories: []string{"gone"}})
	core.Content += "Ana is vegan."
	if err := r.Bank.Write(t.Context(), ana, memory.Write{Core: &core}); err != nil {
		t.Fatal(err)
	}
	asked := where
	asked.Candidates, asked.Memories = 1, 1
	check := func() {
		t.Helper()
		got, err := r.Recall(t.Context(), acme, asked)
		last := len(got.Profile.Cited) - 1
		if err != nil || len(got.Degraded) != 0 || last != 1 || got.Profile.Cited[last].ID != allergy.ID ||
			!slices.Equal(sectionOf(got.Profile, embedded.SectionCore), []string{"Ana is allergic to peanuts. [2]"}) {
			t.Errorf("got %+v, %v, degraded %q", got.Profile, err, got.Degraded)
		}
	}
	check()
	r.Indexes.Fetch(ana)() // if the index has all memories of the user, the bank is not called
	r.Bank = unavailableCore{r.Bank}
	check()
}

func TestRecallDoesWithoutTheCoreBlock(t *testing.T) {
	for name, change := range map[string]func(*utilizer.Recaller){
		"unavailable":        func(r *utilizer.Recaller) { r.Bank = unavailableCore{r.Bank} },
		"one that is silent": func(r *utilizer.Recaller) { r.Bank, r.WindowTimeout = slowCore{r.Bank}, 50*time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecaller(t)
			withCore(t, r)
			change(r)
			got, err := r.Recall(t.Context(), builder, where)
			if err != nil || len(got.Profile.Cited) != 2 || !reflect.DeepEqual(got.Evidence.Core, memory.Core{}) {
				t.Fatalf("got %+v, %v", got.Profile, err)
			}
			said := slices.ContainsFunc(got.Degraded, func(d string) bool { return d == "core_unavailable" })
			if !said || strings.Contains(strings.Join(got.Degraded, " "), "10.1.2.3") {
				t.Errorf("says %q", got.Degraded)
			}
		})
	}
}

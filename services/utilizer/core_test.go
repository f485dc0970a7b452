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
	"github.com/mneme-memory/mneme/shared/tenant"
)

var builder = tenant.Tenant{ID: "acme", Strategy: tenant.StrategyMembuilder, Policy: tenant.PolicyEmbedded}

// withCore gives ana a core block.
func withCore(t *testing.T, r *utilizer.Recaller) {
	t.Helper()
	core := memory.Core{Content: "Ana has a sister called Eva.", Version: 1, UpdatedAt: now, Sources: []string{"t1"}, SessionID: "s1"}
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

func TestTheCoreBlockIsShownWhereTheStrategyKeepsOne(t *testing.T) {
	past := where
	past.AsOf = now.AddDate(0, 0, -1)
	stranger := where
	stranger.User = "eva"
	for name, tt := range map[string]struct {
		tenant tenant.Tenant
		query  utilizer.Request
		want   []string
	}{
		"a strategy with a block":        {builder, where, []string{"Ana has a sister called Eva."}},
		"a strategy without one":         {acme, where, nil},
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

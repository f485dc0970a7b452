package weaviate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
)

func filter(t testing.TB, raw string) memory.Filter {
	t.Helper()
	f, err := memory.ParseFilter([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// withoutTokens removes the tokens of a bank's entries, as in the schema before tokens.
func withoutTokens(t *testing.T, prefix string) {
	t.Helper()
	admin := newAdmin(t)
	objects, err := admin.Data().
		ObjectsGetter().
		WithClassName(prefix + "Memory").
		WithTenant(ana.Tenant).
		WithVector().
		WithLimit(100).
		Do(t.Context())
	if err != nil || len(objects) == 0 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	for _, o := range objects {
		properties := o.Properties.(map[string]any)
		delete(properties, "tokens")
		err := admin.Data().Updater().WithClassName(prefix + "Memory").WithTenant(ana.Tenant).WithID(o.ID.String()).
			WithProperties(properties).WithVector(o.Vector).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Entries written before tokens existed have no attributes, and filters apply to their other fields.
func TestEntriesOfAnOlderSchemaAreFiltered(t *testing.T) {
	cfg := newConfig()
	b := openBank(t, cfg)
	var old []memory.Memory
	for n := range 6 {
		m := entry(fmt.Sprintf("old-%d", n), "Ana swims")
		m.Kind, m.SessionID, m.RecordedAt = memory.Kinds()[n%2], fmt.Sprint("s", n%3),
			m.RecordedAt.Add(time.Duration(n)*time.Second)
		old = append(old, m)
	}
	if err := b.Write(t.Context(), ana, memory.Write{Put: old}); err != nil {
		t.Fatal(err)
	}
	withoutTokens(t, cfg.Prefix)
	fresh := entry("new", "Ana swims")
	fresh.RecordedAt, fresh.SessionID, fresh.AgentID = fresh.RecordedAt.Add(time.Minute), "s0", "a1"
	if err := b.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{fresh}}); err != nil {
		t.Fatal(err)
	}
	all := append(old, fresh)
	for _, raw := range []string{
		`{"field":"agent_id","equals":"a1"}`, `{"field":"agent_id","exists":false}`,
		`{"not":{"field":"agent_id","equals":"a1"}}`,
		`{"field":"metadata.x","exists":false}`, `{"field":"metadata.x","range":{"gt":1}}`,
		`{"field":"session_id","equals":"s0"}`,
		`{"not":{"field":"kind","equals":"fact"}}`,
		`{"field":"recorded_at","range":{"gte":"2023-11-14T22:13:22.000000005Z"}}`,
		`{"or":[{"field":"agent_id","equals":"a1"},{"field":"session_id","equals":"s1"}]}`,
	} {
		f := filter(t, raw)
		var want, got []string
		for _, m := range all {
			if f.Match(m) {
				want = append(want, m.ID)
			}
		}
		for token := ""; ; {
			page, err := b.List(t.Context(), ana, bank.ListOptions{Filter: f, Limit: 2, Token: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.Memories {
				got = append(got, m.ID)
			}
			if token = page.Next; token == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", raw, got, want)
		}
	}
}

// BenchmarkFilteredList lists by filters that match 1 % of 10,000 entries of one user. It compares them with lists of
// the same length without a filter, by state and by source.
func BenchmarkFilteredList(b *testing.B) {
	const entries, of = 10_000, 100
	bk, err := weaviate.Open(b.Context(), newConfig(), model, benchDimension)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = bk.Close() })
	fillAttributed(b, bk, entries, of)
	list := func(name string, o bank.ListOptions) measured {
		o.Limit = entries / of
		return measured{name: name, call: func(*rand.Rand) error {
			page, err := bk.List(b.Context(), ana, o)
			if err == nil && len(page.Memories) != entries/of {
				err = fmt.Errorf("%d entries", len(page.Memories))
			}
			return err
		}}
	}
	measure(b,
		list("status-", bank.ListOptions{Statuses: []memory.Status{memory.StatusActive}}),
		list("source-", bank.ListOptions{Sources: []string{"turn 7"}}),
		list("equals-", bank.ListOptions{Filter: filter(b, `{"field":"metadata.project","equals":"p7"}`)}),
		list("range-", bank.ListOptions{Filter: filter(b, `{"field":"metadata.n","range":{"gte":700,"lt":800}}`)}),
		list("not-", bank.ListOptions{Filter: filter(b, `{"not":{"field":"metadata.n","range":{"gte":100}}}`)}))
}

// fillAttributed writes entries of ana. The n-th entry has project n modulo a number.
func fillAttributed(b *testing.B, bk *weaviate.Bank, entries, of int) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var batch []memory.Memory
	for n := range entries {
		m := benchEntry(r, n)
		m.Metadata = map[string]any{"project": fmt.Sprintf("p%d", n%of), "n": float64(n)}
		m.Sources = []string{fmt.Sprintf("turn %d", n%of)}
		if batch = append(batch, m); len(batch) == 500 {
			if err := bk.Write(b.Context(), ana, memory.Write{Put: batch}); err != nil {
				b.Fatal(err)
			}
			batch = nil
		}
	}
}

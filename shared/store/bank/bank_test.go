package bank_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

func drawMemory(r *rapid.T, label string) memory.Memory {
	return memory.Memory{
		ID: rapid.StringMatching(`[0-9a-f]{1,3}|\PC{1,5}`).Draw(r, label+" id"),
		RecordedAt: time.Unix(
			rapid.Int64Range(-1<<33, 1<<33).Draw(r, label+" second"), rapid.Int64Range(0, 1e9-1).Draw(r, label+" nanosecond"),
		).UTC(),
		Version: rapid.IntRange(1, 3).Draw(r, label+" version"),
	}
}

func TestPageTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := bank.TokenAfter(drawMemory(r, "last"))
		got, err := bank.ParsePageToken(want.String())
		if err != nil || got != want {
			r.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

func TestPageTokenDividesTheOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		entries := []memory.Memory{drawMemory(r, "a"), drawMemory(r, "b"), drawMemory(r, "c")}
		slices.SortFunc(entries, bank.ByRecorded)
		token := bank.TokenAfter(entries[1])
		if token.Before(entries[0]) || token.Before(entries[1]) {
			r.Fatalf("an entry of the page comes again")
		}
		if token.Before(entries[2]) != (bank.ByRecorded(entries[1], entries[2]) < 0) {
			r.Fatalf("the next entry is on the wrong page")
		}
	})
	if !(bank.PageToken{}).Before(memory.Memory{ID: "a"}) {
		t.Errorf("the first page leaves an entry out")
	}
}

func TestParsePageTokenRefuses(t *testing.T) {
	for name, token := range map[string]string{
		"no base64": "%%%", "padding": "AQ==", "another format": "AgAAAABlU_EAAAAAAWE", "too short": "AQAAAABlU_EAAAAAAQ",
		"too many nanoseconds": "AQAAAABlU_EA_____2E", "broken id": "AQAAAABlU_EAAAAAAf8",
	} {
		_, err := bank.ParsePageToken(token)
		if !fault.IsTerminal(err) || fault.Field(err) != "page_token" {
			t.Errorf("%s: got %v, want a terminal error about page_token", name, err)
		}
	}
}

func FuzzParsePageToken(f *testing.F) {
	f.Add("")
	f.Add("AQAAAABlU_EAAAAAAWE")
	f.Add(bank.TokenAfter(memory.Memory{ID: "日本", RecordedAt: time.Unix(1, 2)}).String())
	f.Fuzz(func(t *testing.T, s string) {
		token, err := bank.ParsePageToken(s)
		if err == nil && token.String() != s {
			t.Errorf("%q is read as %+v, which is written %q", s, token, token.String())
		}
	})
}

func TestOrders(t *testing.T) {
	orders := map[string]func(a, b memory.Memory) int{
		"recorded": bank.ByRecorded, "version": bank.ByVersion,
		"score": func(a, b memory.Memory) int {
			return bank.ByScore(bank.Scored{Memory: a, Score: float64(a.Version)},
				bank.Scored{Memory: b, Score: float64(b.Version)})
		},
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				a, b := drawMemory(r, "a"), drawMemory(r, "b")
				if order(a, b) != -order(b, a) {
					r.Fatalf("the order of two entries depends on which is named first")
				}
				if order(a, b) == 0 && a.ID != b.ID {
					r.Fatalf("different entries have no order")
				}
			})
		})
	}
	newer, better := memory.Memory{ID: "a", Version: 2}, bank.Scored{Memory: memory.Memory{ID: "b"}, Score: 2}
	if bank.ByVersion(newer, memory.Memory{ID: "b", Version: 1}) <= 0 {
		t.Errorf("a newer version comes first")
	}
	if bank.ByScore(better, bank.Scored{Memory: memory.Memory{ID: "a"}, Score: 1}) >= 0 {
		t.Errorf("a better score comes last")
	}
}

func TestCheckedFillsInDefaults(t *testing.T) {
	o, token, err := bank.ListOptions{}.Checked()
	if err != nil || o.Limit != bank.DefaultLimit || !token.IsZero() {
		t.Errorf("list: got %+v, %+v, %v", o, token, err)
	}
	q, err := bank.Query{}.Checked(3)
	if err != nil || q.K != bank.DefaultK || !slices.Equal(q.Statuses, []memory.Status{memory.StatusActive}) {
		t.Errorf("query: got %+v, %v", q, err)
	}
}

func TestCheckedRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	cases := []struct {
		field string
		err   error
	}{
		{"page_size", listErr(bank.ListOptions{Limit: -1})},
		{"page_size", listErr(bank.ListOptions{Limit: bank.MaxLimit + 1})},
		{"page_token", listErr(bank.ListOptions{Token: "?"})},
		{"tier", listErr(bank.ListOptions{Tiers: []memory.Tier{"memories"}})},
		{"status", listErr(bank.ListOptions{Statuses: []memory.Status{""}})},
		{"query.k", queryErr(bank.Query{K: bank.MaxK + 1})},
		{"query.alpha", queryErr(bank.Query{Alpha: nan})},
		{"query.alpha", queryErr(bank.Query{Alpha: -0.1})},
		{"query.text", queryErr(bank.Query{Text: "\xc0"})},
		{"query.vector", queryErr(bank.Query{Vector: []float32{1}})},
		{"query.vector", queryErr(bank.Query{Vector: []float32{1, inf}})},
		{"tenant_id", bank.CheckScope(memory.Scope{Tenant: "A", User: "u"})},
		{"user_id", bank.CheckScope(memory.Scope{Tenant: "a"})},
	}
	for _, c := range cases {
		if !fault.IsTerminal(c.err) || fault.Field(c.err) != c.field {
			t.Errorf("got %v, want a terminal error about %s", c.err, c.field)
		}
	}
	if err := bank.CheckScope(memory.Scope{Tenant: "a", User: "u"}); err != nil {
		t.Errorf("a good scope: %v", err)
	}
}

func listErr(o bank.ListOptions) error { _, _, err := o.Checked(); return err }

func queryErr(q bank.Query) error { _, err := q.Checked(2); return err }

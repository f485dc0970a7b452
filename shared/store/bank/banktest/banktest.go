// Package banktest is the conformance suite of bank.Bank. Every store passes it.
package banktest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Dimension is the dimension of the suite's vectors.
const Dimension = 4

// Factory returns a bank of Dimension. It may return the same bank every time: each case uses new tenants.
type Factory func(t *testing.T) bank.Bank

// Run runs the suite.
func Run(t *testing.T, open Factory) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

type testCase struct {
	name string
	run  func(*testing.T, bank.Bank)
}

func cases() []testCase {
	return slices.Concat(writeCases(), isolationCases(), readCases(), searchCases(),
		coreCases(), droppedCases(), eraseCases(), transferCases(), filterCases())
}

// epoch is the recorded time of the suite's entries.
var epoch = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

// newScope returns a user of a tenant that no other case uses.
func newScope() memory.Scope {
	return memory.Scope{Tenant: "t-" + uuid.NewString(), User: "ana"}
}

// entry returns a valid entry. n determines its id, its time and its vector.
func entry(scope memory.Scope, n int, content string) memory.Memory {
	return memory.Memory{
		ID: memory.DeriveID(scope, []string{"turn"}, n), Kind: memory.KindFact, Content: content,
		RecordedAt: epoch.Add(time.Duration(n) * time.Second), ValidFrom: epoch, Status: memory.StatusActive, Version: 1,
		Sources: []string{"turn"}, SessionID: "session", Strategy: "salimory", PolicyVersion: "test/1", OperationID: "op",
		Vector: axis(n),
	}
}

// axis returns a unit vector.
func axis(n int) memory.Vector {
	v := make(memory.Vector, Dimension)
	v[n%Dimension] = 1
	return v
}

// successor returns an entry that replaces others.
func successor(scope memory.Scope, n int, content string, of ...memory.Memory) memory.Memory {
	m := entry(scope, n, content)
	for _, p := range of {
		m.Predecessors = append(m.Predecessors, p.ID)
		m.Version = max(m.Version, p.Version+1)
	}
	slices.Sort(m.Predecessors)
	return m
}

func closing(m memory.Memory, status memory.Status, at time.Time) memory.Closing {
	return memory.Closing{ID: m.ID, Status: status, ValidTo: at, OperationID: "closing"}
}

// talk returns the entry as talk.
func talk(m memory.Memory) memory.Memory {
	m.Tier = memory.TierTalk
	return m
}

func put(entries ...memory.Memory) memory.Write { return memory.Write{Put: entries} }

func write(t *testing.T, b bank.Bank, scope memory.Scope, w memory.Write) {
	t.Helper()
	if err := b.Write(t.Context(), scope, w); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func get(t *testing.T, b bank.Bank, scope memory.Scope, id string) memory.Memory {
	t.Helper()
	m, err := b.Get(t.Context(), scope, id)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return m
}

// listAll reads all pages from a token on. From the beginning, their number equals CountListed.
func listAll(t *testing.T, b bank.Bank, scope memory.Scope, o bank.ListOptions) []memory.Memory {
	t.Helper()
	var all []memory.Memory
	first := o
	for {
		page, err := b.List(t.Context(), scope, o)
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		limit := o.Limit
		if limit == 0 {
			limit = bank.DefaultLimit
		}
		if len(page.Memories) > limit {
			t.Fatalf("a page has %d entries, want at most %d", len(page.Memories), limit)
		}
		all = append(all, page.Memories...)
		if page.Next == "" && first.Token == "" {
			if n, err := b.CountListed(t.Context(), scope, first); err != nil || n != len(all) {
				t.Fatalf("CountListed of %+v: %d, %v; List has %d", first, n, err, len(all))
			}
		}
		if page.Next == "" {
			return all
		}
		if len(page.Memories) < limit {
			t.Fatalf("a page that is not the last has %d entries, want %d", len(page.Memories), limit)
		}
		o.Token = page.Next
	}
}

func search(t *testing.T, b bank.Bank, scope memory.Scope, q bank.Query) []bank.Scored {
	t.Helper()
	found, err := b.Search(t.Context(), scope, q)
	if err != nil {
		t.Fatalf("Search: %v", err)
	}
	for i := 1; i < len(found); i++ {
		if found[i].Score > found[i-1].Score {
			t.Errorf("result %d scores higher than the one before", i)
		}
	}
	return found
}

func ids(entries []memory.Memory) []string {
	out := make([]string, len(entries))
	for i, m := range entries {
		out[i] = m.ID
	}
	return out
}

func foundIDs(found []bank.Scored) []string {
	out := make([]string, len(found))
	for i, s := range found {
		out[i] = s.Memory.ID
	}
	return out
}

func wantIDs(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func content(n int) string { return fmt.Sprintf("Ana owns bicycle number %d", n) }

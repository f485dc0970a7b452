package memory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/memory"
)

var ana = memory.Scope{Tenant: "acme", User: "ana"}

// TestGoldenIDs pins derived ids. A later version must find the entries of an earlier one.
func TestGoldenIDs(t *testing.T) {
	added := &memory.Memory{ID: "m1"}
	for name, c := range map[string]struct{ got, want string }{
		"memory":            {memory.DeriveID(ana, []string{"t1", "t2"}, 0), "6ec66f49-7d99-55e3-9b7f-5f7cabc23aa5"},
		"memory, next":      {memory.DeriveID(ana, []string{"t1", "t2"}, 1), "c0839820-7bd9-5fe9-9753-61f8263dccb2"},
		"memory, no source": {memory.DeriveID(ana, nil, 0), "6b7b14f9-5907-5fe0-a206-f920c3c03f97"},
		"memory, unicode": {memory.DeriveID(memory.Scope{Tenant: "acme", User: "日本 🚲"}, []string{"t\n1"}, 12),
			"a3d7164a-13e4-587c-956a-5aa1d7809aa3"},
		"turn":    {memory.DeriveTurnID(ana, "t1"), "40b94b9c-928b-5363-a8cd-ca123980ae1f"},
		"session": {memory.DeriveSessionID(ana, "t1"), "cb788a4f-1f94-5629-83d8-f2ca3a55a4a3"},
		"add": {memory.DeriveOperationID(ana, memory.Operation{Kind: memory.OpAdd, New: added, Sources: []string{"t1"}}),
			"d49b239b-f4dd-5958-a6fc-3d35ba419b10"},
		"delete": {memory.DeriveOperationID(ana,
			memory.Operation{Kind: memory.OpDelete, Targets: []string{"m1"}, Sources: []string{"t1"}}),
			"40b80f50-eb86-544e-954a-863a7fafafbf"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", name, c.got, c.want)
		}
	}
}

func TestIDsAreVersion5(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a := drawOrigin(r, "a")
		for _, id := range []string{a.id(), memory.DeriveTurnID(a.scope, "t"), memory.DeriveSessionID(a.scope, "t")} {
			parsed, err := uuid.Parse(id)
			if err != nil || parsed.Version() != 5 || parsed.String() != id {
				r.Fatalf("%q is no UUID version 5 in canonical form", id)
			}
		}
	})
}

// origin is the input for an entry's id.
type origin struct {
	scope   memory.Scope
	sources []string
	index   int
}

func (o origin) id() string { return memory.DeriveID(o.scope, o.sources, o.index) }

// key is the origin in a form that is certainly injective.
func (o origin) key() string {
	sorted := slices.Clone(o.sources)
	slices.Sort(sorted)
	return fmt.Sprintf("%q %q %q %d", o.scope.Tenant, o.scope.User, sorted, o.index)
}

// drawOrigin draws from few short values, with separators and digits among them, so near collisions are common.
func drawOrigin(r *rapid.T, label string) origin {
	text := rapid.StringMatching(`[a1:\n/]{0,3}`)
	return origin{
		scope:   memory.Scope{Tenant: text.Draw(r, label+" tenant"), User: text.Draw(r, label+" user")},
		sources: rapid.SliceOfN(text, 0, 3).Draw(r, label+" sources"),
		index:   rapid.IntRange(0, 12).Draw(r, label+" index"),
	}
}

func TestDeriveIDIsInjective(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := drawOrigin(r, "a"), drawOrigin(r, "b")
		if (a.key() == b.key()) != (a.id() == b.id()) {
			r.Fatalf("%s and %s have ids %s and %s", a.key(), b.key(), a.id(), b.id())
		}
	})
}

func TestDeriveIDMovesNoBoundary(t *testing.T) {
	seen := map[string]origin{}
	for _, o := range []origin{
		{memory.Scope{Tenant: "ab", User: "c"}, []string{"d"}, 1},
		{memory.Scope{Tenant: "a", User: "bc"}, []string{"d"}, 1},
		{memory.Scope{Tenant: "a", User: "b"}, []string{"cd"}, 1},
		{memory.Scope{Tenant: "a", User: "b"}, []string{"c", "d"}, 1},
		{memory.Scope{Tenant: "a", User: "b"}, []string{"c\n1:d"}, 1},
		{memory.Scope{Tenant: "a", User: "b"}, []string{"1", "c", "d"}, 1},
		{memory.Scope{Tenant: "a", User: "b\n1:1"}, []string{"c", "d"}, 1},
		{memory.Scope{Tenant: "a", User: "b"}, []string{"", "c", "d"}, 1},
		{memory.Scope{Tenant: "a", User: "b"}, []string{"c", "d"}, 11},
	} {
		if other, taken := seen[o.id()]; taken {
			t.Errorf("%s and %s have one id", o.key(), other.key())
		}
		seen[o.id()] = o
	}
}

func TestDeriveIDIgnoresTheOrderOfSources(t *testing.T) {
	sources := []string{"t2", "t1", "t3"}
	if a, b := memory.DeriveID(ana, sources, 0), memory.DeriveID(ana, []string{"t1", "t2", "t3"}, 0); a != b {
		t.Errorf("got %s and %s", a, b)
	}
	if !slices.Equal(sources, []string{"t2", "t1", "t3"}) {
		t.Errorf("the caller's sources were sorted: %v", sources)
	}
}

func TestDeriveOperationIDIsInjective(t *testing.T) {
	ids := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "1"}), 0, 3)
	draw := func(r *rapid.T, label string) memory.Operation {
		o := memory.Operation{Targets: ids.Draw(r, label+" targets"), Sources: ids.Draw(r, label+" sources")}
		o.Kind = rapid.SampledFrom([]memory.OpKind{memory.OpAdd, memory.OpMerge, memory.OpDelete}).Draw(r, label+" kind")
		if o.Kind != memory.OpDelete {
			o.New = &memory.Memory{ID: rapid.SampledFrom([]string{"a", "b"}).Draw(r, label+" new")}
		}
		return o
	}
	rapid.Check(t, func(r *rapid.T) {
		a, b := draw(r, "a"), draw(r, "b")
		same := a.Kind == b.Kind && slices.Equal(a.Targets, b.Targets) && slices.Equal(a.Sources, b.Sources) &&
			(a.New == nil || a.New.ID == b.New.ID)
		if same != (memory.DeriveOperationID(ana, a) == memory.DeriveOperationID(ana, b)) {
			r.Fatalf("%+v and %+v: want equal ids only for equal operations", a, b)
		}
	})
}

func TestKindsOfIDsDiffer(t *testing.T) {
	id := "x"
	all := []string{
		memory.DeriveTurnID(ana, id), memory.DeriveSessionID(ana, id), memory.DeriveID(ana, []string{id}, 0),
		memory.DeriveOperationID(ana, memory.Operation{Kind: memory.OpNone, Sources: []string{id}}),
		memory.DeriveOperationID(ana, memory.Operation{Kind: memory.OpDelete, Targets: []string{id}}),
		memory.DeriveOperationID(ana, memory.Operation{Kind: memory.OpUpdate, Targets: []string{id}}),
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 6 {
		t.Errorf("different things share an id: %v", all)
	}
}

func TestScopeKeyIsInjective(t *testing.T) {
	tenant := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?`)
	user := rapid.StringMatching(`[a/ ]{1,4}`)
	rapid.Check(t, func(r *rapid.T) {
		a := memory.Scope{Tenant: tenant.Draw(r, "tenant a"), User: user.Draw(r, "user a")}
		b := memory.Scope{Tenant: tenant.Draw(r, "tenant b"), User: user.Draw(r, "user b")}
		if (a == b) != (a.Key() == b.Key()) {
			r.Fatalf("%+v and %+v have keys %q and %q", a, b, a.Key(), b.Key())
		}
	})
}

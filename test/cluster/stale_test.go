//go:build cluster

package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
	testservers "github.com/mneme-memory/mneme/test/servers"
)

// TestANodeThatWasAwayDecidesNothing writes through a node that has just come back without the latest writes. A
// writer must read the acknowledged data through this node. Otherwise it would count, form or close again.
func TestANodeThatWasAwayDecidesNothing(t *testing.T) {
	nodes, err := testservers.StartWeaviateCluster(t.Context(), process.Options{Dir: t.TempDir(), Log: t.Output()}, 3)
	must(t, err)
	t.Cleanup(func() { stopAll(t, nodes...) })
	at := func(n *servers.Weaviate) *weaviate.Bank {
		cfg, err := config.Load[weaviate.Config](map[string]string{
			"MNEME_WEAVIATE_HTTP": n.HTTP(), "MNEME_WEAVIATE_GRPC": n.GRPC(), "MNEME_WEAVIATE_REPLICAS": "3",
		})
		must(t, err)
		b, err := weaviate.Open(t.Context(), cfg, "test/1", 2)
		must(t, err)
		t.Cleanup(func() { must(t, b.Close()) })
		return b
	}
	scope, day := memory.Scope{Tenant: "acme", User: "u1"}, time.Date(2025, time.March, 3, 18, 0, 0, 0, time.UTC)
	core := func(version int) *memory.Core {
		return &memory.Core{
			Content: fmt.Sprint("Version ", version), Version: version, UpdatedAt: day.AddDate(0, 0, version),
			Sources:   []string{"t1"},
			SessionID: "s1", OperationID: "op", PolicyVersion: "test/1",
		}
	}
	emptied := core(2)
	emptied.Content, emptied.Sources = "", nil
	session := func(turns int, closed bool) *memory.SessionRecord {
		return &memory.SessionRecord{SessionID: "s1", FormedAt: day.AddDate(0, 0, turns), Turns: turns, Closed: closed}
	}
	closing := func(status memory.Status, operation string) []memory.Closing {
		return []memory.Closing{{ID: "m1", Status: status, ValidTo: day, OperationID: operation}}
	}
	there := at(nodes[1])
	must(t, there.Write(t.Context(), scope, memory.Write{
		Put: []memory.Memory{{
			ID: "m1", SessionID: "s1", Strategy: "salimory", Kind: memory.KindFact, Content: "Lives in Ghent.",
			Status: memory.StatusActive, Version: 1, RecordedAt: day, ValidFrom: day, Sources: []string{"t1"},
			Vector:        []float32{1, 0},
			PolicyVersion: "test/1", OperationID: "op",
		}},
		Core: core(1), Session: session(1, false),
		Turns: []memory.Turn{{ID: "t1", SessionID: "s1", Text: "I live in Ghent.", Time: day}},
	}))
	must(t, nodes[0].Kill())
	must(t, there.Write(t.Context(), scope, memory.Write{
		Close: closing(memory.StatusSuperseded, "first"), Core: emptied, Session: session(2, true),
		Turns: []memory.Turn{{ID: "t2", SessionID: "s1", Text: "I moved to Cork.", Time: day}},
	}))
	must(t, nodes[0].Restart(t.Context()))

	back := at(nodes[0])
	has, err := back.Count(t.Context(), scope)
	must(t, err)
	t.Logf("the node that was away counts %+v", has)
	if has.Core == 2 {
		t.Error("it has what it had missed: this shows nothing")
	}
	if got, err := back.Get(t.Context(), scope, "m1"); err != nil || got.Status != memory.StatusSuperseded {
		t.Errorf("the entry is %s (%v), want superseded", got.Status, err)
	}
	if got, err := back.Core(t.Context(), scope); err != nil || got.Version != 2 || got.Content != "" ||
		got.Sources != nil {
		t.Errorf("the core block is %+v (%v), want version 2, which is empty", got, err)
	}
	if got, _, err := back.Session(t.Context(), scope, "s1"); err != nil || got.Turns != 2 || !got.Closed {
		t.Errorf("the session is %+v (%v), want two turns and closed", got, err)
	}
	if got, err := back.Turns(t.Context(), scope, []string{"t1", "t2"}); err != nil || len(got) != 2 {
		t.Errorf("it has turns %+v (%v), want two", got, err)
	}
	must(t, back.Write(t.Context(), scope, memory.Write{Close: closing(memory.StatusRetracted, "second")}))
	if got, err := there.Get(t.Context(), scope, "m1"); err != nil || got.Status != memory.StatusSuperseded {
		t.Errorf("the entry is %s (%v), want it closed as it was first", got.Status, err)
	}
}

package memory_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestMetadataIsChecked(t *testing.T) {
	at := func(levels int) string { return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) }
	for raw, field := range map[string]string{
		`{"a":1,"b":-0.1,"c":1e20,"d":9007199254740992,"e":0.30,"f":"x","g":[1,[true]],"h":null}`: "",
		at(memory.MaxMetadataDepth):               "",
		at(memory.MaxMetadataDepth + 1):           "metadata.a.a.a.a.a",
		`{"a":9007199254740993}`:                  "metadata.a",
		`{"a":[0.1000000000000000000001]}`:        "metadata.a[0]",
		`{"a":1e999}`:                             "metadata.a",
		`{"a":1` + strings.Repeat("0", 500) + `}`: "metadata.a",
		`{"a":1e-999999999}`:                      "metadata.a",
		`{"a":0e999999999}`:                       "",
		`{"":1}`:                                  "metadata",
		`{"` + strings.Repeat("k", 129) + `":1}`:  "metadata",
		`{"a":"\u0000"}`:                          "metadata.a",
		`{"a":"` + strings.Repeat("<", memory.MaxMetadataBytes-8) + `"}`: "",
		`{"a":"` + strings.Repeat("<", memory.MaxMetadataBytes-7) + `"}`: "metadata",
		`[1]`: "metadata", `{`: "metadata", `{} {}`: "metadata",
	} {
		_, err := memory.ParseMetadata("metadata", []byte(raw))
		if field == "" && err != nil || field != "" && (!fault.IsTerminal(err) || fault.Field(err) != field) {
			t.Errorf("%.60s: got %v, want an error about %q", raw, err, field)
		}
	}
	if err := (memory.Attributes{RunID: strings.Repeat("r", 129)}).Validate("turn."); fault.Field(err) != "turn.run_id" {
		t.Errorf("got %v", err)
	}
}

func toldAt(id string, at int, a memory.Attributes) memory.Turn {
	return memory.Turn{ID: id, Time: now.Add(time.Duration(at) * time.Minute), Attributes: a}
}

func TestMemoriesCarryTheAttributesOfTheirTurns(t *testing.T) {
	first := memory.Attributes{Metadata: map[string]any{"colour": "red", "size": 1.0}, AgentID: "a1", AppID: "app"}
	second := memory.Attributes{Metadata: map[string]any{"colour": "blue", "size": nil}, AgentID: "a2"}
	ops := []memory.Operation{
		{Kind: memory.OpAdd, New: fresh("n1"), Sources: []string{"t2", "t1"}},
		{Kind: memory.OpAdd, New: fresh("n2"), Sources: []string{"t3"}},
	}
	ops[1].New.Attributes = first // copied from another entry by a former
	memory.Attribute(ops, []memory.Turn{toldAt("t2", 2, second), toldAt("t1", 1, first),
		toldAt("t3", 3, memory.Attributes{})})
	w, err := memory.Plan(ana, ops, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	want := memory.Attributes{Metadata: map[string]any{"colour": "blue"}, AgentID: "a2", AppID: "app"}
	if !reflect.DeepEqual(w.Put[0].Attributes, want) || !reflect.DeepEqual(w.Put[1].Attributes, memory.Attributes{}) {
		t.Errorf("got %+v and %+v, want %+v and none", w.Put[0].Attributes, w.Put[1].Attributes, want)
	}
	if first.Metadata["size"] != 1.0 || len(second.Metadata) != 2 {
		t.Errorf("the turns' metadata was changed: %v, %v", first.Metadata, second.Metadata)
	}
}

func TestNewVersionsKeepTheAttributesOfTheirPredecessors(t *testing.T) {
	old, other := stored("m1", 1), stored("m2", 1)
	old.Attributes = memory.Attributes{Metadata: map[string]any{"colour": "red", "size": 1.0, "old": true}, RunID: "r1",
		AliasOf: "alias"}
	other.Attributes = memory.Attributes{Metadata: map[string]any{"colour": "green"}, RunID: "r2"}
	other.ValidFrom = old.ValidFrom.Add(time.Minute)
	told := toldAt("t9", 9, memory.Attributes{Metadata: map[string]any{"size": 2.0, "old": nil}, AgentID: "a9"})
	for name, c := range map[string]struct {
		op   memory.Operation
		want memory.Attributes
	}{
		"update": {
			memory.Operation{Kind: memory.OpUpdate, Targets: []string{"m1"}},
			memory.Attributes{Metadata: map[string]any{"colour": "red", "size": 2.0}, RunID: "r1", AliasOf: "alias",
				AgentID: "a9"},
		},
		"anew": {
			memory.Operation{Kind: memory.OpUpdate, Targets: []string{"m1"}, Anew: true},
			memory.Attributes{Metadata: map[string]any{"colour": "red", "size": 2.0}, RunID: "r1", AliasOf: "alias",
				AgentID: "a9"},
		},
		"rest": {memory.Operation{Kind: memory.OpUpdate, Targets: []string{"m1"}, Rest: true}, old.Attributes},
		"merge": {
			memory.Operation{Kind: memory.OpMerge, Targets: []string{"m1", "m2"}},
			memory.Attributes{Metadata: map[string]any{"colour": "green", "size": 2.0}, RunID: "r2", AliasOf: "alias",
				AgentID: "a9"},
		},
	} {
		c.op.New, c.op.Sources = fresh("n"), []string{"t9"}
		ops := []memory.Operation{c.op}
		memory.Attribute(ops, []memory.Turn{told})
		w, err := memory.Plan(ana, ops, []memory.Memory{old, other}, now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(w.Put[0].Attributes, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, w.Put[0].Attributes, c.want)
		}
	}
}

func TestOlderKeysMakeRoomForNewerOnes(t *testing.T) {
	old := stored("m1", 1)
	old.Metadata = map[string]any{}
	for n := range 20 {
		old.Metadata[fmt.Sprintf("k%02d", n)] = strings.Repeat("x", 90)
	}
	told := toldAt("t9", 9, memory.Attributes{Metadata: map[string]any{"new": strings.Repeat("y", 1000)}})
	ops := []memory.Operation{{Kind: memory.OpUpdate, Targets: []string{"m1"}, New: fresh("n"), Sources: []string{"t9"}}}
	memory.Attribute(ops, []memory.Turn{told})
	w, err := memory.Plan(ana, ops, []memory.Memory{old}, now)
	if err != nil {
		t.Fatal(err)
	}
	got := w.Put[0].Metadata
	if err := memory.CheckMetadata("metadata", got); err != nil || got["new"] != told.Metadata["new"] ||
		got["k00"] == nil ||
		got["k19"] != nil {
		t.Errorf("got %d keys, %v", len(got), err)
	}
}

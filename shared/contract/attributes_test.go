package contract_test

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestFiltersRoundTrip(t *testing.T) {
	f, err := memory.ParseFilter([]byte(`{"and":[{"or":[{"field":"metadata.a.b","equals":"x"},{"field":"kind","in":["fact","episodic"]}]},
		{"not":{"field":"agent_id","exists":true}},{"field":"metadata.n","range":{"gte":-1.5,"lt":10}},{"field":"keywords","contains":"sea"},
		{"field":"metadata.ok","equals":true},{"field":"metadata.a","exists":false},
		{"field":"recorded_at","range":{"gt":"2024-01-01T00:00:00Z"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(contract.FilterToProto(f))
	if err != nil {
		t.Fatal(err)
	}
	var p mnemev1.Filter
	if err := proto.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	got, err := contract.FilterFrom(&p)
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("got %+v, %v, want %+v", got, err, f)
	}
	if got, err := contract.FilterFrom(nil); err != nil || !got.IsZero() || contract.FilterToProto(got) != nil {
		t.Errorf("no filter is %+v, %v", got, err)
	}
}

// Programs may send the id of a memory in upper case, as at other doors.
func TestAFilterFindsAnIDInUpperCase(t *testing.T) {
	const upper = "6FA459EA-EE8A-3CA4-894E-DB77E160355E"
	text := structpb.NewStringValue(upper)
	for name, c := range map[string]*mnemev1.Condition{
		"equals": {Field: "id", Test: &mnemev1.Condition_Equals{Equals: text}},
		"in": {Field: "id", Test: &mnemev1.Condition_In{In: &structpb.ListValue{
			Values: []*structpb.Value{structpb.NewStringValue("x"), text},
		}}},
	} {
		f, err := contract.FilterFrom(&mnemev1.Filter{Filter: &mnemev1.Filter_Condition{Condition: c}})
		if err != nil || !f.Match(memory.Memory{ID: strings.ToLower(upper)}) {
			t.Errorf("%s: got %+v, %v", name, f, err)
		}
		turn, err := contract.TurnFrom(&mnemev1.Turn{
			TurnId: "t1", Speaker: "Ana", Role: mnemev1.Role_ROLE_USER, Text: "Olá", Time: timestamppb.New(now), AliasOf: upper,
		}, "s1", now)
		if err != nil || !f.Match(memory.Memory{ID: "m1", Attributes: turn.Attributes}) {
			t.Errorf("%s, an alias: got %+v, %v", name, turn, err)
		}
	}
}

func TestFiltersThatAreRefused(t *testing.T) {
	condition := func(c *mnemev1.Condition) *mnemev1.Filter {
		return &mnemev1.Filter{Filter: &mnemev1.Filter_Condition{Condition: c}}
	}
	deep := condition(&mnemev1.Condition{Field: "kind", Test: &mnemev1.Condition_Exists{}})
	for range memory.MaxFilterDepth {
		deep = &mnemev1.Filter{Filter: &mnemev1.Filter_Not{Not: deep}}
	}
	for name, c := range map[string]struct {
		filter *mnemev1.Filter
		field  string
	}{
		"empty":     {&mnemev1.Filter{}, "filter"},
		"empty not": {&mnemev1.Filter{Filter: &mnemev1.Filter_Not{}}, "filter.not"},
		"empty and": {&mnemev1.Filter{Filter: &mnemev1.Filter_And{And: &mnemev1.Filters{}}}, "filter"},
		"no test":   {condition(&mnemev1.Condition{Field: "kind"}), "filter"},
		"null": {condition(&mnemev1.Condition{Field: "kind",
			Test: &mnemev1.Condition_Equals{Equals: structpb.NewNullValue()}}), "filter"},
		"field": {condition(&mnemev1.Condition{Field: "content", Test: &mnemev1.Condition_Exists{}}), "filter.field"},
		"deep":  {deep, "filter"},
	} {
		if f, err := contract.FilterFrom(c.filter); !fault.IsTerminal(err) || fault.Field(err) != c.field {
			t.Errorf("%s: got %+v, %v, want a terminal error about %s", name, f, err, c.field)
		}
	}
}

func TestAttributesOfTurnsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*mnemev1.Turn)
		field  string
	}{
		"alias":        {func(p *mnemev1.Turn) { p.AliasOf = "m1" }, "turn.alias_of"},
		"agent":        {func(p *mnemev1.Turn) { p.AgentId = " " }, "turn.agent_id"},
		"run":          {func(p *mnemev1.Turn) { p.RunId = "a\x00" }, "turn.run_id"},
		"hidden agent": {func(p *mnemev1.Turn) { p.AgentId = "a\u200b" }, "turn.agent_id"},
		"hidden app":   {func(p *mnemev1.Turn) { p.AppId = "a\u202eb" }, "turn.app_id"},
		"hidden run":   {func(p *mnemev1.Turn) { p.RunId = ".." }, "turn.run_id"},
		"long": {func(p *mnemev1.Turn) {
			p.Metadata, _ = structpb.NewStruct(map[string]any{"a": string(make([]byte, memory.MaxMetadataBytes))})
		}, "turn.metadata.a"},
	} {
		e := contract.SessionEvent{Envelope: envelope(), Turn: &memory.Turn{
			ID: "t1", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: "Olá", Time: now,
		}}
		value, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var p mnemev1.SessionEvent
		if err := proto.Unmarshal(value, &p); err != nil {
			t.Fatal(err)
		}
		c.change(p.GetTurn())
		if value, err = proto.Marshal(&p); err != nil {
			t.Fatal(err)
		}
		if _, err := contract.DecodeSessionEvent(e.Key(), value, now); !fault.IsTerminal(err) || fault.Field(err) != c.field {
			t.Errorf("%s: got %v, want a terminal error about %s", name, err, c.field)
		}
	}
}

// Ids of attributes that show are wanted of turns that come in. What older versions accepted stays readable.
func TestHiddenIDsOfAttributesAreRefusedOfNewTurns(t *testing.T) {
	turn := memory.Turn{
		ID: "t1", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: "Olá", Time: now,
		Attributes: memory.Attributes{AliasOf: "m\u200b1"},
	}
	if _, err := contract.TurnFrom(contract.TurnToProto(turn), "s1", now); !fault.IsTerminal(err) ||
		fault.Field(err) != "turn.alias_of" {
		t.Errorf("a new turn: got %v, want a terminal error about turn.alias_of", err)
	}
	turn.Attributes = memory.Attributes{AgentID: "a\u200b", AppID: "b\u200b", RunID: "c\u200b"}
	e := contract.SalientEvent{Envelope: envelope(), Turn: &turn}
	value, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := contract.DecodeSalientEvent(e.Key(), value, now); err != nil ||
		!reflect.DeepEqual(got.Turn.Attributes, turn.Attributes) {
		t.Errorf("a turn that was accepted before: got %+v, %v", got.Turn, err)
	}
}

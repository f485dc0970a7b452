package mcp_test

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestToolsTakeAttributesAndFilters(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	given := object{"user_id": "ines", "text": "I drink tea.", "run_id": "r1", "agent_id": "a1",
		"metadata": object{"colour": "red", "n": 2}}
	call(t, s, "add_memory", given)
	want := memory.Attributes{Metadata: map[string]any{"colour": "red", "n": 2.0}, AgentID: "a1", RunID: "r1"}
	if events := g.topic.take(); len(events) == 0 || !reflect.DeepEqual(events[0].Turn.Attributes, want) {
		t.Errorf("published %+v", events)
	}
	red := object{"field": "metadata.colour", "equals": "red"}
	colour := func(f *mnemev1.Filter) string { return f.GetCondition().GetEquals().GetStringValue() }
	for _, tool := range []string{"recall", "search_memories"} {
		call(t, s, tool, object{"user_id": "ines", "query": "tea", "filter": red})
		if got := colour(last[mnemev1.RecallRequest](t, g.behind).GetFilter()); got != "red" {
			t.Errorf("%s by %q", tool, got)
		}
	}
	call(t, s, "answer", object{"user_id": "ines", "query": "tea", "filter": red})
	if got := colour(last[mnemev1.AnswerRequest](t, g.behind).GetRecall().GetFilter()); got != "red" {
		t.Errorf("answer by %q", got)
	}
	call(t, s, "get_memories", object{"user_id": "ines", "filter": red})
	if got := colour(last[mnemev1.ListMemoriesRequest](t, g.behind).GetFilter()); got != "red" {
		t.Errorf("get_memories by %q", got)
	}
}

func TestAnUpdateOfMetadataIsATurnOfItsOwn(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	ids := map[string]bool{}
	for _, metadata := range []object{{"n": 1}, {"n": 1}, {"n": 2}} {
		call(t, s, "update_memory", object{"user_id": "ines", "memory_id": memoryID, "text": "I drink tea.",
			"metadata": metadata})
		turn := last[mnemev1.UpdateMemoryRequest](t, g.behind).GetTurn()
		if _, ok := turn.GetMetadata().GetFields()["n"].GetKind().(*structpb.Value_NumberValue); !ok {
			t.Errorf("updates by %v", turn)
		}
		ids[turn.GetTurnId()] = true
	}
	if len(ids) != 2 {
		t.Errorf("the turns are %v, want one for each content", ids)
	}
}

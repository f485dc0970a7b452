package mcp_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
)

// leftOut is the part of add_memory's answer about left-out messages.
type leftOut struct {
	TurnIDs []string `json:"turn_ids"`
	LeftOut []struct {
		Message       int
		Field, Detail string
	} `json:"left_out"`
}

func TestMessagesThatAreNotAcceptedAreLeftOut(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	long := strings.Repeat("x", memory.MaxTurnBytes+1)
	res := call(t, s, "add_memory", object{"user_id": "ines", "messages": []object{
		{"role": "user", "content": "I live in Braga."}, {"role": "assistant", "content": long},
		{"role": "narrator", "content": "x"},
		{"role": "user", "content": " "}, {"role": "user", "content": "x", "name": strings.Repeat("x", 129)},
		{"role": "user", "content": "x", "name": "Ana\r\nBen"}, {"role": "user", "content": []any{7}},
		{"role": "assistant", "content": nil, "refusal": 7},
		{"role": "user", "content": "I moved to Faro."},
	}})
	out := structure[leftOut](t, res)
	want := []string{
		"messages[1].content is 524289 bytes long, want at most 524288",
		`messages[2].role is "narrator", want user or assistant`,
		"messages[3].content is empty, want 1 to 524288 bytes", "messages[4].name is 129 bytes long, want at most 128",
		"messages[5].name contains a control or invisible character", "messages[6].content[0] is a number, want an object",
		"messages[7].refusal is a number, want text",
	}
	if len(out.LeftOut) != len(want) || len(out.TurnIDs) != 2 {
		t.Fatalf("got %+v", out)
	}
	for i, l := range out.LeftOut {
		if l.Message != i+1 || l.Field+" "+l.Detail != want[i] || !strings.Contains(textOf(res), l.Field) {
			t.Errorf("left out is %+v, want %s; the text %.300s", l, want[i], textOf(res))
		}
	}
	var said []string
	for _, e := range g.topic.take() {
		if e.Turn != nil {
			said = append(said, e.Turn.Text)
		}
	}
	if strings.Join(said, " ") != "I live in Braga. I moved to Faro." {
		t.Errorf("published %q", said)
	}
	for name, c := range map[string]struct {
		args object
		want string
	}{
		"no message": {object{"messages": []object{{"role": "narrator", "content": "x"}, {"role": "user", "content": long}}},
			"messages[0].role: is"},
		"a text":           {object{"text": long}, "text: is 524289 bytes long"},
		"a hidden session": {object{"text": "x", "run_id": "a\u202eb"}, "run_id: contains a control or invisible character"},
		"a hidden agent": {object{"text": "x", "agent_id": "a\u200b"},
			"agent_id: contains a control or invisible character"},
		"a user of dots": {object{"text": "x", "user_id": ".."}, `user_id: is ".."`},
	} {
		if c.args["user_id"] == nil {
			c.args["user_id"] = "ines"
		}
		res := call(t, s, "add_memory", c.args)
		if !res.IsError || !strings.HasPrefix(textOf(res), c.want) || len(g.topic.take()) > 0 {
			t.Errorf("%s: %t %.200s", name, res.IsError, textOf(res))
		}
	}
}

func TestALongMessageIsShortened(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	out := structure[struct {
		TurnIDs   []string `json:"turn_ids"`
		Shortened []struct {
			Message int
			By      int `json:"shortened_by"`
		}
	}](t, call(t, s, "add_memory", object{"user_id": "ines", "text": strings.Repeat("x", memory.MaxTurnBytes)}))
	if len(out.TurnIDs) != 1 || len(out.Shortened) != 1 || out.Shortened[0].By < memory.MaxTurnBytes-memory.MaxTextBytes {
		t.Errorf("got %+v", out)
	}
	if e := g.topic.take(); len(e) != 2 || len(e[0].Turn.Text) > memory.MaxTextBytes {
		t.Errorf("%d events", len(e))
	}
}

func TestTheMessagesOfChatCompletions(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	call1 := object{"role": "assistant", "content": nil, "tool_calls": []object{{"id": "c"}}}
	type silent struct {
		TurnIDs       []string `json:"turn_ids"`
		NotRemembered []struct {
			Message int
			Reason  string
		} `json:"not_remembered"`
	}
	out := structure[silent](t, call(t, s, "add_memory", object{"user_id": "ines", "messages": []object{
		{"role": "system", "content": "Be brief."}, call1, {"role": "tool", "content": "42", "tool_call_id": "c"},
		{"role": "user", "content": []object{{"type": "text", "text": "I swim."}, {"type": "image_url", "text": "a pool"}}},
	}}))
	if len(out.TurnIDs) != 1 || len(out.NotRemembered) != 3 || out.NotRemembered[2].Message != 2 ||
		out.NotRemembered[2].Reason == "" {
		t.Errorf("got %+v", out)
	}
	if e := g.topic.take(); len(e) != 2 || e[0].Turn.Text != "I swim." || e[0].Turn.Caption != "a pool" {
		t.Errorf("%d events", len(e))
	}
	alone := call(t, s, "add_memory", object{"user_id": "ines", "messages": []object{call1}})
	if out := structure[silent](t, alone); alone.IsError || len(out.NotRemembered) != 1 || len(g.topic.take()) > 0 {
		t.Errorf("a call alone: %s", textOf(alone))
	}
	wrong := call(t, s, "add_memory", object{"user_id": "ines",
		"messages": []object{{"role": "user", "content": []any{7}}}})
	if !wrong.IsError || !strings.HasPrefix(textOf(wrong), "messages[0].content[0]: is a number") {
		t.Errorf("a part that is none: %s", textOf(wrong))
	}
}

func TestAMessageWithoutAStatementRefusesNoOtherMessage(t *testing.T) {
	g := open(t)
	s := g.session(t, keyOfAll)
	type answer struct {
		leftOut
		NotRemembered []struct{ Message int } `json:"not_remembered"`
	}
	res := call(t, s, "add_memory", object{"user_id": "ines", "messages": []object{
		{"role": "assistant", "content": nil, "refusal": "I cannot help.", "audio": nil, "annotations": []any{},
			"function_call": nil, "tool_calls": nil},
		{"role": "assistant", "content": nil, "audio": object{"id": "a"}}, {"role": "tool", "content": object{"temp": 21}},
		{"role": "system", "content": []object{{"text": "Be brief."}}},
		{"role": "assistant", "content": nil, "function_call": object{"name": "f"}},
		{"role": "user", "content": []object{{"type": "text", "text": "See."},
			{"type": "image_url", "text": strings.Repeat("é", 2450)}}},
	}})
	if res.IsError {
		t.Fatal(textOf(res))
	}
	out := structure[answer](t, res)
	if len(out.TurnIDs) != 2 || len(out.LeftOut) != 1 || out.LeftOut[0].Field != "messages[1].content" ||
		len(out.NotRemembered) != 3 {
		t.Errorf("got %+v", out)
	}
	if e := g.topic.take(); len(e) != 3 || e[0].Turn.Text != "I cannot help." ||
		e[1].Turn.Caption != strings.Repeat("é", 2048) {
		t.Errorf("%d events", len(e))
	}
	none := call(t, s, "add_memory", object{"user_id": "ines", "messages": []object{
		{"role": "system", "content": "x"}, {"role": "user", "content": " "},
	}})
	if !none.IsError || !strings.HasPrefix(textOf(none), "messages[1].content: is empty") {
		t.Errorf("no message is acceptable: %s", textOf(none))
	}
}

package mem0_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestATimestampKeepsItsOffset(t *testing.T) {
	g := open(t)
	g.add(object{
		"messages": []any{object{"role": "user", "content": "I quit today."}}, "user_id": "ines",
		"timestamp": "2026-03-01T20:30:00-07:00",
	})
	if got := g.turnsOf("ines"); len(got) != 1 || got[0].Time.Format(time.RFC3339) != "2026-03-01T20:30:00-07:00" {
		t.Errorf("turns are %+v", got)
	}
}

func TestAddBecomesTurns(t *testing.T) {
	g := open(t)
	event := g.add(object{
		"messages": []any{
			object{"role": "system", "content": "Be kind."},
			object{"role": "user", "content": "I live in Porto.", "name": "Ines"}, nil,
			object{"role": "assistant", "content": "How nice!"},
			object{"role": "assistant", "content": nil, "tool_calls": []any{object{}}},
			object{"role": "user", "content": []any{object{"type": "text", "text": "And I like"},
				object{"type": "text", "text": "tea."}}},
			object{"role": "user", "content": object{"type": "text", "text": "Green tea."}},
		},
		"user_id": "ines", "run_id": "r1", "agent_id": "bot", "app_id": "shop", "timestamp": 1_700_000_000,
		"nobody_knows": []any{1},
		"metadata":     object{"source": "form"},
	})
	at := time.Unix(1_700_000_000, 0).UTC()
	want := []memory.Turn{
		{ID: event + "-0", SessionID: "r1", Speaker: "Ines", Role: memory.RoleUser, Text: "I live in Porto.", Time: at},
		{ID: event + "-1", SessionID: "r1", Speaker: "assistant", Role: memory.RoleAssistant, Text: "How nice!", Time: at},
		{ID: event + "-2", SessionID: "r1", Speaker: "user", Role: memory.RoleUser, Text: "And I like\ntea.", Time: at},
		{ID: event + "-3", SessionID: "r1", Speaker: "user", Role: memory.RoleUser, Text: "Green tea.", Time: at},
	}
	got := g.turnsOf("ines")
	if len(got) != len(want) {
		t.Fatalf("turns are %+v", got)
	}
	for i := range want {
		want[i].Attributes = memory.Attributes{AgentID: "bot", AppID: "shop", RunID: "r1", Metadata: object{"source": "form"}}
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("turn %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	for _, e := range g.events {
		if e.IdleAfter != 20*time.Second {
			t.Errorf("the session is closed after %s, want 20s: mem0's clients close none", e.IdleAfter)
		}
	}
}

func TestWhoseAnAdditionIs(t *testing.T) {
	for _, tt := range []struct {
		name          string
		body          object
		user, session string
	}{
		{"a user", object{"user_id": "ines"}, "ines", "mem0"},
		{"a user in filters", object{"filters": object{"user_id": "ines"}}, "ines", "mem0"},
		{"a user joined by AND", object{"filters": object{"AND": []object{{"user_id": "ines"}, {"run_id": "r"}}}}, "ines",
			"r"},
		{"the same twice", object{"user_id": "ines", "filters": object{"user_id": "ines"}}, "ines", "mem0"},
		{"a user and an agent", object{"user_id": "ines", "agent_id": "bot"}, "ines", "mem0"},
		{"an agent", object{"agent_id": "bot", "run_id": "r"}, "agent:bot", "r"},
		{"an app", object{"app_id": "shop"}, "app:shop", "mem0"},
		{"a run", object{"run_id": "r"}, "run:r", "r"},
		{"null is nobody", object{"user_id": nil, "agent_id": "bot"}, "agent:bot", "mem0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := open(t)
			tt.body["messages"] = says("x")
			g.add(tt.body)
			got := g.turnsOf(tt.user)
			if len(got) != 1 || got[0].SessionID != tt.session {
				t.Errorf("turns of %s are %+v", tt.user, got)
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	g := open(t)
	long := strings.Repeat("x", memory.MaxTurnBytes+1)
	for _, tt := range []struct {
		name   string
		body   any
		status int
		detail string
	}{
		{"no body", nil, 400, "user_id: is missing"},
		{"no JSON", "{", 400, "not valid JSON"},
		{"half a character", `{"messages":[{"role":"user","content":"cut \ud83d"}]}`, 400,
			"messages[0].content: has an escaped half"},
		{"two values", "{} {}", 400, "not valid JSON"},
		{"a list", "[]", 400, "the body is a list, want an object"},
		{"bytes", "{\"user_id\":\"\xff\"}", 400, "UTF-8"},
		{"depth", strings.Repeat("[", 100), 400, "too deep"},
		{"nobody", object{"messages": says("x")}, 400, "user_id: is missing"},
		{"a number for a user", object{"messages": says("x"), "user_id": 5}, 400, "user_id: is a number, want text"},
		{"all users", object{"messages": says("x"), "user_id": "*"}, 400, "user_id: is `*`"},
		{"an empty user", object{"messages": says("x"), "user_id": ""}, 400, "user_id: is empty"},
		{"a long user", object{"messages": says("x"), "user_id": strings.Repeat("x", 257)}, 400,
			"user_id: is 257 bytes long"},
		{"a long agent", object{"messages": says("x"), "agent_id": strings.Repeat("x", 129)}, 400,
			"agent_id: is 129 bytes long, want at most 128"},
		{"a long run", object{"messages": says("x"), "user_id": "i", "run_id": strings.Repeat("x", 129)}, 400,
			"run_id: is 129 bytes long"},
		{"two users", object{"messages": says("x"), "user_id": "i", "filters": object{"user_id": "j"}}, 400,
			"filters.user_id: has two different values"},
		{"filters that are none", object{"messages": says("x"), "filters": "user_id"}, 400,
			"filters: is text, want an object"},
		{"AND that is none", object{"messages": says("x"), "filters": object{"AND": []any{1}}}, 400,
			"filters.AND: is a number, want objects"},
		{"no messages", object{"user_id": "i"}, 400, "messages: has 0 messages"},
		{"many messages", object{"user_id": "i", "messages": says(make([]string, 201)...)}, 400,
			"messages: has 201 messages"},
		{"messages that are none", object{"user_id": "i", "messages": 5}, 400, "messages: is a number, want a list"},
		{"a message that is none", object{"user_id": "i", "messages": []any{"x"}}, 400,
			"messages[0]: is text, want an object"},
		{"no role", object{"user_id": "i", "messages": []object{{"content": "x"}}}, 400, "messages[0].role: is invalid"},
		{"a role that is none", object{"user_id": "i", "messages": []object{{"role": 1, "content": "x"}}}, 400,
			"messages[0].role: is a number"},
		{"no content", object{"user_id": "i", "messages": []object{{"role": "user"}}}, 400, "messages[0].content: is empty"},
		{"blank content", object{"user_id": "i", "messages": says(" \n")}, 400, "messages[0].content: is empty"},
		{"a hidden character in a user", object{"messages": says("x"), "user_id": "i\u200b"}, 400,
			"user_id: contains a control or invisible"},
		{"dots for a run", object{"messages": says("x"), "user_id": "i", "run_id": ".."}, 400, `run_id: is ".."`},
		{"long content", object{"user_id": "i", "messages": says(long)}, 400, "messages[0].content: is 524289 bytes long"},
		{"content that is none", object{"user_id": "i", "messages": []object{{"role": "user", "content": 1}}}, 400,
			"messages[0].content: is a number"},
		{"a long name", object{"user_id": "i", "messages": []object{{"role": "user", "content": "x",
			"name": strings.Repeat("x", 129)}}}, 400, "messages[0].name"},
		{"a picture alone", object{"user_id": "i",
			"messages": []object{{"role": "user", "content": object{"type": "image_url"}}}}, 400,
			"messages[0].content: is empty"},
		{"a part that is none", object{"user_id": "i", "messages": []object{{"role": "user", "content": []any{"x"}}}}, 400,
			"messages[0].content[0]: is text, want an object"},
		{"infer that is none", object{"user_id": "i", "messages": says("x"), "infer": "no"}, 400,
			"infer: is text, want true or false"},
		{"metadata that is none", object{"user_id": "i", "messages": says("x"), "metadata": []any{}}, 400,
			"metadata: is a list, want an object"},
		{"much metadata", object{"user_id": "i", "messages": says("x"), "metadata": object{"a": strings.Repeat("x", 2041)}},
			400, "metadata: has 2049 bytes as JSON, want at most 2048"},
		{"metadata that a double does not hold", object{"user_id": "i", "messages": says("x"),
			"metadata": object{"n": 12345678901234567}}, 400, "metadata.n: is a number that a double does not hold"},
		{"metadata that is reserved", object{"user_id": "i", "messages": says("x"), "metadata": object{"mem0_created_at": 1}},
			400, "metadata.mem0_created_at: is reserved"},
		{"a time that is none", object{"user_id": "i", "messages": says("x"), "timestamp": "soon"}, 400,
			"timestamp: is not a time"},
		{"a time before all", object{"user_id": "i", "messages": says("x"), "timestamp": -1}, 400,
			"timestamp: is not a time"},
		{"a time far off", object{"user_id": "i", "messages": says("x"), "timestamp": 33_000_000_000}, 400,
			"timestamp: is in the year 3015"},
		{"an enormous time", `{"user_id":"i","messages":"x","timestamp":1e999}`, 400, "timestamp: is not a time"},
		{"an end", object{"user_id": "i", "messages": says("x"), "expiration_date": "2027-01-01"}, 501,
			"expiration_date: memories do not expire"},
		{"verbatim, without a user", object{"user_id": "i", "infer": false,
			"messages": []object{{"role": "assistant", "content": "x"}}}, 400, "messages: has no message of a user"},
		{"verbatim, too many", object{"user_id": "i", "infer": false,
			"messages": says(strings.Split(strings.Repeat("x", 51), "")...)}, 400, "want at most 50"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g.t = t
			g.call("ALL", "POST", "/v3/memories/add/", tt.body).refused(tt.status, tt.detail)
		})
	}
	g.t = t
	if left := g.turnsOf("i"); len(left) != 0 || len(g.redis.Keys()) != 0 {
		t.Errorf("kept turns %v and keys %v", left, g.redis.Keys())
	}
	g.call("ALL", "POST", "/v3/memories/add/", `{"user_id":"i","messages":"`+strings.Repeat("x", 8<<20)+
		`"}`).refused(http.StatusRequestEntityTooLarge, "too large")
}

func TestAddLeavesOutMessagesThatAreNotAccepted(t *testing.T) {
	long := strings.Repeat("x", memory.MaxTurnBytes+1)
	for _, infer := range []bool{true, false} {
		g := open(t)
		got := g.do("POST", "/v3/memories/add/", object{"user_id": "i", "infer": infer, "messages": []any{
			object{"role": "user", "content": "I live in Braga."}, object{"role": "assistant", "content": long},
			object{"role": "narrator", "content": "x"},
			object{"role": "user", "content": " "}, object{"role": "user", "content": object{"type": "image_url"}},
			object{"role": "user", "content": "I moved.", "name": "Ana\nBen"},
			object{"role": "user", "content": "I moved to Faro."},
			object{"role": "user", "content": 7}, object{"role": 7, "content": "x"}, "x",
		}}).object()
		said, _ := got["message"].(string)
		list, _ := got["left_out"].([]any)
		want := []struct{ field, detail string }{
			{"messages[1].content", "is 524289 bytes long, want at most 524288"},
			{"messages[2].role", "is invalid, want user, assistant, system, developer, tool or function"},
			{"messages[3].content", "is empty, want 1 to 524288 bytes"},
			{"messages[4].content", "is empty, want 1 to 524288 bytes"},
			{"messages[5].name", "contains a control or invisible character"}, {"messages[7].content", "is a number, want text"},
			{"messages[8].role", "is a number"}, {"messages[9]", "is text, want an object"},
		}
		for i, w := range want {
			if len(list) != len(want) {
				t.Fatalf("left out are %v", list)
			}
			left, _ := list[i].(object)
			detail, _ := left["detail"].(string)
			if left["field"] != w.field || !strings.HasPrefix(detail, w.detail) ||
				!strings.HasPrefix(w.field, fmt.Sprintf("messages[%v]", left["message"])) ||
				!strings.Contains(said, w.field+": "+w.detail) {
				t.Errorf("left out is %v, the message %q", left, said)
			}
		}
		texts := []string{}
		for _, turn := range g.turnsOf("i") {
			texts = append(texts, turn.Text)
		}
		if infer && strings.Join(texts, " ") != "I live in Braga. I moved to Faro." {
			t.Errorf("turns are %q", texts)
		}
		if results, _ := got["results"].([]any); !infer && len(results) != 2 {
			t.Errorf("stored are %v", results)
		}
	}
}

func TestAddShortensALongMessage(t *testing.T) {
	g := open(t)
	long := strings.Repeat("x", memory.MaxTurnBytes)
	got := g.do("POST", "/v3/memories/add/", object{"user_id": "i", "messages": says("I live in Braga.", long)}).object()
	list, _ := got["shortened"].([]any)
	if len(list) != 1 || list[0].(object)["message"] != 1.0 ||
		!strings.Contains(got["message"].(string), "Message 1 is shortened by") {
		t.Errorf("answer is %v", got)
	}
	if turns := g.turnsOf("i"); len(turns) != 2 || len(turns[1].Text) > memory.MaxTextBytes {
		t.Errorf("%d turns", len(turns))
	}
	verbatim := object{"user_id": "i", "infer": false, "messages": says("I live in Braga.", long)}
	got = g.do("POST", "/v3/memories/add/", verbatim).object()
	if results, left := got["results"].([]any), got["left_out"].([]any); len(results) != 1 || len(left) != 1 {
		t.Errorf("verbatim: %v", got)
	}
}

func TestAddTakesTheMessagesOfChatCompletions(t *testing.T) {
	g := open(t)
	call := object{"role": "assistant", "content": nil, "tool_calls": []object{{"id": "c"}}}
	got := g.do("POST", "/v3/memories/add/", object{"user_id": "i", "messages": []any{
		object{"role": "developer", "content": "Be brief."}, call,
		object{"role": "tool", "tool_call_id": "c", "content": "42"},
		object{"role": "user", "content": []object{
			{"type": "text", "text": "I swim."}, {"type": "image_url", "image_url": object{"url": "data:x"}, "text": "a pool"},
			{"type": "input_text", "text": "Daily."},
		}},
	}}).object()
	if list, _ := got["not_remembered"].([]any); len(list) != 3 || list[2].(object)["message"] != 2.0 ||
		got["status"] != "PENDING" {
		t.Errorf("answer is %v", got)
	}
	if turns := g.turnsOf("i"); len(turns) != 1 || turns[0].Text != "I swim.\nDaily." || turns[0].Caption != "a pool" {
		t.Errorf("turns are %+v", turns)
	}
	for _, infer := range []bool{true, false} {
		got = g.do("POST", "/v3/memories/add/", object{"user_id": "i", "infer": infer, "messages": []any{call}}).object()
		id, _ := got["event_id"].(string)
		if e := g.do("GET", "/v1/event/"+id+"/", nil).object(); got["status"] != "SUCCEEDED" || e["status"] != "SUCCEEDED" {
			t.Errorf("a call alone: %v, the event %v", got, e)
		}
	}
}

func TestAddTakesOtherMessagesBesideOneWithoutAStatement(t *testing.T) {
	for _, infer := range []bool{true, false} {
		g := open(t)
		got := g.do("POST", "/v3/memories/add/", object{"user_id": "i", "infer": infer, "messages": []any{
			object{"role": "assistant", "content": nil, "refusal": "I cannot help."},
			object{"role": "assistant", "content": nil, "tool_calls": []any{}},
			object{"role": "tool", "content": object{"temp": json.Number("21e999")}},
			object{"role": "assistant", "content": "", "function_call": object{"name": "f"}},
			object{"role": "user", "content": "See."}, object{"role": "user", "content": []object{
				{"type": "text", "text": "Look."}, {"type": "image_url", "text": strings.Repeat("é", 2450)},
			}},
		}}).object()
		left, _ := got["left_out"].([]any)
		silent, _ := got["not_remembered"].([]any)
		if len(left) != 1 || left[0].(object)["field"] != "messages[1].content" || len(silent) != 2 {
			t.Errorf("answer is %v", got)
		}
		turns := g.turnsOf("i")
		if infer && (len(turns) != 3 || turns[0].Text != "I cannot help." || turns[2].Caption != strings.Repeat("é", 2048)) {
			t.Errorf("turns are %+v", turns)
		}
		if results, _ := got["results"].([]any); !infer && len(results) != 2 {
			t.Errorf("stored are %v", results)
		}
	}
	g := open(t)
	silent := object{"role": "system", "content": "Be brief."}
	for _, wrong := range []any{object{"role": "user", "content": " "}, object{"role": "user", "content": "x\x00"}} {
		body := object{"user_id": "i", "messages": []any{silent, wrong}}
		g.call("ALL", "POST", "/v3/memories/add/", body).refused(http.StatusBadRequest, "messages[1].content: ")
	}
}

func TestAddSaysWhatItDoesNot(t *testing.T) {
	g := open(t)
	got := g.do("POST", "/v3/memories/add/", object{
		"messages": append(says("x"), object{"role": "tool", "content": "42"}), "user_id": "i",
		"custom_instructions": "only food", "expiration_date": nil,
		"custom_categories": []object{{"food": "what is eaten"}}, "immutable": true,
	}).object()["message"].(string)
	for _, want := range []string{"Message 1 is not remembered: calls and results of tools",
		"custom_instructions does nothing here", "custom_categories does nothing", "immutable does"} {
		if !strings.Contains(got, want) {
			t.Errorf("message is %q, want %q", got, want)
		}
	}
}

func TestAddVerbatim(t *testing.T) {
	g := open(t)
	got := g.do("POST", "/v3/memories/add/", object{
		"messages": append(says("I like tea.", "I live in Porto."), object{"role": "assistant", "content": "Good."}),
		"user_id":  "ines", "infer": false, "metadata": object{"from": "form"}, "timestamp": 1_700_000_000,
	})
	if got.object()["status"] != "SUCCEEDED" || got.said() != "I like tea. | I live in Porto." {
		t.Errorf("answer is %s", got.body)
	}
	asked := last[*mnemev1.AddMemoryRequest](g)
	if asked.GetUserId() != "ines" || asked.GetSessionId() != "mem0" ||
		asked.GetTurn().GetTime().AsTime().Unix() != 1_700_000_000 {
		t.Errorf("asked for %v", asked)
	}
	m := g.do("POST", "/v3/memories/", object{"filters": object{"user_id": "ines"}}).results()[0]
	if m["metadata"].(object)["from"] != "form" || m["created_at"] != "2023-11-14T22:13:20Z" {
		t.Errorf("the memory is %v", m)
	}
	id, _ := got.object()["event_id"].(string)
	if e := g.do("GET", "/v1/event/"+id+"/", nil); e.object()["status"] != "SUCCEEDED" ||
		e.said() != "I like tea. | I live in Porto." {
		t.Errorf("the event is %s", e.body)
	}
	if len(g.turnsOf("ines")) != 0 {
		t.Error("turns are put in, too")
	}
}

func TestAddVerbatimThatFails(t *testing.T) {
	g := open(t)
	for _, tt := range []struct {
		texts  []string
		detail string
		events int
	}{
		{[]string{"unwritable"}, "messages[0]", 0},
		{
			[]string{"I like tea.", "unwritable"}, "messages[1]: the addition is accepted, but not done yet (the 1 before it are stored)", 1,
		},
	} {
		g.call("ALL", "POST", "/v3/memories/add/", object{"messages": says(tt.texts...), "user_id": "ines", "infer": false}).
			refused(http.StatusServiceUnavailable, tt.detail)
		if got := g.do("GET", "/v1/events/", nil).results(); len(got) != tt.events {
			t.Errorf("events are %v", got)
		}
	}
}

func TestAddThatIsNotPublished(t *testing.T) {
	g := open(t)
	g.refusing = errors.New("kafka-0.internal:9092 is away")
	got := g.call("ALL", "POST", "/v3/memories/add/",
		object{"messages": says("x"), "user_id": "ines", "metadata": object{"a": 1}})
	got.refused(http.StatusInternalServerError, "an internal error")
	if strings.Contains(got.body, "kafka") || !strings.Contains(g.log.String(), "kafka-0.internal:9092 is away") {
		t.Errorf("told %s, logged %s", got.body, g.log)
	}
	if got := g.do("GET", "/v1/events/", nil).results(); len(got) != 0 {
		t.Errorf("events are %v", got)
	}
}

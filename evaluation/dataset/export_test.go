package dataset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
)

// chatGPT is an export with a second answer that the user did not keep, instructions, a tool and a picture.
const chatGPT = `[{"title":"Kayak","create_time":1767260000.5,"conversation_id":"c-1","current_node":"d","mapping":{
	"root":{"id":"root","parent":null,"children":["s"],"message":null},
	"s":{"parent":"root","children":["a"],"message":{"author":{"role":"system"},"content":{"content_type":"text","parts":["Be brief."]}}},
	"a":{"parent":"s","children":["b","c"],"message":{"author":{"role":"user"},"create_time":1767261600,
		"content":{"content_type":"multimodal_text","parts":[{"asset_pointer":"x"},"I keep a kayak in the shed."]}}},
	"b":{"parent":"a","children":[],"message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["An old answer."]}}},
	"c":{"parent":"a","children":["t"],"message":{"author":{"role":"assistant"},"create_time":1767261660,
		"content":{"content_type":"text","parts":["How long is it?"]}}},
	"t":{"parent":"c","children":["e"],"message":{"author":{"role":"tool"},"content":{"content_type":"text","parts":["42"]}}},
	"e":{"parent":"t","children":["d"],"message":{"author":{"role":"assistant"},"content":{"content_type":"thoughts"}}},
	"d":{"parent":"e","children":[],"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["Five metres."]}}}}},
	{"title":"empty","conversation_id":"c-2","current_node":"r","mapping":{"r":{"parent":null,"message":null}}}]`

func TestChatExportsAreRead(t *testing.T) {
	began := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	claude := `[{"uuid":"k-1","name":"Kayak","created_at":"2026-01-01T09:00:00.123Z","chat_messages":[
		{"uuid":"m1","sender":"human","text":"I keep a kayak in the shed.","created_at":"2026-01-01T10:00:00Z",
			"content":[{"type":"text","text":"I keep a kayak in the shed."}]},
		{"uuid":"m2","sender":"assistant","text":"How long is it?","created_at":"2026-01-01T10:01:00Z"},
		{"uuid":"m3","sender":"assistant","text":"","content":[{"type":"tool_use","name":"f"}]},
		{"uuid":"m4","sender":"human","text":"Five metres.","created_at":"2026-01-01T10:02:00Z"}]}]`
	openAI := `{"role":"system","content":"Be brief."},
		{"role":"user","content":[{"type":"text","text":"I keep a kayak in the shed."},{"type":"image_url"}]},
		{"role":"assistant","content":"How long is it?"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]},{"role":"assistant","content":""},
		{"role":"user","content":"Five metres."}`
	langChain := `[{"type":"system","data":{"content":"Be brief."}},{"type":"human","data":{"content":"I keep a kayak in the shed."}},
		{"type":"ai","data":{"content":"How long is it?","type":"ai"}},{"type":"human","data":{"content":"Five metres."}}]`
	for name, c := range map[string]struct {
		in, session   string
		silent, empty int
	}{
		"ChatGPT": {chatGPT, "c-1", 2, 1},
		"one of ChatGPT": {strings.TrimSpace(chatGPT[1:strings.Index(chatGPT, `,
	{"title":"empty"`)]), "c-1", 2, 1},
		"Claude":                  {claude, "k-1", 0, 1},
		"OpenAI":                  {"[" + openAI + "]", "chat-", 2, 1},
		"OpenAI's fine-tuning":    {`{"messages":[` + strings.ReplaceAll(openAI, "\n", " ") + "]}\n", "chat-", 2, 1},
		"LangChain":               {langChain, "chat-", 1, 0},
		"LangChain with its type": {strings.ReplaceAll(langChain, `"human"`, `"HumanMessage"`), "chat-", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sessions, repairs, err := dataset.Read(strings.NewReader(c.in), dataset.ReadOptions{User: "ana", Began: began})
			if err != nil || len(sessions) != 1 || len(sessions[0].Turns) != 3 {
				t.Fatalf("read %+v, %v", sessions, err)
			}
			if repairs.Silent != c.silent || repairs.Empty != c.empty {
				t.Errorf("skipped %+v, want %d silent and %d empty", repairs, c.silent, c.empty)
			}
			s, said := sessions[0], ""
			last := time.Time{}
			for _, turn := range s.Turns {
				said += fmt.Sprintf("%s: %s|", turn.Role, turn.Text)
				if turn.Time.Before(began) || !turn.Time.After(last) || turn.Time.After(began.Add(time.Hour)) ||
					turn.SessionID != s.ID {
					t.Errorf("turn %+v", turn)
				}
				last = turn.Time
			}
			if want := "user: I keep a kayak in the shed.|assistant: How long is it?|user: Five metres.|"; said != want ||
				s.User != "ana" ||
				!strings.HasPrefix(s.ID, c.session) {
				t.Errorf("session %s of %s: %s", s.ID, s.User, said)
			}
		})
	}
}

// A longer conversation has the same ids, so a repeated import adds only the new turns.
func TestALongerExportKeepsItsIDs(t *testing.T) {
	first := `{"role":"user","content":"I swim."},{"role":"assistant","content":"Where?"}`
	var ids [2]string
	for i, in := range []string{"[" + first + "]", "[" + first + `,{"role":"user","content":"In the lake."}]`} {
		sessions, _, err := dataset.Read(strings.NewReader(in),
			dataset.ReadOptions{User: "ana", Began: time.Unix(int64(1e9*(i+1)), 0)})
		if err != nil || len(sessions) != 1 {
			t.Fatal(err)
		}
		ids[i] = sessions[0].ID + sessions[0].Turns[1].ID
	}
	if ids[0] != ids[1] {
		t.Errorf("ids %v", ids)
	}
}

func TestWrongExportsAreRefused(t *testing.T) {
	for in, want := range map[string]string{
		`[{"role":"user","content":7}]`:                                              "messages[0].content",
		`[{"role":"narrator","content":"x"}]`:                                        "messages[0].role",
		`[{"mapping":{"a":{}},"current_node":"b"}]`:                                  "current_node",
		`[{"chat_messages":[{"sender":"human","text":"x"}]},7]`:                      "item 1 of Claude's export",
		`[{"role":"user","content":"x"}`:                                             "not a readable",
		`[{"question_id":"q","haystack_sessions":[],"question":"x"}]`:                "LongMemEval's file, which has questions",
		`{"mapping":{"a":{"parent":"a","message":null}},"current_node":"a"}` + "\n{": "item 1",
	} {
		if _, _, err := dataset.Read(strings.NewReader(in), dataset.ReadOptions{User: "ana"}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}

// Lines without a statement are skipped and counted.
func TestLinesWithoutAStatementAreSkipped(t *testing.T) {
	line := func(fields string) string {
		return `{"user_id":"u","session_id":"s","time":"2026-01-01T00:00:00Z",` + fields + "}\n"
	}
	in := line(`"role":"system","text":"Be brief."`) + line(`"role":"assistant","text":" "`) +
		line(`"role":"user","text":"","caption":"a red canoe"`) +
		line(`"role":"user","text":"I swim."`) + line(`"role":"Developer","text":"x"`)
	sessions, repairs, err := dataset.Read(strings.NewReader(in), dataset.ReadOptions{})
	if err != nil || len(sessions) != 1 || len(sessions[0].Turns) != 2 || repairs.Silent != 2 || repairs.Empty != 1 ||
		sessions[0].Turns[0].Text != "a red canoe" || sessions[0].Turns[0].Caption != "" {
		t.Errorf("read %+v, %+v, %v", sessions, repairs, err)
	}
}

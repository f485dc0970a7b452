package dataset_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestReadLines(t *testing.T) {
	sessions, err := read(strings.NewReader(`
{"user_id":"ana","session_id":"s1","text":"Hello","time":"2026-01-02T10:00:00Z"}
{"user_id":"ben","session_id":"s1","speaker":"Ben","role":"user","turn_id":"t9","text":"Hi","time":"2026-01-02T10:00:30+01:00"}

{"user_id":"ana","session_id":"s1","role":"assistant","text":"Good day","time":"2026-01-02T10:01:00Z","agent_id":"a1","metadata":{"n":1}}
{"user_id":"ana","session_id":"s1","closed":true,"time":"2026-01-02T11:00:00Z"}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(sessions) != 2 || len(sessions[0].Turns) != 2 {
		t.Fatalf("read %+v, want two sessions, the first of two turns", sessions)
	}
	first, second, ben := sessions[0].Turns[0], sessions[0].Turns[1], sessions[1].Turns[0]
	if !strings.HasPrefix(first.ID, "s1:") || first.ID == second.ID || first.Speaker != "user" ||
		first.Role != memory.RoleUser {
		t.Errorf("defaults of %+v: want an id of the session, speaker and role user", first)
	}
	if second.Role != memory.RoleAssistant || second.AgentID != "a1" || second.Metadata["n"] != 1.0 ||
		first.Metadata != nil {
		t.Errorf("second turn is %+v", second)
	}
	if ben.ID != "t9" || ben.Speaker != "Ben" || ben.Time.Format(time.RFC3339) != "2026-01-02T10:00:30+01:00" {
		t.Errorf("given fields of %+v: want them kept, the time in its offset", ben)
	}
	if got := sessions[0].End(); got.Hour() != 11 {
		t.Errorf("ends at %s, want the closing line's time", got)
	}
	if got := sessions[1].End(); !got.After(ben.Time) {
		t.Errorf("ends at %s, want after the last turn", got)
	}
}

// A turn without an id gets the same id in every file. Another turn never gets this id.
func TestMadeIDsFollowTheTurn(t *testing.T) {
	read := func(in string) []memory.Turn {
		t.Helper()
		sessions, err := read(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		return sessions[0].Turns
	}
	const hello = `{"user_id":"u","session_id":"s","text":"Hello","time":"2026-01-02T10:00:00Z"}`
	const pilot = `{"user_id":"u","session_id":"s","text":"I am a pilot","time":"2026-01-02T10:00:00Z"}`
	both, alone := read("\xef\xbb\xbf"+hello+"\r\n"+pilot), read(pilot)
	if both[0].ID == both[1].ID || both[1].ID != alone[0].ID {
		t.Errorf("ids %q and %q, and %q in a file of its own", both[0].ID, both[1].ID, alone[0].ID)
	}
}

func TestReadLoCoMo(t *testing.T) {
	sessions, err := read(strings.NewReader(`[{"sample_id":"conv-x","qa":[],"conversation":{
		"speaker_a":"Kim","speaker_b":"Lee",
		"session_10_date_time":"12:05 am on 3 June, 2023","session_10":[{"speaker":"Lee","dia_id":"D10:1","text":"Later"}],
		"session_2_date_time":"1:56 PM on 8 May, 2023","session_2":[
			{"speaker":"Kim","dia_id":"D2:1","text":"Look!","blip_caption":"a red kite"},{"speaker":"Lee","dia_id":"D2:2","text":"Nice"}],
		"session_3_date_time":"1:00 pm on 9 May, 2023"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	if len(sessions) != 2 || sessions[0].ID != "session_2" || sessions[1].ID != "session_10" {
		t.Fatalf("read %+v, want sessions 2 and 10 in order of number", sessions)
	}
	first, second := sessions[0].Turns[0], sessions[0].Turns[1]
	if first.Caption != "a red kite" || sessions[0].User != "conv-x" {
		t.Errorf("first turn is %+v", first)
	}
	if want := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC); !first.Time.Equal(want) || !second.Time.After(first.Time) {
		t.Errorf("times %s and %s, want %s and later", first.Time, second.Time, want)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ in, names string }{
		"nothing":         {" \n", "empty"},
		"text":            {"hello\n", "unknown format; want JSON lines of turns"},
		"a WhatsApp chat": {"12/05/2026, 09:14 - Ana: Hi, all\n", "a WhatsApp chat; want"},
		"a Slack export":  {`[{"type":"message","user":"U1","text":"hi","ts":"1710000000.000100"}]`, "a Slack export; want"},
		"a table":         {"id,sender,text\n1,ana,hi\n", "a table such as CSV; want"},
		"a time of SQL": {
			`{"user_id":"u","session_id":"s","text":"x","time":"2026-01-01 10:00:00"}`,
			"time is 2026-01-01 10:00:00, want RFC 3339",
		},
		"no user":         {`[{"role":"user","content":"I swim."}]`, "names no user"},
		"missing user":    {`{"session_id":"s","text":"x","time":"2026-01-01T00:00:00Z"}`, "user_id"},
		"missing session": {`{"user_id":"u","text":"x","time":"2026-01-01T00:00:00Z"}`, "session_id"},
		"missing time":    {`{"user_id":"u","session_id":"s","text":"x"}`, "time"},
		"unknown role": {`{"user_id":"u","session_id":"s","role":"robot","text":"x","time":"2026-01-01T00:00:00Z"}`,
			"robot"},
		"inexact number": {
			`{"user_id":"u","session_id":"s","text":"x","time":"2026-01-01T00:00:00Z","metadata":{"n":9007199254740993}}`,
			"line 1: metadata.n",
		},
		"unknown field": {`{"user_id":"u","session_id":"s","txt":"x","time":"2026-01-01T00:00:00Z"}`, "txt"},
		"invalid UTF-8": {
			"{\"user_id\":\"u\",\"session_id\":\"s\",\"text\":\"a\xff\",\"time\":\"2026-01-01T00:00:00Z\"}", "UTF-8",
		},
		"two on a line": {`{"user_id":"u","session_id":"s","text":"x","time":"2026-01-01T00:00:00Z"} {}`,
			"more than one"},
		"second line": {`{"user_id":"u","session_id":"s","text":"x","time":"2026-01-01T00:00:00Z"}` + "\n{", "line 2"},
		"closed with text": {`{"user_id":"u","session_id":"s","closed":true,"text":"x","time":"2026-01-01T00:00:00Z"}`,
			"closed"},
		"other list":      {`[{"a":1}]`, "unknown format"},
		"truncated list":  {`[{"sample_id":`, "unknown format"},
		"undated session": {`[{"sample_id":"x","conversation":{"session_1":[]}}]`, "session_1_date_time"},
		"misdated session": {`[{"sample_id":"x","conversation":{"session_1":[],"session_1_date_time":"yesterday"}}]`,
			"session_1_date_time"},
		"session not a list": {
			`[{"sample_id":"x","conversation":{"session_1":3,"session_1_date_time":"1:56 pm on 8 May, 2023"}}]`, "session_1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(strings.NewReader(tc.in))
			if !errors.Is(err, dataset.ErrFormat) || !strings.Contains(err.Error(), tc.names) {
				t.Fatalf("error %v, want a format error that names %q", err, tc.names)
			}
		})
	}
}

func TestTheBundledSampleReads(t *testing.T) {
	f, err := os.Open("../../local/cli/sample/sessions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sessions, err := read(f)
	if err != nil || len(sessions) != 12 {
		t.Fatalf("read %d sessions, error %v; want 12", len(sessions), err)
	}
}

// read reads a file without options.
func read(r io.Reader) ([]dataset.Session, error) {
	sessions, _, err := dataset.Read(r, dataset.ReadOptions{})
	return sessions, err
}

func FuzzRead(f *testing.F) {
	f.Add(`{"user_id":"u","session_id":"s","text":"x","time":"2026-01-01T00:00:00Z"}`)
	f.Add(`[{"sample_id":"x","conversation":{"session_1":[{"speaker":"a"}],"session_1_date_time":"1:56 pm on 8 May, 2023"}}]`)
	f.Fuzz(func(t *testing.T, in string) {
		sessions, err := read(strings.NewReader(in))
		if err != nil && sessions != nil {
			t.Fatal("an error came with sessions")
		}
	})
}

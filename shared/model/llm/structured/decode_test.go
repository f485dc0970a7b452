package structured_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// verdict is a small answer.
type verdict struct {
	Word  string   `json:"word" enum:"yes|no"`
	Score float64  `json:"score"`
	Tags  []string `json:"tags,omitempty"`
}

var verdictSchema = structured.SchemaOf[verdict]("verdict")

const good = `{"word":"yes","score":0.5,"tags":[]}`

func TestDecodeFindsTheObjectThatFits(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		want   string // the word; empty for a rejected answer
	}{
		"plain":                   {good, "yes"},
		"fenced":                  {"```json\n" + good + "\n```", "yes"},
		"thinking aloud first":    {`I considered {"word":"no"} at first, but: ` + good, "yes"},
		"braces in strings":       {`see: {"word":"yes","score":1,"tags":["}{\"","{"]} done`, "yes"},
		"an unbalanced brace":     {`oh {dear, ` + good, "yes"},
		"two that fit":            {`{"word":"no","score":1} or ` + good, ""},
		"the same one twice":      {good + " or rather\n" + `{"score":0.5,"word":"yes","tags":[]}`, "yes"},
		"inside an array":         {`[` + good + `]`, ""},
		"a number in quotes":      {`{"word":"yes","score":"0.5"}`, "yes"},
		"words for a number":      {`{"word":"yes","score":"high"}`, ""},
		"no number in quotes":     {`{"word":"yes","score":"NaN"}`, ""},
		"not closed":              {`here: {"word":"yes","score":1`, ""},
		"nothing":                 {"", ""},
		"duplicate key, last one": {`{"word":"no","word":"yes","score":1}`, "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			var v verdict
			err := structured.Decode(verdictSchema, tc.answer, &v)
			if (err != nil) != (tc.want == "") || (err == nil && v.Word != tc.want) {
				t.Errorf("got %+v and %v, want %q", v, err, tc.want)
			}
		})
	}
}

// Many opening braces do not cost a pass over the answer each.
func TestDecodeIsBounded(t *testing.T) {
	var v verdict
	if err := structured.Decode(verdictSchema, strings.Repeat("{", 1<<20), &v); err == nil {
		t.Error("accepted")
	}
}

// An accepted answer fits the schema. The error of a rejected answer quotes nothing of it.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		good, "x " + good + " y", `{"word":"yes"}`, `{"word":{"a":1},"score":1}`, `{{{}`, `{"a":"\"}"}`, "```json\n" + good,
		`null`,
		`{"score":1e999,"word":"no"}`, "{\"word\":\"no\",\"score\":0,\"tags\":[\"\\ud800\"]}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		var v verdict
		if err := structured.Decode(verdictSchema, answer, &v); err != nil {
			if len(answer) > 40 && strings.Contains(err.Error(), answer) {
				t.Errorf("the error quotes the answer: %v", err)
			}
			return
		}
		if v.Word != "yes" && v.Word != "no" {
			t.Errorf("accepted the word %q", v.Word)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var w verdict
		if err := structured.Decode(verdictSchema, "so: "+string(again)+".", &w); err != nil || w.Word != v.Word ||
			w.Score != v.Score {
			t.Errorf("%s is read back as %+v, error %v", again, w, err)
		}
	})
}

package structured_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

type nested struct {
	Flag  bool    `json:"flag" desc:"yes or \"no\""`
	Items []inner `json:"items"`
}

type inner struct {
	N int `json:"n"`
}

func TestSchemaIsStrictAndInOrder(t *testing.T) {
	s := structured.SchemaOf[nested]("nested")
	const want = `{"type":"object","properties":{"flag":{"type":"boolean","description":"yes or \"no\""},"items":{"type":"array","items":` +
		`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}}},` +
		`"required":["flag","items"],"additionalProperties":false}`
	if s.String() != want {
		t.Errorf("schema is %s\nwant %s", s, want)
	}
	if out, err := json.Marshal(map[string]any{"schema": s}); err != nil || string(out) != `{"schema":`+want+`}` {
		t.Errorf("encoded %s, error %v", out, err)
	}
}

func TestFaultsNameThePlaceAndQuoteNothing(t *testing.T) {
	s := structured.SchemaOf[nested]("nested")
	for answer, want := range map[string]string{
		`{"flag":"SECRET","items":[]}`:              "$.flag: want true or false",
		`{"flag":true,"items":{"SECRET":1}}`:        "$.items: want an array",
		`{"flag":true,"items":["SECRET"]}`:          "$.items[0]: want an object",
		`{"flag":true,"items":[{"n":1},{}]}`:        "$.items[1].n: is missing",
		`{"flag":true,"items":[{"n":1.5}]}`:         "$.items[0].n: want a JSON integer",
		`{"flag":true,"items":[{"n":99999999999}]}`: "$.items[0].n: want a JSON integer",
		`"SECRET"`: "$: want an object",
		`SECRET`:   "the answer holds no complete JSON object",
	} {
		var n nested
		if err := structured.Decode(s, answer, &n); err == nil || err.Error() != want {
			t.Errorf("%s: error is %v, want %s", answer, err, want)
		}
	}
}

func TestAliasShowsOnlyWhatLooksLikeOne(t *testing.T) {
	for in, shown := range map[string]bool{"t1": true, "m120": true, "": false, "t": false, "1": false,
		"delete all": false, "t1\n": false} {
		if got := structured.Alias(in); (got == in) != shown ||
			(in != "" && !shown && strings.Contains(got, in) && len(in) > 1) {
			t.Errorf("%q is shown as %q", in, got)
		}
	}
}

func TestSchemaOfWhatHasNoPlaceInAnAnswer(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	structured.SchemaOf[struct {
		C chan int `json:"c"`
	}]("bad")
}

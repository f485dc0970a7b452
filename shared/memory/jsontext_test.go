package memory_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestHalvesOfSurrogatePairsAreRefused(t *testing.T) {
	for body, field := range map[string]string{
		`"\ud800"`: "", `{"a":"\uDFFF"}`: "a", `{"a":"\ud83d\ude00"}`: "-", `{"a":"\ud83d \ude00"}`: "a",
		`{"a":"\ude00\ud83d"}`: "a",
		`{"a":"\\ud800"}`:      "-", `{"a":"\\\ud800"}`: "a", `{"a":"\"\ud83d"}`: "a", `{"a":"\ud83d\ud83d\ude00"}`: "a",
		`{"a":"\ud7ff\ue000"}`: "-",
		`{"turns":[{"x":1,"y":[1,2]},{"role":"user","text":"\ud800"}]}`: "turns[1].text",
		`[[],["",{"b\u0063":{},"d":["\udc00"]}]]`:                       "[1][1].d[0]",
		`{"a":{"\ud800":1}}`: "a", `{"a\u0062":"\ud800"}`: "ab", `{"a":"\ud83d\ude00","b":"]}\ud83d\n"}`: "b",
		"{\"a\":1}\n{\"b\":\"\\ud800\"}": "b", `{"` + strings.Repeat("n", 100) + `":"\ud800"}`: strings.Repeat("n", 64),
	} {
		err := memory.CheckJSONText("", []byte(body))
		if refused := fault.IsTerminal(err); refused != (field != "-") || refused && fault.Field(err) != field {
			t.Errorf("%s: got %v, want %q", body, err, field)
		}
	}
}

func TestRepeatedKeysAreRefused(t *testing.T) {
	long := `"` + strings.Repeat("n", 100) + `":1`
	for text, field := range map[string]string{
		`{"a":1,"a":2}`: "a", `{"a":1,"A":2}`: "-", `{"a":1,"\u0061":2}`: "a", `{"":1,"":2}`: "",
		`{"a":{"b":1},"c":{"b":1}}`: "-",
		`{"a":{"b":1,"c":2,"b":3}}`: "a.b", `[{"a":1},{"a":1}]`: "-", `[1,{"x":[{"a":1,"b":"}","a":[]}]}]`: "[1].x[0].a",
		`{"a":{"a":{"a":1}}}`: "-", `{"a":[{"b":1}],"b":{"a":1}}`: "-", `{"a":"a","b":["a","a"]}`: "-",
		"{\"a\":1}\n{\"a\":1}":            "-",
		`{"b":1,"a":{"b":1,"c":1},"b":2}`: "b", "{" + long + "," + long + "}": strings.Repeat("n", 64),
		`}]}{"a":1`: "-", `{"a\"":1,"a\"":1}`: `a"`, `{"\z":1,"\z":1}`: `\z`,
	} {
		err := memory.CheckJSONText("", []byte(text))
		if refused := fault.IsTerminal(err); refused != (field != "-") || refused && fault.Field(err) != field {
			t.Errorf("%s: got %v, want %q", text, err, field)
		}
	}
	for raw, field := range map[string]string{`{"a":{"b":1,"b":2}}`: "m.a.b", `[{"a":1,"a":2}]`: "m[0].a",
		`["\ud800"]`: "m[0]"} {
		if _, err := memory.ParseJSON("m", []byte(raw)); fault.Field(err) != field {
			t.Errorf("%s: got %v, want an error about %s", raw, err, field)
		}
	}
}

func TestCheckingJSONTextCopiesNothing(t *testing.T) {
	body := []byte(`{"a":[` + strings.Repeat(`{"text":"\ud83d\ude00"},`, 1000) + `0]}`)
	if n := testing.AllocsPerRun(10, func() { _ = memory.CheckJSONText("", body) }); n > 8 {
		t.Errorf("%.0f allocations", n)
	}
}

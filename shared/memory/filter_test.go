package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func metadata(t *testing.T, raw string) map[string]any {
	t.Helper()
	m, err := memory.ParseMetadata("metadata", []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFilterMatch(t *testing.T) {
	m := memory.Memory{
		ID: "m1", Kind: memory.KindFact, Topic: "Sea Side", Speaker: "Ana", SessionID: "s1",
		Keywords:   []string{"sea", "boat"},
		RecordedAt: time.Date(2024, 5, 6, 7, 8, 9, 1500, time.UTC), ValidFrom: time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC),
		Attributes: memory.Attributes{AgentID: "a1", AliasOf: "alias",
			Metadata: metadata(t, `{"colour":"Red","n":-2.5,"ok":false,"none":null,
			"tags":["x",3,["y"]],"in":{"deep":{"er":1}},"a.b":"dotted","list":[{"k":"v"}],"day":"2024-05-06T02:00:00+02:00","empty":[]}`)},
	}
	for filter, want := range map[string]bool{
		`{"field":"metadata.colour","equals":"Red"}`:                                                         true,
		`{"field":"metadata.colour","equals":"red"}`:                                                         false,
		`{"field":"metadata.colour","contains":"RE"}`:                                                        true,
		`{"field":"metadata.colour","in":["blue","Red"]}`:                                                    true,
		`{"field":"metadata.n","equals":-2.5}`:                                                               true,
		`{"field":"metadata.n","equals":"-2.5"}`:                                                             false,
		`{"field":"metadata.n","range":{"gt":-3,"lte":-2.5}}`:                                                true,
		`{"field":"metadata.n","range":{"gt":-2.5}}`:                                                         false,
		`{"field":"metadata.n","range":{"gte":"2024-01-01T00:00:00Z"}}`:                                      false,
		`{"field":"metadata.ok","equals":false}`:                                                             true,
		`{"field":"metadata.ok","exists":true}`:                                                              true,
		`{"field":"metadata.none","exists":true}`:                                                            false,
		`{"field":"metadata.none","exists":false}`:                                                           true,
		`{"field":"metadata.tags","equals":"x"}`:                                                             true,
		`{"field":"metadata.tags","contains":"y"}`:                                                           true,
		`{"field":"metadata.tags","contains":"X"}`:                                                           false,
		`{"field":"metadata.tags","range":{"gte":3}}`:                                                        true,
		`{"field":"metadata.in.deep.er","equals":1}`:                                                         true,
		`{"field":"metadata.in.deep","exists":true}`:                                                         true,
		`{"field":"metadata.in.deep","equals":1}`:                                                            false,
		`{"field":"metadata.a.b","equals":"dotted"}`:                                                         true,
		`{"field":"metadata.list.k","equals":"v"}`:                                                           true,
		`{"field":"metadata.empty","exists":true}`:                                                           true,
		`{"field":"metadata.day","range":{"gte":"2024-05-06T00:00:00Z","lt":"2024-05-06T00:00:00.000001Z"}}`: true,
		`{"field":"metadata.absent","equals":"x"}`:                                                           false,
		`{"not":{"field":"metadata.absent","equals":"x"}}`:                                                   true,
		`{"field":"agent_id","equals":"a1"}`:                                                                 true,
		`{"field":"app_id","exists":false}`:                                                                  true,
		`{"field":"id","in":["m1"]}`:                                                                         true,
		`{"field":"id","equals":"alias"}`:                                                                    true,
		`{"field":"kind","equals":"fact"}`:                                                                   true,
		`{"field":"keywords","contains":"sea"}`:                                                              true,
		`{"field":"keywords","contains":"se"}`:                                                               false,
		`{"field":"topic","contains":"sea"}`:                                                                 true,
		`{"field":"recorded_at","equals":"2024-05-06T07:08:09.000001Z"}`:                                     true,
		`{"field":"recorded_at","range":{"gt":"2024-05-06T07:08:09.000001Z"}}`:                               false,
		`{"field":"valid_from","range":{"lt":"2024-05-06T01:00:00+01:00"}}`:                                  false,
		`{"field":"event_time","exists":true}`:                                                               false,
		`{"and":[{"field":"kind","equals":"fact"},{"or":[{"field":"topic","equals":"x"},{"field":"speaker","equals":"Ana"}]}]}`: true,
	} {
		f, err := memory.ParseFilter([]byte(filter))
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got := f.Match(m); got != want {
			t.Errorf("%s: got %t, want %t", filter, got, want)
		}
	}
}

func TestFiltersThatAreRefused(t *testing.T) {
	many := `{"or":[` + strings.Repeat(`{"field":"kind","exists":true},`, memory.MaxConditions) +
		`{"field":"kind","exists":true}]}`
	deep := strings.Repeat(`{"not":`, memory.MaxFilterDepth) + `{"field":"kind","exists":true}` +
		strings.Repeat(`}`, memory.MaxFilterDepth)
	for filter, field := range map[string]string{
		`{`:                                 "filter",
		`null`:                              "filter",
		`[]`:                                "filter",
		`{}`:                                "filter",
		`{"xor":[]}`:                        "filter.xor",
		`{"and":[]}`:                        "filter.and",
		`{"and":[{"or":[{"not":3}]}]}`:      "filter.and[0].or[0].not",
		`{"and":[],"or":[]}`:                "filter",
		`{"field":"content","equals":"x"}`:  "filter.field",
		`{"field":"metadata.","equals":1}`:  "filter.field",
		`{"field":3,"equals":"x"}`:          "filter.field",
		`{"field":"kind"}`:                  "filter",
		`{"field":"kind","like":"x"}`:       "filter.like",
		`{"field":"kind","equals":"idea"}`:  "filter.equals",
		`{"field":"kind","contains":"fac"}`: "filter.contains",
		`{"field":"topic","contains":""}`:   "filter.contains",
		`{"field":"metadata.tags","contains":""}`:                             "filter.contains",
		`{"field":"topic","equals":3}`:                                        "filter.equals",
		`{"field":"topic","equals":null}`:                                     "filter.equals",
		`{"field":"topic","in":[]}`:                                           "filter.in",
		`{"field":"topic","in":["a",["b"]]}`:                                  "filter.in[1]",
		`{"field":"topic","range":{"gt":3}}`:                                  "filter.range",
		`{"field":"metadata.n","range":{}}`:                                   "filter.range",
		`{"field":"metadata.n","range":{"over":3}}`:                           "filter.range.over",
		`{"field":"metadata.n","range":{"gt":"soon"}}`:                        "filter.range.gt",
		`{"field":"metadata.n","range":{"gt":true}}`:                          "filter.range.gt",
		`{"field":"metadata.n","range":{"gt":3,"lt":"2024-01-01T00:00:00Z"}}`: "filter.range",
		`{"field":"metadata.n","equals":9007199254740993}`:                    "filter.equals",
		`{"field":"metadata.n","equals":{"a":1}}`:                             "filter.equals",
		`{"field":"recorded_at","range":{"gt":3}}`:                            "filter.range.gt",
		`{"field":"recorded_at","equals":"today"}`:                            "filter.equals",
		`{"field":"metadata.n","exists":"yes"}`:                               "filter.exists",
		`{"field":"kind","exists":true,"equals":"fact"}`:                      "filter",
		many: "filter", deep: "filter" + strings.Repeat(".not", memory.MaxFilterDepth),
	} {
		if f, err := memory.ParseFilter([]byte(filter)); !fault.IsTerminal(err) || fault.Field(err) != field {
			t.Errorf("%.80s: got %+v, %v, want a terminal error about %s", filter, f, err, field)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{`{}`, `{"and":[{"field":"kind","equals":"fact"}]}`,
		`{"field":"metadata.a","range":{"gt":1}}`, `{"not":{}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		filter, err := memory.ParseFilter([]byte(s))
		if err != nil && (!fault.IsTerminal(err) || !strings.HasPrefix(fault.Field(err), "filter")) {
			t.Errorf("%q: got %v, want a terminal error about the filter", s, err)
		}
		if err == nil {
			filter.Match(memory.Memory{ID: "m", Kind: memory.KindFact})
		}
	})
}

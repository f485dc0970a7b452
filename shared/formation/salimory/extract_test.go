package salimory_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

// said is a complete memory of the extractor, changed by the pairs given.
func said(changes ...any) object {
	m := object{
		"store": "facts", "sources": []string{"t1"}, "kind": "fact", "content": "Ana moved to Porto.", "topic": "home",
		"slot":       "Ana/home",
		"keywords":   []string{"city", " ", "city"},
		"event_date": "2024-05-01", "event_precision": "day", "event_words": "Last week", "negates": false,
	}
	for i := 0; i < len(changes); i += 2 {
		m[changes[i].(string)] = changes[i+1]
	}
	return m
}

func extraction(list ...object) object { return object{"nothing": false, "memories": list} }

func TestExtractGivesTurnsAndTimesBack(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleExtractor, text(t, extraction(
		said("sources", []string{"t2"}, "event_date", "2024-05-01", "event_precision", "month", "event_words", "never said",
			"negates", true),
		said("sources", []string{"t3", "t1", "t3"}),
	)))
	got, err := newFormer(t, s).Extract(t.Context(), session("I moved last week", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	want := formation.Candidate{
		Kind: memory.KindFact, Content: "Ana moved to Porto.", Topic: "home", Slot: "ana/home", Keywords: []string{"city"},
		EventTime: memory.EventTime{Time: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionDay,
			Expression: "Last week"},
		Sources: []string{"turn-a", "turn-c"},
	}
	if len(got) != 2 || !reflect.DeepEqual(got[0], want) {
		t.Fatalf("got %+v\nwant first %+v", got, want)
	}
	if e := got[1].EventTime; e.Precision != memory.PrecisionMonth || e.Expression != "" || !got[1].Negates {
		t.Errorf("second is %+v: an expression nobody used must not be kept", got[1])
	}
}

func TestTheExtractorReadsWhatIsKnown(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleExtractor, text(t, extraction(said())))
	in := session("The machine leaks")
	in.Known = []memory.Memory{stored("secret-id", "Ana has an espresso machine.")}
	f := newFormer(t, s)
	if _, err := f.Extract(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	data := string(s.Calls(model.RoleExtractor)[0].Data())
	if !strings.Contains(data, "Ana has an espresso machine.") || strings.Contains(data, "secret-id") || f.Reads() == 0 {
		t.Errorf("shown is %s", data)
	}
}

func TestExtractFindsNothingOnlyWhenToldSo(t *testing.T) {
	s := llmtest.New(t)
	s.Script(model.RoleExtractor, text(t, object{"nothing": true, "memories": []object{}}))
	got, err := newFormer(t, s).Extract(t.Context(), session("a"))
	if err != nil || len(got) != 0 || s.Count(model.RoleExtractor) != 1 {
		t.Errorf("got %v, error %v, %d calls", got, err, s.Count(model.RoleExtractor))
	}
}

func TestExtractRejectsWhatItCannotVouchFor(t *testing.T) {
	for name, answer := range map[string]object{
		"nothing and something":     {"nothing": true, "memories": []object{said()}},
		"neither":                   {"nothing": false, "memories": []object{}},
		"no sources":                extraction(said("sources", []string{})),
		"unknown source":            extraction(said(), said("sources", []string{"t9"})),
		"turn's own id":             extraction(said("sources", []string{"turn-a"})),
		"unknown kind":              extraction(said("kind", "gossip")),
		"core is no kind of entry":  extraction(said("kind", "core")),
		"a preference among facts":  extraction(said("kind", "preference")),
		"a fact among preferences":  extraction(said("store", "preferences")),
		"no store":                  extraction(said("store", "")),
		"blank content":             extraction(said("content", " \n")),
		"huge content":              extraction(said("content", strings.Repeat("x", 5000))),
		"NUL in content":            extraction(said("content", "a\x00b")),
		"NUL in topic":              extraction(said("topic", "a\x00b")),
		"endless slot":              extraction(said("slot", strings.Repeat("x", 500))),
		"no such day":               extraction(said("event_date", "2024-02-31")),
		"date less exact":           extraction(said("event_date", "2024-05")),
		"precision without date":    extraction(said("event_date", "")),
		"date without precision":    extraction(said("event_precision", "none")),
		"relative date":             extraction(said("event_date", "last week")),
		"year 0":                    extraction(said("event_date", "0000", "event_precision", "year")),
		"a string for the keywords": extraction(said("keywords", "home")),
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Script(model.RoleExtractor, text(t, answer), text(t, answer))
			got, err := newFormer(t, s).Extract(t.Context(), session("I moved", "b"))
			if !errors.Is(err, model.ErrMalformed) || got != nil {
				t.Errorf("got %v and %v, want ErrMalformed", got, err)
			}
			if n := s.Count(model.RoleExtractor); n != 2 {
				t.Errorf("%d calls, want one and a repair", n)
			}
		})
	}
}

func TestExtractReadsEveryPrecision(t *testing.T) {
	for _, tc := range []struct {
		date, precision string
		want, end       time.Time
	}{
		{date: "", precision: "none"},
		{date: "", precision: ""},
		{date: "2023", precision: "year", want: time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)},
		{date: "2023-07-09", precision: "year", want: time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)},
		{date: "2023-07", precision: "month", want: time.Date(2023, 7, 1, 0, 0, 0, 0, time.UTC)},
		{date: "2023-07-09", precision: "day", want: time.Date(2023, 7, 9, 0, 0, 0, 0, time.UTC)},
		{"2023-07-09", "week", time.Date(2023, 7, 3, 0, 0, 0, 0, time.UTC), time.Date(2023, 7, 9, 0, 0, 0, 0, time.UTC)},
		{"2023-07-03", "week", time.Date(2023, 7, 3, 0, 0, 0, 0, time.UTC), time.Date(2023, 7, 9, 0, 0, 0, 0, time.UTC)},
		{"2024-03-01", "week", time.Date(2024, 2, 26, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 3, 0, 0, 0, 0, time.UTC)},
	} {
		s := llmtest.New(t)
		m := said("event_date", tc.date, "event_precision", tc.precision)
		if tc.precision == "" {
			delete(m, "event_precision")
		}
		s.Script(model.RoleExtractor, text(t, extraction(m)))
		got, err := newFormer(t, s).Extract(t.Context(), session("I moved"))
		if err != nil || !got[0].EventTime.Time.Equal(tc.want) || !got[0].EventTime.End.Equal(tc.end) ||
			(tc.want.IsZero() != (got[0].EventTime.Precision == "")) {
			t.Errorf("%s %s: got %+v, error %v", tc.date, tc.precision, got, err)
		}
	}
}

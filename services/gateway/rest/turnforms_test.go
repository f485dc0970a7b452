package rest_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestTurnsOfEveryFormThatIsNone(t *testing.T) {
	g := open(t)
	turn := func(fields string) string { return `{"turns":[{"role":"user","text":"a"},{` + fields + `}]}` }
	for name, c := range map[string]struct{ body, field string }{
		"no turns":     {`{}`, "turns"},
		"none":         {`{"turns":[]}`, "turns"},
		"one, no list": {`{"turns":{}}`, "turns"},
		"null":         {`{"turns":null}`, "turns"},
		"too many": {`{"turns":[` + strings.Repeat(`{"role":"user","text":"a"},`, 200) +
			`{"role":"user","text":"a"}]}`, "turns"},
		"no object":        {`{"turns":["a"]}`, "turns[0]"},
		"no role":          {turn(`"text":"a"`), "turns[1].role"},
		"a number":         {turn(`"role":"user","text":7`), "turns[1].text"},
		"a null id":        {turn(`"role":"user","text":"a","id":null`), "turns[1].id"},
		"no time":          {turn(`"role":"user","text":"a","time":"yesterday"`), "turns[1].time"},
		"another case":     {turn(`"role":"user","Text":"a"`), "turns[1].Text"},
		"an unknown field": {turn(`"role":"user","text":"a","tenant":"beta"`), "turns[1].tenant"},
		"an unknown one":   {`{"turns":[{"role":"user","text":"a"}],"user_id":"ben"}`, "user_id"},
		"no object at all": {`[]`, "body"},
		"an empty body":    {` `, "body"},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.call(http.MethodPost, session+"/turns", c.body, "Idempotency-Key: "+strings.ReplaceAll(name, " ", "-"))
			a.expect(t, 400, map[string]any{"code": "invalid", "errors.0.field": c.field, "errors.0.location": "body"})
			if len(a.text) > 1000 {
				t.Errorf("the answer repeats what was sent: %d bytes", len(a.text))
			}
		})
	}
	if len(g.out.msgs) > 0 || slices.ContainsFunc(g.behind.calls, func(string) bool { return true }) {
		t.Errorf("published %d events, asked %v", len(g.out.msgs), g.behind.calls)
	}
}

func TestATurnWhoseValuesAreNotAcceptedIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct{ turn, field, detail string }{
		"another role":  {`"role":"narrator","text":"a"`, "role", `is "narrator", want user or assistant`},
		"an empty text": {`"role":"user","text":""`, "text", "is empty, want 1 to 524288 bytes"},
		"a blank text":  {`"role":"user","text":" \n"`, "text", "is empty, want 1 to 524288 bytes"},
		"a NUL":         {`"role":"user","text":"a\u0000"`, "text", "contains a NUL character"},
		"a text too long": {`"role":"assistant","text":"` + strings.Repeat("é", 256<<10) + `x"`, "text",
			"is 524289 bytes long, want at most 524288"},
		"an id too long": {`"role":"user","text":"a","id":"` + strings.Repeat("x", 129) + `"`, "id",
			"is 129 bytes long, want at most 128"},
		"an id of 10 KB": {`"role":"user","text":"a","id":"` + strings.Repeat("x", 10<<10) + `"`, "id",
			"is 10240 bytes long, want at most 128"},
		"a hidden id":     {`"role":"user","text":"a","id":"t\u200b"`, "id", "contains a control or invisible character"},
		"a blank caption": {`"role":"user","text":"a","caption":" "`, "caption", "is empty, want 1 to 4096 bytes"},
		"a long caption": {`"role":"tool","text":"","caption":"` + strings.Repeat("x", 4097) + `"`, "caption",
			"is 4097 bytes long, want at most 4096"},
		"a long speaker": {`"role":"user","text":"a","speaker":"` + strings.Repeat("x", 129) + `"`, "speaker",
			"is 129 bytes long, want at most 128"},
		"two lines": {`"role":"user","text":"a","speaker":"Ana\nBen"`, "speaker",
			"contains a control or invisible character"},
		"a time to come": {`"role":"user","text":"a","time":"2026-01-04T00:00:00Z"`, "time",
			"is in the year 2026, want between 1970-01-01 and one day from now"},
		"a time before": {`"role":"user","text":"a","time":"1969-12-31T23:59:59Z"`, "time",
			"is in the year 1969, want between 1970-01-01 and one day from now"},
	} {
		t.Run(name, func(t *testing.T) {
			g := open(t)
			put := func(body string) answer { return g.call(http.MethodPost, session+"/turns", body, "Idempotency-Key: k") }
			body := `{"turns":[{"id":"first","role":"user","text":"I live in Braga."},{` + c.turn +
				`},{"role":"user","text":"I moved to Faro."}]}`
			a := put(body)
			a.expect(t, 207, map[string]any{
				"results.0.turn_id": "first", "results.0.status": "accepted", "results.0.status_url": ines + "/turns/first",
				"results.0.problem": nil,
				"results.1.status":  "left_out", "results.1.status_url": nil, "results.2.status": "accepted",
				"results.1.problem": map[string]any{"code": "invalid", "field": "turns[1]." + c.field, "detail": c.detail},
			})
			if e := events(t, g.out.msgs); len(e) != 2 || e[0].Turn.Text != "I live in Braga." ||
				e[1].Turn.Text != "I moved to Faro." {
				t.Errorf("published %+v", e)
			}
			if len(a.text) > 1000 {
				t.Errorf("the answer repeats what was sent: %d bytes", len(a.text))
			}
			if again := put(body); again.status != 207 || again.text != a.text || again.header.Get(idempotency.Replayed) == "" ||
				len(g.out.msgs) != 2 {
				t.Errorf("repeated: %d %s", again.status, again.text)
			}
			alone := g.call(http.MethodPost, session+"/turns", `{"turns":[{`+c.turn+`},{`+c.turn+`}]}`, "Idempotency-Key: alone")
			if strings.Contains(c.turn, `"id"`) {
				alone = g.call(http.MethodPost, session+"/turns", `{"turns":[{`+c.turn+`}]}`, "Idempotency-Key: alone")
			} else if alone.field("errors.1.field") != "turns[1]."+c.field {
				t.Errorf("the second one is not named: %s", alone.text)
			}
			alone.expect(t, 400, map[string]any{
				"code": "invalid", "errors.0.field": "turns[0]." + c.field, "errors.0.location": "body",
				"errors.0.message": c.detail,
			})
			if len(g.out.msgs) != 2 {
				t.Errorf("published %d events", len(g.out.msgs))
			}
		})
	}
}

func TestALongTurnIsAcceptedShortened(t *testing.T) {
	g := open(t)
	log := strings.Repeat("2026-01-02T03:04:05Z ERROR billing: timeout\\n", 9000)
	put := func() answer {
		return g.call(http.MethodPost, session+"/turns",
			`{"turns":[{"role":"user","text":"See: `+log+`"},{"role":"user","text":"a"}]}`, "Idempotency-Key: k")
	}
	a := put()
	a.expect(t, 207, map[string]any{
		"results.0.status": "accepted", "results.0.problem": nil, "results.1.status": "accepted",
		"results.1.shortened_by": nil,
	})
	by, _ := a.field("results.0.shortened_by").(float64)
	e := events(t, g.out.msgs)
	if len(e) != 2 || len(e[0].Turn.Text) > memory.MaxTextBytes || !strings.HasPrefix(e[0].Turn.Text, "See: 2026") ||
		!strings.HasSuffix(e[0].Turn.Text, "timeout\n") || !strings.Contains(e[0].Turn.Text, " bytes left out ...]") ||
		by < 300<<10 {
		t.Errorf("shortened by %f, %d bytes", by, len(e[0].Turn.Text))
	}
	if again := put(); again.text != a.text || len(g.out.msgs) != 2 {
		t.Errorf("repeated: %s", again.text)
	}
	many := `{"turns":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","text":"`+
		strings.Repeat("x", memory.MaxTurnBytes)+`"},`, 15), ",") + `]}`
	g.call(http.MethodPost, session+"/turns", many, "Idempotency-Key: many").expect(t, 207,
		map[string]any{"results.14.status": "accepted"})
}

func TestTheMessagesOfChatCompletions(t *testing.T) {
	g := open(t)
	call := `{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"c","function":{"name":"f"}}]}`
	a := g.call(http.MethodPost, session+"/turns", `{"turns":[{"role":"system","content":"Be brief."},`+call+`,
		{"role":"tool","tool_call_id":"c","content":"42"},{"role":"developer","text":"x"},
		{"role":"user","name":"Ines","content":[{"type":"text","text":"I swim."},{"type":"image_url","image_url":{"url":"data:x"}},
			{"type":"image_url","image_url":{"url":"data:x"},"text":"a pool"},{"type":"input_text","text":"Daily."}]},
		{"role":"assistant","content":"Good.","tool_calls":null}]}`, "Idempotency-Key: k")
	a.expect(t, 207, map[string]any{
		"results.0.status": "not_remembered", "results.0.reason": "instructions for the assistant are not remembered",
		"results.0.problem": nil,
		"results.1.status":  "not_remembered", "results.2.reason": "calls and results of tools are not remembered",
		"results.3.status": "not_remembered", "results.4.status": "accepted", "results.5.status": "accepted",
	})
	e := events(t, g.out.msgs)
	if len(e) != 2 || e[0].Turn.Text != "I swim.\nDaily." || e[0].Turn.Caption != "a pool" ||
		e[0].Turn.Speaker != "Ines" || e[1].Turn.Text != "Good." {
		t.Errorf("published %+v", e)
	}
	g.call(http.MethodPost, session+"/turns", `{"turns":[`+call+`]}`, "Idempotency-Key: alone").expect(t, 207,
		map[string]any{
			"results.0.status": "not_remembered", "results.0.status_url": nil,
		})
	for turn, field := range map[string]string{
		`"role":"user","content":7`: "turns[0].content", `"role":"user","content":["a"]`: "turns[0].content[0]",
		`"role":"user","content":"a","text":"a"`:                  "turns[0].content",
		`"role":"user","content":{"type":"text","text":"I swim"}`: "turns[0].content",
		`"role":"user","content":[]`:                              "turns[0].text",
		`"role":"assistant","tool_calls":[]`:                      "turns[0].text",
		`"role":"assistant","refusal":7`:                          "turns[0].refusal",
		`"role":"user"`:                                           "turns[0].text",
		`"role":"tool","text":"a\u0000b"`:                         "turns[0].text",
	} {
		g.call(http.MethodPost, session+"/turns", `{"turns":[{`+turn+`}]}`,
			"Idempotency-Key: "+field+turn[:9]+fmt.Sprint(len(turn))).
			expect(t, 400, map[string]any{"errors.0.field": field})
	}
}

// The caption of a picture is the text of a turn without another text.
func TestACaptionIsTheTextOfATurnWithoutText(t *testing.T) {
	g := open(t)
	body := `{"turns":[{"role":"user","text":"","caption":"a red canoe"}]}`
	g.call(http.MethodPost, session+"/turns", body, "Idempotency-Key: k").expect(t, 202, nil)
	if e := events(t, g.out.msgs); len(e) != 1 || e[0].Turn.Text != "a red canoe" || e[0].Turn.Caption != "" {
		t.Errorf("published %+v", e)
	}
}

// A turn with an unreadable content, or with two contents, is left out alone.
func TestAnUnreadableTurnRefusesNoOtherTurn(t *testing.T) {
	g := open(t)
	a := g.call(http.MethodPost, session+"/turns", `{"turns":[
		{"role":"user","text":"I keep bees."},{"role":"user","content":[{"type":"text","text":7}]},{"role":"user","content":"a","text":"b"},
		{"role":"assistant","refusal":7},{"role":"user","content":{"type":"text","text":"I moved to Faro."}},
		{"role":"user","content":[{"type":"text","text":"I moved to Faro."}]}]}`, "Idempotency-Key: k")
	a.expect(t, 207, map[string]any{
		"results.0.status": "accepted", "results.1.status": "left_out", "results.1.problem.field": "turns[1].content[0].text",
		"results.2.status": "left_out", "results.2.problem.field": "turns[2].content",
		"results.3.problem.field": "turns[3].refusal",
		"results.4.problem.field": "turns[4].content", "results.5.status": "accepted",
	})
	if e := events(t, g.out.msgs); len(e) != 2 || e[0].Turn.Text != "I keep bees." ||
		e[1].Turn.Text != "I moved to Faro." {
		t.Errorf("published %+v", e)
	}
}

func TestAMessageWithoutAStatementRefusesNoOtherMessage(t *testing.T) {
	g := open(t)
	a := g.call(http.MethodPost, session+"/turns", `{"turns":[
		{"role":"assistant","content":null,"refusal":"I cannot help.","audio":null},{"role":"assistant","content":null,"audio":{"id":"a"}},
		{"role":"tool","content":{"temp":21e999}},{"role":"system","content":[{"text":"Be brief."}]},
		{"role":"assistant","content":" ","function_call":{"name":"f","arguments":"{}"}},{"role":"user","function_call":{"name":"f"}},
		{"role":"user","content":[{"type":"text","text":"See."},{"type":"image_url","text":"`+strings.Repeat("é", 2450)+`"}]}]}`, "Idempotency-Key: k")
	a.expect(t, 207, map[string]any{
		"results.0.status": "accepted", "results.1.status": "left_out", "results.1.problem.field": "turns[1].text",
		"results.2.status": "not_remembered", "results.3.status": "not_remembered",
		"results.4.reason": "calls and results of tools are not remembered", "results.5.status": "left_out",
		"results.6.status": "accepted",
	})
	e := events(t, g.out.msgs)
	if len(e) != 2 || e[0].Turn.Text != "I cannot help." || e[1].Turn.Text != "See." ||
		e[1].Turn.Caption != strings.Repeat("é", 2048) {
		t.Errorf("published %+v", e)
	}
	g.call(http.MethodPost, session+"/turns", `{"turns":[{"role":"system","content":"x"},{"role":"user","text":" "}]}`,
		"Idempotency-Key: none").
		expect(t, 400, map[string]any{"code": "invalid", "errors.0.field": "turns[1].text", "errors.1": nil})
	if len(g.out.msgs) != 2 {
		t.Errorf("published %d events", len(g.out.msgs))
	}
}

func TestABusErrorThatNoRetryMendsIsOurs(t *testing.T) {
	g := open(t)
	g.out.err = errors.New("a bug at 10.0.0.1")
	a := g.call(http.MethodPost, session+"/turns", oneTurn, "Idempotency-Key: k1")
	a.expect(t, 500, map[string]any{"code": "internal"})
	if strings.Contains(a.text, "10.0.0.1") {
		t.Errorf("%s", a.text)
	}
}

func TestASessionOfWhichNothingCanBeToldIsClosed(t *testing.T) {
	g := open(t)
	g.behind.fail = connect.NewError(connect.CodeUnavailable, errors.New("the bank is away"))
	g.call(http.MethodPost, ines+"/sessions/"+waits+"/close", "").expect(t, 202, nil)
	g.redis.Close()
	g.behind.fail = nil
	g.call(http.MethodPost, ines+"/sessions/"+waits+"/close", "").expect(t, 202, nil)
}

func TestATimeOutOfRangeIsToldTheRange(t *testing.T) {
	g := open(t)
	for _, at := range []string{"0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z"} {
		body := `{"turns":[{"role":"user","text":"a","time":"` + at + `"}]}`
		a := g.call(http.MethodPost, session+"/turns", body, "Idempotency-Key: k")
		a.expect(t, 400, map[string]any{"code": "invalid", "errors.0.field": "turns[0].time"})
		if !strings.Contains(a.text, "want between 1970-01-01 and one day from now") {
			t.Errorf("%s: %s", at, a.text)
		}
	}
}

func TestWhatWaitsIsToldFromWhatNeverWas(t *testing.T) {
	g := open(t)
	path, erasure := ines+"/sessions/"+waits, self+"/users/"+waits+"/erasures/"+waits
	for _, p := range []string{path, erasure} {
		if a := g.call(http.MethodGet, p, ""); a.status != http.StatusNotFound {
			t.Errorf("%s: nobody put anything in: %d %s", p, a.status, a.text)
		}
	}
	g.call(http.MethodPost, path+"/close", "").expect(t, 404, map[string]any{"code": "not_found"})
	if len(g.out.msgs) > 0 {
		t.Errorf("closing what never was published %d events", len(g.out.msgs))
	}
	g.call(http.MethodGet, path, "").expect(t, 404, nil)
	g.call(http.MethodPost, path+"/turns", oneTurn, "Idempotency-Key: k1").expect(t, 202, nil)
	g.call(http.MethodPost, path+"/close", "").expect(t, 202, nil)
	g.call(http.MethodDelete, self+"/users/"+waits, "")
	for _, p := range []string{path, erasure} {
		if a := g.call(http.MethodGet, p, ""); a.status != http.StatusOK || a.field("state") != "pending" {
			t.Errorf("%s: accepted: %d %s", p, a.status, a.text)
		}
	}
	if a := g.call(http.MethodGet, self+"/users/ben/sessions/"+waits, ""); a.status != http.StatusNotFound {
		t.Errorf("another user's: %d %s", a.status, a.text)
	}
}

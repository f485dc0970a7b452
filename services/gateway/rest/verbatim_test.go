package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	batch        = ines + "/items/batch"
	sessionItems = ines + "/sessions/s/items"
)

// operationsOf is the body of a batch.
func operationsOf(operations ...string) string {
	return `{"operations":[` + strings.Join(operations, ",") + `]}`
}

func (g *gateway) batch(operations ...string) answer {
	g.t.Helper()
	return g.call(http.MethodPost, batch, operationsOf(operations...))
}

func putOf(namespace, key, value string) string {
	return fmt.Sprintf(`{"op":"put","namespace":["%s"],"key":"%s","value":%s}`, strings.ReplaceAll(namespace, ".", `","`),
		key, value)
}

func TestABatchIsCarriedOutInOrder(t *testing.T) {
	g := open(t)
	g.redis.SetTime(now)
	a := g.batch(
		`{"op":"get","namespace":["a","b"],"key":"k"}`,
		putOf("a.b", "k", `{ "n": 1.50, "big": 123456789012345678901, "html": "<&>", "none": null, "deep": [{"x": []}] }`),
		`{"op":"get","namespace":["a","b"],"key":"k","refresh_ttl":false}`,
		putOf("a", "tea", `{"text":"tea in Porto"}`), putOf("c", "other", `{"text":"tea"}`),
		`{"op":"search","namespace_prefix":[]}`,
		`{"op":"search","namespace_prefix":["a"],"query":"Porto tea","filter":{"none":null},"limit":5.0,"offset":0}`,
		`{"op":"search","namespace_prefix":["a"],"filter":{"n":{"$gte":1.5}}}`,
		`{"op":"list_namespaces"}`, `{"op":"list_namespaces","prefix":["*"],"suffix":["b"],"max_depth":1,"limit":1,"offset":0}`,
		`{"op":"delete","namespace":["a","b"],"key":"k"}`, `{"op":"get","namespace":["a","b"],"key":"k"}`,
		`{"op":"search","namespace_prefix":["nowhere"]}`, `{"op":"list_namespaces","prefix":["nowhere"]}`,
	)
	a.expect(t, 200, nil)
	const made = `"2026-01-02T03:04:05Z"`
	item := `{"namespace":["a","b"],"key":"k","value":{"n":1.50,"big":123456789012345678901,"html":"<&>","none":null,"deep":[{"x":[]}]},` +
		`"created_at":` + made + `,"updated_at":` + made + `}`
	tea := `{"namespace":["a"],"key":"tea","value":{"text":"tea in Porto"},"created_at":"2026-01-02T03:04:05.000001Z",` +
		`"updated_at":"2026-01-02T03:04:05.000001Z"`
	other := `{"namespace":["c"],"key":"other","value":{"text":"tea"},"created_at":"2026-01-02T03:04:05.000002Z",` +
		`"updated_at":"2026-01-02T03:04:05.000002Z"}`
	want := `{"results":[{},{},{"item":` + item + `},{},{},{"items":[` + other + `,` + tea + `},` + item + `]},` +
		`{"items":[` + tea + `,"score":1}]},{"items":[` + item +
		`]},{"namespaces":[["a"],["a","b"],["c"]]},{"namespaces":[["a"]]},{},{},{"items":[]},{"namespaces":[]}]}`
	if got := strings.TrimSpace(a.text); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestSearchesOfABatchReadItemsOnceUntilSomethingChanges(t *testing.T) {
	g := open(t)
	puts := make([]string, 50)
	for i := range puts {
		puts[i] = putOf("a", fmt.Sprint(i), fmt.Sprintf(`{"text":"tea %d","large":"%s"}`, i, strings.Repeat("x", 1000)))
	}
	g.batch(puts...).expect(t, 200, nil)
	asked := func(operations ...string) int {
		before := g.redis.CommandCount()
		g.batch(operations...).expect(t, 200, nil)
		return g.redis.CommandCount() - before
	}
	search, get := `{"op":"search","namespace_prefix":["a"],"query":"tea","limit":1}`,
		`{"op":"get","namespace":["a"],"key":"1"}`
	one := asked(search)
	if many := asked(slices.Repeat([]string{search}, 40)...); many > 4*one {
		t.Errorf("one search asks Redis %d times, forty %d", one, many)
	}
	g.batch(search, get, putOf("b", "new", `{"text":"Porto"}`), `{"op":"search","namespace_prefix":[],"query":"Porto"}`,
		`{"op":"delete","namespace":["b"],"key":"new"}`, `{"op":"search","namespace_prefix":[],"query":"Porto"}`).expect(t,
		200, map[string]any{
			"results.0.items.0.key": "49", "results.3.items.0.key": "new", "results.5.items": []any{},
		})
}

func TestWhatABatchMayDo(t *testing.T) {
	g := open(t)
	g.batch(putOf("a", "k", `{"of":"acme"}`)).expect(t, 200, nil)
	call := func(key, operation string) answer {
		return g.call(http.MethodPost, batch, operationsOf(operation), "Authorization: Bearer "+key)
	}
	get := `{"op":"get","namespace":["a"],"key":"k"}`
	call("READ", `{"op":"get","namespace":["a"],"key":"k","refresh_ttl":true}`).expect(t, 403,
		map[string]any{"code": "forbidden"})
	call("READ", `{"op":"search","namespace_prefix":[],"refresh_ttl":true}`).expect(t, 403, nil)
	call("READ", `{"op":"get","namespace":["a"],"key":"k","refresh_ttl":false}`).expect(t, 200, nil)
	call("READ", get).expect(t, 200, map[string]any{"results.0.item.key": "k"})
	call("READ", putOf("a", "k", `{}`)).expect(t, 403, map[string]any{"code": "forbidden"})
	call("READ", `{"op":"delete","namespace":["a"],"key":"k"}`).expect(t, 403, nil)
	call("INGEST", putOf("a", "k", `{}`)).expect(t, 403, nil)
	call("BEN", get).expect(t, 403, nil)
	call("BETA", get).expect(t, 200, map[string]any{"results.0": map[string]any{}})
	bens := self + "/users/ben/items/batch"
	g.call(http.MethodPost, bens, operationsOf(get), "Authorization: Bearer BEN").expect(t, 200,
		map[string]any{"results.0": map[string]any{}})
	call("ALL", get).expect(t, 200, map[string]any{"results.0.item.value.of": "acme"})
}

func TestABatchIsHeldAgainstLimitsBeforeAnythingIsDone(t *testing.T) {
	g := open(t)
	long := func(n int) string { return strings.Repeat("x", n) }
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	withField := func(name, value string) string {
		return strings.TrimSuffix(putOf("a", "k", `{}`), "}") + `,"` + name + `":` + value + "}"
	}
	find := func(name, value string) string {
		return `{"op":"search","namespace_prefix":[],"` + name + `":` + value + "}"
	}
	for name, c := range map[string]struct{ operation, field, message string }{
		"no operation":      {`{}`, "operations[1].op", "is missing"},
		"another operation": {`{"op":"drop"}`, "operations[1].op", `is "drop"`},
		"another field": {`{"op":"get","namespace":["a"],"key":"k","nobody":1}`, "operations[1].nobody",
			"is unknown"},
		"no namespace":     {`{"op":"get","key":"k"}`, "operations[1].namespace", "is missing, which get needs"},
		"no key":           {`{"op":"delete","namespace":["a"]}`, "operations[1].key", "is missing"},
		"no value":         {`{"op":"put","namespace":["a"],"key":"k"}`, "operations[1].value", "is missing"},
		"no prefix":        {`{"op":"search"}`, "operations[1].namespace_prefix", "is missing"},
		"a limit of a put": {withField("limit", "1"), "operations[1].limit", "has no meaning for put"},
		"a TTL of a get": {`{"op":"get","namespace":["a"],"key":"k","ttl_seconds":1}`, "operations[1].ttl_seconds",
			"has no meaning"},
		"a query of a listing": {`{"op":"list_namespaces","query":"x"}`, "operations[1].query", "has no meaning"},
		"a list":               {putOf("a", "k", `[]`), "operations[1].value", "is not an object"},
		"a number":             {putOf("a", "k", `1`), "operations[1].value", "is not an object"},
		"null":                 {putOf("a", "k", `null`), "operations[1].value", "is null"},
		"too deep":             {putOf("a", "k", deep), "", "nested too deep"},
		"no JSON":              {putOf("a", "k", `{"a":}`), "", "is not valid JSON"},
		"no JSON at all":       {putOf("a", "k", `{"a":[1}`), "", "is not valid JSON"},
		"a value too large": {putOf("a", "k", `{"a":"`+long(256<<10)+`"}`), "operations[1].value",
			"bytes long, want at most 262144"},
		"a label with a dot": {`{"op":"get","namespace":["a","b.c"],"key":"k"}`, "operations[1].namespace[1]",
			"has a dot"},
		"an empty label": {`{"op":"get","namespace":["a",""],"key":"k"}`, "operations[1].namespace[1]",
			"has 0 characters"},
		"an empty namespace": {`{"op":"get","namespace":[],"key":"k"}`, "operations[1].namespace", "has 0 entries"},
		"a label in bytes": {putOf(strings.Repeat("é", 129), "k", `{}`), "operations[1].namespace[0]",
			"is 258 bytes long"},
		"a key too long": {putOf("a", long(1025), `{}`), "operations[1].key", "has 1025 characters"},
		"a key in bytes": {putOf("a", strings.Repeat("é", 513), `{}`), "operations[1].key", "is 1026 bytes long"},
		"a hidden label": {putOf("a\u200b", "k", `{}`), "operations[1].namespace[0]",
			"contains a control or invisible character"},
		"a hidden key": {putOf("a", "k\u202e", `{}`), "operations[1].key",
			"contains a control or invisible character"},
		"dots for a key":        {putOf("a", "..", `{}`), "operations[1].key", `is ".."`},
		"no time to live":       {withField("ttl_seconds", "0"), "operations[1].ttl_seconds", "is 0"},
		"too long a life":       {withField("ttl_seconds", "1e9"), "operations[1].ttl_seconds", "want 1 to"},
		"half a second":         {withField("ttl_seconds", "1.5"), "operations[1].ttl_seconds", "whole number"},
		"too many found":        {find("limit", "101"), "operations[1].limit", "is 101, want 1 to 100"},
		"an offset below 0":     {find("offset", "-1"), "operations[1].offset", "is -1"},
		"a query too long":      {find("query", `"`+long(4097)+`"`), "operations[1].query", "is 4097 bytes long"},
		"an operator":           {find("filter", `{"a":{"$in":[1]}}`), "operations[1].filter", "has an unknown operator"},
		"a filter that is none": {find("filter", "[]"), "operations[1].filter", "is not an object"},
		"no depth":              {`{"op":"list_namespaces","max_depth":0}`, "operations[1].max_depth", "is 0"},
		"too many listed":       {`{"op":"list_namespaces","limit":1001}`, "operations[1].limit", "is 1001"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gateway{t: t, url: g.url, client: g.client}
			a := g.batch(putOf("a", "before", `{}`), c.operation)
			a.expect(t, 400, map[string]any{"code": map[bool]string{true: "malformed_body", false: "invalid"}[c.field == ""]})
			field, _ := a.field("errors.0.field").(string)
			if detail, _ := a.field("detail").(string); field != c.field || !strings.Contains(detail, c.message) {
				t.Errorf("got %.300s", a.text)
			}
			if len(a.text) > 1000 {
				t.Errorf("an answer of %d bytes", len(a.text))
			}
		})
	}
	g.batch(`{"op":"search","namespace_prefix":[]}`).expect(t, 200, map[string]any{"results.0.items": []any{}})
	g.call(http.MethodPost, batch, `{"operations":[]}`).expect(t, 400, map[string]any{"errors.0.field": "operations"})
	many := strings.Split(strings.Repeat(`{"op":"list_namespaces"} `, 101), " ")[:101]
	g.batch(many...).expect(t, 400, map[string]any{"errors.0.message": "has more than 100 entries"})
	g.batch(many[:100]...).expect(t, 200, nil)
}

func TestAnItemExpires(t *testing.T) {
	g := open(t)
	g.redis.SetTime(now)
	g.batch(`{"op":"put","namespace":["a"],"key":"k","value":{},"ttl_seconds":60}`).expect(t, 200, nil)
	get := func(refresh bool) any {
		a := g.batch(fmt.Sprintf(`{"op":"get","namespace":["a"],"key":"k","refresh_ttl":%t}`, refresh))
		a.expect(t, 200, nil)
		return a.field("results.0.item.key")
	}
	g.redis.SetTime(now.Add(59 * time.Second))
	if get(true) != "k" {
		t.Error("it expires too early")
	}
	g.redis.SetTime(now.Add(118 * time.Second))
	if get(false) != "k" {
		t.Error("it is not refreshed")
	}
	g.batch(`{"op":"search","namespace_prefix":["a"],"refresh_ttl":true}`).expect(t, 200,
		map[string]any{"results.0.items.0.key": "k"})
	g.redis.SetTime(now.Add(177 * time.Second))
	if get(false) != "k" {
		t.Error("a search does not refresh it")
	}
	g.redis.SetTime(now.Add(178 * time.Second))
	if get(false) != nil {
		t.Error("it does not expire")
	}
}

func TestAnAnswerThatWouldBeTooLarge(t *testing.T) {
	g := open(t)
	large := `{"a":"` + strings.Repeat("x", 255<<10) + `"}`
	for i := range 16 {
		g.batch(putOf("a", fmt.Sprint(i), large)).expect(t, 200, nil)
	}
	search := `{"op":"search","namespace_prefix":["a"],"limit":16}`
	g.batch(putOf("b", "k", `{}`), search, search, search, search, search).expect(t, 413, map[string]any{
		"code": "too_large", "errors.0.field": "operations[5]",
	})
	// it stays done
	g.batch(`{"op":"get","namespace":["b"],"key":"k"}`).expect(t, 200, map[string]any{"results.0.item.key": "k"})
}

func TestItemsOfASession(t *testing.T) {
	g := open(t)
	post := func(path, body, key string) answer {
		return g.call(http.MethodPost, path, body, "Idempotency-Key: "+key)
	}
	g.call(http.MethodGet, sessionItems, "").expect(t, 200, map[string]any{"items": []any{}})
	for range 2 {
		post(sessionItems, `{"items":[{"role":"user","n": 1.50},{"content":[null,{"x":"<"}]}]}`, "k1").expect(t, 201,
			map[string]any{"count": 2})
	}
	post(sessionItems, `{"items":[{"n":3}]}`, "k2").expect(t, 201, map[string]any{"count": 3})
	post(sessionItems, `{"items":[{"n":4}]}`, "k2").expect(t, 422, nil)
	a := g.call(http.MethodGet, sessionItems, "")
	want := `{"items":[{"role":"user","n":1.50},{"content":[null,{"x":"<"}]},{"n":3}],"first":0}`
	if strings.TrimSpace(a.text) != want {
		t.Errorf("got %s, want %s", a.text, want)
	}
	a = g.call(http.MethodGet, sessionItems+"?limit=1", "")
	if want := `{"items":[{"n":3}],"first":2}`; strings.TrimSpace(a.text) != want {
		t.Errorf("the latest is %s", a.text)
	}
	a = g.call(http.MethodGet, sessionItems+"?limit=1&before=2", "")
	if want := `{"items":[{"content":[null,{"x":"<"}]}],"first":1}`; strings.TrimSpace(a.text) != want {
		t.Errorf("the one before is %s", a.text)
	}
	for range 2 {
		post(sessionItems+"/pop", "", "k1").expect(t, 200, map[string]any{"item": map[string]any{"n": 3}})
	}
	g.call(http.MethodGet, sessionItems, "", "Authorization: Bearer BETA").expect(t, 200, map[string]any{"items": []any{}})
	g.call(http.MethodDelete, sessionItems, "").expect(t, 204, nil)
	if a := post(sessionItems+"/pop", "", "k3"); strings.TrimSpace(a.text) != "{}" || a.status != 200 {
		t.Errorf("of nothing is taken off: %d %s", a.status, a.text)
	}
	g.call(http.MethodDelete, sessionItems, "").expect(t, 204, nil)
}

func TestItemsOfASessionAreBesideItsTurns(t *testing.T) {
	g := open(t)
	g.call(http.MethodPost, session+"/turns", oneTurn, "Idempotency-Key: k1").expect(t, 202, nil)
	g.call(http.MethodPost, session+"/items", `{"items":[{"n":1}]}`, "Idempotency-Key: k1").expect(t, 201, nil)
	g.call(http.MethodDelete, session+"/items", "").expect(t, 204, nil)
	g.call(http.MethodGet, session, "").expect(t, 200, nil)
	if len(g.out.msgs) != 1 {
		t.Errorf("published %d events", len(g.out.msgs))
	}
	if a := g.call(http.MethodPut, session+"/items", ""); a.header.Get("Allow") != "DELETE, GET, HEAD, POST" {
		t.Errorf("%d, Allow is %q", a.status, a.header.Get("Allow"))
	}
}

func TestItemsThatAreNone(t *testing.T) {
	g := open(t)
	for body, field := range map[string]string{
		"": "body", `{}`: "items", `{"items":[]}`: "items", `{"items":[1]}`: "items[0]",
		`{"items":[{},null]}`: "items[1]", `{"items":{}}`: "items",
		`{"items":[{},{"a":"` + strings.Repeat("x", 256<<10) + `"}]}`:                 "items[1]",
		`{"items":[` + strings.Repeat(`{},`, 1000) + `{}]}`:                           "items",
		`{"items":[{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}]}`: "",
	} {
		a := g.call(http.MethodPost, sessionItems, body, "Idempotency-Key: k")
		a.expect(t, 400, nil)
		if got, _ := a.field("errors.0.field").(string); got != field {
			t.Errorf("%.100s: %.300s", body, a.text)
		}
	}
	g.call(http.MethodPost, sessionItems, `{"items":[{}]}`).expect(t, 400,
		map[string]any{"errors.0.field": "Idempotency-Key"})
	g.call(http.MethodPost, sessionItems+"/pop", "").expect(t, 400, map[string]any{"errors.0.field": "Idempotency-Key"})
	for _, limit := range []string{"0", "10001", "x", ""} {
		g.call(http.MethodGet, sessionItems+"?limit="+limit, "").expect(t, 400, map[string]any{"errors.0.field": "limit"})
	}
	g.call(http.MethodGet, sessionItems, "").expect(t, 200, map[string]any{"items": []any{}})
}

func TestARequestThatFailsMayBeRepeated(t *testing.T) {
	g := open(t)
	g.call(http.MethodPost, sessionItems, `{"items":[{"n":1},{"n":2}]}`, "Idempotency-Key: k1").expect(t, 201, nil)
	g.redis.SetError("LOADING of secrets")
	for _, a := range []answer{
		g.batch(`{"op":"list_namespaces"}`), g.batch(putOf("a", "k", `{}`)), g.call(http.MethodGet, sessionItems, ""),
		g.call(http.MethodDelete, sessionItems, ""), g.call(http.MethodPost, sessionItems+"/pop", "", "Idempotency-Key: k2"),
	} {
		a.expect(t, 503, map[string]any{"code": "unavailable"})
		if a.header.Get("Retry-After") == "" || strings.Contains(a.text, "secrets") {
			t.Errorf("%v %s", a.header, a.text)
		}
	}
	g.redis.SetError("")
	g.call(http.MethodPost, sessionItems+"/pop", "", "Idempotency-Key: k2").expect(t, 200, map[string]any{"item.n": 2})
}

func TestEachItemIsTakenOffOnceOverREST(t *testing.T) {
	g := open(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	taken := map[any]int{}
	for i := range 20 {
		body := fmt.Sprintf(`{"items":[{"n":%d}]}`, i)
		g.call(http.MethodPost, sessionItems, body, fmt.Sprint("Idempotency-Key: k", i)).expect(t, 201, nil)
	}
	for i := range 20 {
		all.Go(func() {
			a := g.call(http.MethodPost, sessionItems+"/pop", "", fmt.Sprint("Idempotency-Key: k", i))
			a.expect(t, 200, nil)
			mu.Lock()
			defer mu.Unlock()
			taken[a.field("item.n")]++
		})
	}
	all.Wait()
	if len(taken) != 20 || taken[nil] > 0 {
		t.Errorf("taken off are %v", taken)
	}
}

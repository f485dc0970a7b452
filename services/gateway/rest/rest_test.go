package rest_test

import (
	"net/http"
	"strings"
	"testing"
)

const (
	user  = "/v1/tenants/self/users/ines"
	turns = user + "/sessions/s/turns"
)

func TestTurnsGoToTheBus(t *testing.T) {
	g := open(t)
	body := `{"turns":[{"id":"t1","role":"user","speaker":"Ines","text":"I live in Porto."}]}`
	g.call(http.MethodPost, turns, body).expect(t, 400, nil)
	g.call(http.MethodPost, turns, body, "Idempotency-Key: a").expect(t, 202, map[string]any{"turns.0.id": "t1"})
	again := g.call(http.MethodPost, turns, body, "Idempotency-Key: a")
	again.expect(t, 202, map[string]any{"turns.0.id": "t1"})
	if len(g.out.msgs) != 1 || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("published %d events, answered again with %v", len(g.out.msgs), again.header)
	}
	g.call(http.MethodPost, turns, strings.Replace(body, "Porto", "Faro", 1), "Idempotency-Key: a").expect(t, 422, nil)
}

func TestWhatIsRead(t *testing.T) {
	g := open(t)
	g.call(http.MethodPost, user+"/recall", `{"query":"Where does Ines live?"}`).expect(t, 200, nil)
	g.call(http.MethodGet, user+"/memories", "").expect(t, 200, map[string]any{"memories.0.id": first})
	one := g.call(http.MethodGet, user+"/memories/"+first, "")
	one.expect(t, 200, nil)
	if tag := one.header.Get("ETag"); tag == "" || g.call(http.MethodGet, user+"/memories/"+first, "", "If-None-Match: "+tag).status != 304 {
		t.Errorf("ETag %q", tag)
	}
	g.letters.all = letterList(1)
	g.call(http.MethodGet, "/v1/tenants/self/dead-letters", "").expect(t, 200, nil)
}

func TestBadInputNamesTheField(t *testing.T) {
	g := open(t)
	for body, field := range map[string]string{
		`{"query":"q","colour":1}`: "colour", `{"query":7}`: "query", `{"query":"q","memories":-1}`: "memories", `{}`: "query",
	} {
		a := g.call(http.MethodPost, user+"/recall", body)
		a.expect(t, 400, nil)
		if !strings.Contains(a.text, field) {
			t.Errorf("%s: %s", body, a.text)
		}
	}
	for _, body := range []string{"{", "\xff", strings.Repeat("[", 1000)} {
		g.call(http.MethodPost, user+"/recall", body).expect(t, 400, nil)
	}
	g.call(http.MethodGet, "/v1/tenants/self/nothing", "").expect(t, 404, nil)
}

func TestTheDescriptionIsPublic(t *testing.T) {
	g := open(t)
	for path, want := range map[string]string{"/openapi.json": `"3.1.`, "/docs": "Mneme"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := g.do(r); a.status != 200 || !strings.Contains(a.text, want) {
			t.Errorf("%s: %d %.200s", path, a.status, a.text)
		}
	}
}

package rest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
)

const lines = "Content-Type: application/x-ndjson"

func TestAnExportIsJSONLines(t *testing.T) {
	g := open(t)
	a := g.call(http.MethodGet, ines+"/export", "")
	a.expect(t, 200, nil)
	if a.text != "{\"header\":1}\n{\"memory\":1}\n" || a.header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%q %q", a.header.Get("Content-Type"), a.text)
	}
}

func TestAnExportThatFails(t *testing.T) {
	g := open(t)
	g.behind.fail = rpcerror.Because(connect.CodeAborted, rpcerror.ReasonChanged,
		errors.New("the memory was written meanwhile"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+ines+"/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer ALL")
	res, err := g.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("half an export looks like a whole one: %q", text)
	}
	g.behind.export = nil
	g.call(http.MethodGet, ines+"/export", "").expect(t, 409, map[string]any{"code": "changed_meanwhile"})
}

func TestAnImportInPages(t *testing.T) {
	g := open(t)
	a := g.call(http.MethodPost, ines+"/import", "{\"header\":1}\n{\"memory\":1}\n{\"memory\":2}\n", lines)
	a.expect(t, 200, map[string]any{"so_far.memories": 2, "embedded_anew": false})
	asked := g.behind.asked.(*mnemev1.ImportUserRequest)
	if asked.GetHeader() != `{"header":1}` || string(asked.GetLines()) != "{\"memory\":1}\n{\"memory\":2}\n" ||
		asked.GetFirstLine() != 2 ||
		asked.GetSoFar() != nil || asked.GetUserId() != "ines" {
		t.Errorf("asked for %v", asked)
	}
	next, _ := a.field("next_cursor").(string)
	last := g.call(http.MethodPost, ines+"/import?cursor="+next, "{\"header\":1}\n{\"memory\":3}", lines)
	last.expect(t, 200, map[string]any{"so_far.memories": 4})
	if next == "" || strings.Contains(last.text, "next_cursor") {
		t.Errorf("the first page answers the cursor %q, the last %s", next, last.text)
	}
	if asked := g.behind.asked.(*mnemev1.ImportUserRequest); asked.GetFirstLine() != 4 ||
		asked.GetSoFar().GetMemories() != 2 {
		t.Errorf("asked for %v", asked)
	}
	for _, bad := range []string{"x", "e30x", "bnVsbA%3D", "W10"} {
		g.call(http.MethodPost, ines+"/import?cursor="+bad, "{}\n", lines).expect(t, 400,
			map[string]any{"errors.0.field": "cursor"})
	}
	g.call(http.MethodPost, ines+"/import", "", lines).expect(t, 400, nil)
	g.call(http.MethodPost, ines+"/import", "{}\n{\"turn\":{\"text\":\"\\ud800\"}}\n", lines).expect(t, 400,
		map[string]any{"errors.0.field": "turn.text"})
	g.call(http.MethodPost, ines+"/import", strings.Repeat("[", 1000)+`"\ud800`, lines).expect(t, 400,
		map[string]any{"code": "malformed_body"})
	g.call(http.MethodPost, ines+"/import", "{}", "Content-Type: application/json").expect(t, 415, nil)
	g.call(http.MethodPost, ines+"/import", "\xff\n", lines).expect(t, 400, nil)
	g.call(http.MethodPost, ines+"/import", strings.Repeat("x", 8<<20), lines).expect(t, 413,
		map[string]any{"code": "too_large"})
	g.behind.fail = connect.NewError(connect.CodeInvalidArgument, errors.New("line 2: memory.kind: is \"gossip\""))
	g.call(http.MethodPost, ines+"/import", "{}\n{}\n", lines).expect(t, 400,
		map[string]any{"detail": "line 2: memory.kind: is \"gossip\""})
	g.behind.fail = connect.NewError(connect.CodeFailedPrecondition, errors.New("the bank is not empty"))
	g.call(http.MethodPost, ines+"/import", "{}\n{}\n", lines).expect(t, 409, nil)
}

func TestAnErasure(t *testing.T) {
	g := open(t)
	a := g.call(http.MethodDelete, ines, "")
	a.expect(t, 202, map[string]any{"erasure_id": "a new one", "status_url": ines + "/erasures/a%20new%20one"})
	status, _ := a.field("status_url").(string)
	g.call(http.MethodGet, status, "").expect(t, 200, map[string]any{"state": "done", "done_at": now, "rounds": 1})
	if asked := g.behind.asked.(*mnemev1.GetErasureRequest); asked.GetErasureId() != "a new one" {
		t.Errorf("asked for %v", asked)
	}
	g.call(http.MethodGet, ines+"/erasures/"+runs, "").expect(t, 200, map[string]any{
		"state": "running", "started_at": now, "rounds": 4, "remaining.0.store": "dead letters", "remaining.0.count": 2,
		"remaining.0.since": now, "remaining.0.error": "unavailable",
	})
	one := g.call(http.MethodDelete, ines, "", "Idempotency-Key: k1")
	two := g.call(http.MethodDelete, ines, "", "Idempotency-Key: k1")
	three := g.call(http.MethodDelete, self+"/users/ben", "", "Idempotency-Key: k1")
	if one.text != two.text || one.field("erasure_id") == three.field("erasure_id") || one.status != 202 {
		t.Errorf("%s, %s, %s", one.text, two.text, three.text)
	}
	g.call(http.MethodDelete, ines, "", "Idempotency-Key: a b").expect(t, 400,
		map[string]any{"errors.0.field": "Idempotency-Key"})
	g.behind.fail = connect.NewError(connect.CodeAborted, errors.New("the erasure was ended"))
	g.call(http.MethodGet, status, "").expect(t, 409, nil)
}

func TestAScan(t *testing.T) {
	g := open(t)
	g.call(http.MethodGet, ines+"/scan", "").expect(t, 200, map[string]any{
		"counts.0.store": "memories", "counts.0.count": 2, "transport.0.topic": "mneme.session-events",
		"transport.0.texts":        true,
		"transport.0.retention_ms": -1,
	})
}

package mem0_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestEvents(t *testing.T) {
	g := open(t)
	first := g.add(object{"messages": says("I live in Porto."), "user_id": "ines", "run_id": "r1"})
	if got := g.do("GET", "/v1/event/"+first+"/", nil).object(); got["status"] != "PENDING" || got["results"] != nil ||
		got["run_id"] != "r1" {
		t.Errorf("before it is formed: %v", got)
	}
	g.formAll()
	got := g.do("GET", "/v1/event/"+first+"/", nil)
	r := got.results()[0]
	if got.object()["status"] != "SUCCEEDED" || r["event"] != "ADD" || r["memory"] != "I live in Porto." ||
		r["data"].(object)["memory"] != "I live in Porto." || r["user_id"] != "ines" {
		t.Errorf("when it is formed: %s", got.body)
	}
	g.clock.set(start.Add(time.Minute))
	second := g.add(object{"messages": []object{{"role": "assistant", "content": "Hello."}}, "agent_id": "bot"})
	third := g.add(object{"messages": says("x"), "user_id": "ines"})
	listed := func(query string) string {
		var out []string
		for _, e := range g.do("GET", "/v1/events/"+query, nil).results() {
			out = append(out, fmt.Sprint(e["id"], " ", e["status"], " ", e["user_id"]))
		}
		return strings.Join(out, ", ")
	}
	pending := []string{second + " PENDING <nil>", third + " PENDING ines"}
	if second < third { // of the same moment: by their ids, the last first
		pending[0], pending[1] = pending[1], pending[0]
	}
	if got, want := listed(""), strings.Join(append(pending, first+" SUCCEEDED ines"), ", "); got != want {
		t.Errorf("events are %s, want %s", got, want)
	}
	if got := listed("?page=3&page_size=1&event_type=ADD"); got != first+" SUCCEEDED ines" {
		t.Errorf("the last page is %s", got)
	}
	g.formAll()
	if got := g.do("GET", "/v1/event/"+second+"/", nil); got.object()["status"] != "SUCCEEDED" || len(got.results()) != 0 {
		t.Errorf("of what is not worth a memory: %s", got.body)
	}
	if got := listed(""); strings.Contains(got, "PENDING") {
		t.Errorf("events are %s", got)
	}
	g.call("ALL", "GET", "/v1/events/?event_type=SEARCH", nil).refused(400, "event_type: is not ADD")
	g.call("ALL", "GET", "/v1/events/?page=x", nil).refused(400, "page:")
	g.redis.FastForward(8 * 24 * time.Hour)
	g.call("ALL", "GET", "/v1/event/"+first+"/", nil).refused(404, "no such event")
}

func TestUsers(t *testing.T) {
	g := open(t)
	for i, who := range []object{{"user_id": "ines"}, {"agent_id": "bot"}, {"user_id": "ben"}, {"user_id": "ines"}} {
		g.clock.set(start.Add(time.Duration(i) * time.Hour))
		who["messages"] = says("x")
		g.add(who)
	}
	got := g.do("GET", "/v1/entities/?page=1&page_size=2", nil)
	list := got.results()
	if len(list) != 2 || list[0]["id"] != "ines" || list[1]["name"] != "ben" || got.object()["count"] != 3.0 ||
		got.object()["next"] == nil {
		t.Errorf("entities are %s", got.body)
	}
	if list[0]["created_at"] != "2026-03-01T12:00:00Z" || list[0]["updated_at"] != "2026-03-01T15:00:00Z" {
		t.Errorf("ines is %v", list[0])
	}
	if list = g.do("GET", "/v1/entities/?page=2&page_size=2", nil).results(); len(list) != 1 ||
		list[0]["type"] != "agent" || list[0]["id"] != "bot" {
		t.Errorf("the second page is %v", list)
	}
}

func TestDeleteAllNeverWidens(t *testing.T) {
	g := open(t)
	g.remember("ines", "I live in Porto.")
	for query, detail := range map[string]string{
		"":  "user_id: must be set alone",
		"?": "user_id: must be set alone",
		"?filters=%7B%27user_id%27%3A+%27x%27%7D":   "filters: is unknown, and the call erased nothing",
		"?filters=%5Bobject+Object%5D&user_id=ines": "filters: is unknown",
		"?user_id=*":                     "user_id: is `*`",
		"?user_id=":                      "user_id: is empty",
		"?user_id=%5Bobject+Object%5D":   "user_id: is not one id",
		"?user_id=ines&user_id=ben":      "user_id: is not one id",
		"?user_id=ines&agent_id=bot":     "must be set alone",
		"?user_id=ines&run_id=r1":        "must be set alone",
		"?user_id=ines&metadata=x":       "metadata: is unknown",
		"?userId=ines":                   "userId: is unknown",
		"?user_id=ines&project_id=other": "project_id: is not the one of the API key",
		"?user_id=%zz":                   "query of the URL",
	} {
		g.call("ALL", "DELETE", "/v1/memories/"+query, nil).refused(http.StatusBadRequest, detail)
	}
	g.call("ALL", "DELETE", "/v1/memories/", object{"user_id": "ines"}).refused(400, "the call reads no body")
	g.call("ALL", "DELETE", "/v2/entities/user/*/", nil).refused(400, "entity_id: is `*`")
	g.call("ALL", "DELETE", "/v2/entities/team/x/", nil).refused(400, "entity_type: is invalid")
	g.call("ALL", "DELETE", "/v1/memories/?run_id=r1", nil).refused(501, "a run is a session of a user here")
	g.call("ALL", "DELETE", "/v2/entities/run/r1/", nil).refused(501, "a run is a session of a user here")
	if len(g.erased) != 0 {
		t.Fatalf("erased %v", g.erased)
	}
	for query, user := range map[string]string{"?user_id=ines&source=CLI&org_id=acme": "ines",
		"?agent_id=bot": "agent:bot", "?app_id=shop": "app:shop"} {
		event, _ := g.do("DELETE", "/v1/memories/"+query, nil).object()["event_id"].(string)
		if last := g.erased[len(g.erased)-1]; last != (memory.Scope{Tenant: "acme", User: user}) {
			t.Errorf("%s erases %v", query, last)
		}
		if got := g.do("GET", "/v1/event/"+event+"/", nil).object(); got["status"] != "SUCCEEDED" ||
			got["event_type"] != "DELETE" {
			t.Errorf("the event is %v", got)
		}
		if got := g.call("BETA", "GET", "/v1/event/"+event+"/", nil).object(); got["status"] != "PENDING" {
			t.Errorf("another tenant sees %v", got)
		}
	}
	g.add(object{"messages": says("x"), "run_id": "alone"})
	g.do("DELETE", "/v2/entities/run/alone/", nil)
}

func TestErasingForgets(t *testing.T) {
	g := open(t)
	event := g.add(object{"messages": says("I live in Porto."), "user_id": "ines", "metadata": object{"a": "b"}})
	g.formAll()
	g.add(object{"messages": says("x"), "user_id": "ben"})
	export, _ := g.do("POST", "/v1/exports/", object{"schema": "x", "user_id": "ines"}).object()["id"].(string)
	g.do("POST", "/v3/memories/search/", object{"query": "x", "user_id": "ines"})
	ines := memory.Scope{Tenant: "acme", User: "ines"}
	// the event, the export, the search, and two entries of the user
	if n, err := g.state.Count(t.Context(), ines, ""); err != nil || n != 5 {
		t.Errorf("%d are kept, %v", n, err)
	}
	g.do("DELETE", "/v1/memories/?user_id=ines", nil)
	if err := g.state.Erase(t.Context(), ines, "erasure-1"); err != nil {
		t.Fatal(err)
	}
	if n, err := g.state.Count(t.Context(), ines, ""); err != nil || n != 0 {
		t.Errorf("%d are left, %v", n, err)
	}
	for _, k := range g.redis.Keys() {
		if dump := g.redis.Dump(); strings.Contains(dump, "ines") {
			t.Fatalf("something is left of ines, at %s: %s", k, dump)
		}
	}
	g.call("ALL", "GET", "/v1/event/"+event+"/", nil).refused(404, "no such event")
	g.call("ALL", "POST", "/v1/exports/get/", object{"memory_export_id": export}).refused(404, "no such export")
	if list := g.do("GET", "/v1/entities/", nil).results(); len(list) != 1 || list[0]["id"] != "ben" {
		t.Errorf("entities are %v", list)
	}
	if list := g.do("GET", "/v1/events/", nil).results(); len(list) != 1 {
		t.Errorf("events are %v", list)
	}
}

func TestErasingThatFails(t *testing.T) {
	g := open(t)
	g.add(object{"messages": says("x"), "user_id": "ines"})
	g.failing[mnemev1connect.UserDataServiceEraseUserProcedure] = errors.New("away")
	if got := g.call("ALL", "DELETE", "/v1/memories/?user_id=ines", nil); got.status < 500 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if list := g.do("GET", "/v1/entities/", nil).results(); len(list) != 1 {
		t.Errorf("what is not erased is forgotten: %v", list)
	}
}

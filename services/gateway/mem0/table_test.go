package mem0_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestEveryRow goes through every call of mem0's clients. ID is a memory of ines, EVENT the event of it.
func TestEveryRow(t *testing.T) {
	const project = "/api/v1/orgs/organizations/acme/projects/acme/"
	for _, tt := range []struct {
		name, method, path string
		body               any
		status             int
		want               string // part of the answer
	}{
		{"init", "GET", "/v1/ping/", nil, 200, `"project_id":"acme"`},
		{"init without the slash", "GET", "/v1/memories/ID", nil, 200, `"memory":"I live in Porto."`},
		{"add", "POST", "/v3/memories/add/", object{"messages": says("I like tea."), "user_id": "ines"}, 200,
			`"status":"PENDING"`},
		{"search", "POST", "/v3/memories/search/", object{"query": "Porto", "filters": object{"user_id": "ines"}}, 200,
			`"memory":"I live in Porto."`},
		{"get_all", "POST", "/v3/memories/?page=1&page_size=50", object{"filters": object{"user_id": "ines"}}, 200,
			`"count":1,"next":null`},
		{"get", "GET", "/v1/memories/ID/", nil, 200, `"user_id":"ines"`},
		{"update", "PUT", "/v1/memories/ID/", object{"text": "I live in Lisbon."}, 200, `"memory":"I live in Lisbon."`},
		{"delete", "DELETE", "/v1/memories/ID/?delete_linked=true", nil, 200, `"message"`},
		{"delete_all", "DELETE", "/v1/memories/?user_id=ines", nil, 200, `"event_id":"erasure.`},
		{"history", "GET", "/v1/memories/ID/history/", nil, 200, `"old_memory":null,"new_memory":"I live in Porto."`},
		{"users", "GET", "/v1/entities/", nil, 200, `"name":"ines","type":"user"`},
		{"delete_users", "DELETE", "/v2/entities/user/ines/", nil, 200, `"message"`},
		{"delete_users of JS", "DELETE", "/v1/entities/user/ines/", nil, 200, `"message"`},
		{"batch_update", "PUT", "/v1/batch/", object{"memories": []object{{"memory_id": "ID", "text": "x"}}}, 200,
			`updated 1 memories`},
		{"batch_delete", "DELETE", "/v1/batch/", object{"memories": []object{{"memory_id": "ID"}}}, 200,
			`deleted 1 memories`},
		{"feedback", "POST", "/v1/feedback/", object{"memory_id": "ID", "feedback": "POSITIVE", "feedback_reason": nil}, 201,
			`"message":"Accepted.`},
		{"export", "POST", "/v1/exports/", object{"schema": object{}, "filters": object{"user_id": "ines"}}, 201,
			`"message"`},
		{"get of an export", "POST", "/v1/exports/get/", object{"user_id": "ines"}, 200, `"memory":"I live in Porto."`},
		{"summary", "POST", "/v1/summary/", object{"filters": object{"user_id": "ines"}}, 200,
			`"summary":"recent:\n- I live in Porto."`},
		{"profile", "GET", "/v2/entities/user/ines/profile/", nil, 200,
			`"profile":{"recent":["I live in Porto."]},"status":"succeeded"`},
		{"get_webhooks", "GET", "/api/v1/webhooks/projects/acme/", nil, 200, `[]`},
		{"project", "GET", project + "?fields=custom_instructions", nil, 200, `{"custom_instructions":null}`},
		{"update of the project", "PATCH", project, object{"custom_instructions": "x"}, 501, "strategy of forming memory"},
		{"making projects", "POST", "/api/v1/orgs/organizations/acme/projects/", object{"name": "x"}, 501,
			"projects have no meaning"},
		{"removing projects", "DELETE", project, nil, 501, "projects have no meaning"},
		{"members", "GET", project + "members/", nil, 501, "members have no meaning"},
		{"adding members", "POST", project + "members/", object{"email": "x"}, 501, "members have no meaning"},
		{"changing members", "PUT", project + "members/", object{"email": "x"}, 501, "members have no meaning"},
		{"removing members", "DELETE", project + "members/?email=x", nil, 501, "members have no meaning"},
		{"generate_profile", "POST", "/v2/profiles/jobs/", object{"operation": "trigger"}, 501, "whenever it is asked for"},
		{"get_profile_job", "GET", "/v2/profiles/jobs/1/", nil, 501, "whenever it is asked for"},
		{"get_profile_settings", "GET", "/v2/profiles/settings/", nil, 501, "whenever it is asked for"},
		{"update_profile_settings", "POST", "/v2/profiles/settings/", object{"enabled": true}, 501,
			"whenever it is asked for"},
		{"event", "GET", "/v1/event/EVENT/", nil, 200, `"status":"SUCCEEDED"`},
		{"events", "GET", "/v1/events/", nil, 200, `"event_type":"ADD","status":"SUCCEEDED"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := open(t)
			event := g.add(object{"messages": says("I live in Porto."), "user_id": "ines"})
			g.formAll()
			id, _ := g.do("GET", "/v1/event/"+event+"/", nil).results()[0]["id"].(string)
			put := strings.NewReplacer("ID", id, "EVENT", event)
			if batch, ok := tt.body.(object); ok {
				for _, of := range []object{batch} {
					if of["memory_id"] == "ID" {
						of["memory_id"] = id
					}
				}
				if list, ok := batch["memories"].([]object); ok {
					list[0]["memory_id"] = id
				}
			}
			got := g.call("ALL", tt.method, strings.ReplaceAll(put.Replace(tt.path), "EVENT", event), tt.body)
			if got.status != tt.status || !strings.Contains(got.body, tt.want) {
				t.Errorf("%s: %d %s, want %d with %s", got.call, got.status, got.body, tt.status, tt.want)
			}
			if kind := got.header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("content type %q", kind)
			}
		})
	}
}

func TestPathsAreEscaped(t *testing.T) {
	g := open(t)
	user := "a/b ü?%2F"
	g.remember(user, "I live in Porto.")
	for _, encoded := range []string{"id%2F1", "%2e%2e", url.PathEscape(strings.Repeat("x", 10_000)), "a%00b",
		"erasure.x.y"} {
		g.call("ALL", "GET", "/v1/memories/"+encoded+"/", nil).refused(http.StatusNotFound, "no such memory")
		g.call("ALL", "GET", "/v1/memories/"+encoded+"/history/", nil).refused(http.StatusNotFound, "no such memory")
		g.call("ALL", "DELETE", "/v1/memories/"+encoded+"/", nil).refused(http.StatusNotFound, "no such memory")
		g.call("ALL", "GET", "/v1/event/"+encoded+"/", nil).refused(http.StatusNotFound, "no such event")
	}
	g.call("ALL", "GET", "/v1/memories/%FF/", nil).refused(http.StatusBadRequest,
		"memory_id: is not percent-encoded UTF-8")
	if got := g.do("GET", "/v2/entities/user/"+url.PathEscape(user)+"/profile/", nil).object(); got["entity_id"] != user ||
		got["status"] != "succeeded" {
		t.Errorf("profile is %v", got)
	}
	g.do("DELETE", "/v2/entities/user/"+url.PathEscape(user)+"/", nil)
	if len(g.erased) != 1 || g.erased[0].User != user {
		t.Errorf("erased %v", g.erased)
	}
}

func TestWhatIsNowhere(t *testing.T) {
	g := open(t)
	for _, path := range []string{"/v1/memories/", "/v3/", "/v3/memories/other/x/", "/v2/memories/", "/api/v1/other/"} {
		if got := g.call("ALL", "POST", path, object{}); path == "/v1/memories/" {
			got.refused(http.StatusMethodNotAllowed, "want DELETE")
		} else if got.status != http.StatusNotFound && got.status != http.StatusTemporaryRedirect {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	got := g.call("ALL", "PATCH", "/v1/memories/x/", object{})
	got.refused(http.StatusMethodNotAllowed, "want DELETE, GET, PUT")
	if got.header.Get("Allow") != "DELETE, GET, PUT" {
		t.Errorf("Allow is %q", got.header.Get("Allow"))
	}
}

func TestKeys(t *testing.T) {
	g := open(t)
	g.call("NOBODY", "GET", "/v1/ping/", nil).refused(http.StatusUnauthorized, "not known")
	g.call("READ", "POST", "/v3/memories/add/",
		object{"messages": says("x"), "user_id": "ines"}).refused(http.StatusForbidden, "ingest")
	g.call("READ", "POST", "/v3/memories/add/",
		object{"messages": says("x"), "user_id": "ines", "infer": false}).refused(http.StatusForbidden, "ingest")
	id := g.remember("ines", "I live in Porto.")
	g.call("READ", "PUT", "/v1/memories/"+id+"/", object{"text": "x"}).refused(http.StatusForbidden, "erase")
	g.call("READ", "PUT", "/v1/memories/"+id+"/", object{"metadata": object{"a": 1}}).refused(http.StatusForbidden,
		"erase")
	g.call("READ", "DELETE", "/v1/memories/"+id+"/", nil).refused(http.StatusForbidden, "erase")
	g.call("READ", "DELETE", "/v1/memories/?user_id=ines", nil).refused(http.StatusForbidden, "erase")
	g.call("READ", "GET", "/api/v1/webhooks/projects/acme/", nil).refused(http.StatusForbidden, "admin")
	for _, path := range []string{"/v1/entities/", "/v1/events/", "/v1/memories/" + id + "/"} {
		g.call("INGEST", "GET", path, nil).refused(http.StatusForbidden, "read")
	}
	g.call("INGEST", "POST", "/v1/exports/", object{"schema": "x", "user_id": "ines"}).refused(http.StatusForbidden,
		"read")
	g.call("INGEST", "POST", "/v3/memories/search/", object{"query": "x", "user_id": "ines"}).refused(http.StatusForbidden,
		"recall")
}

func TestOtherTenants(t *testing.T) {
	g := open(t)
	event := g.add(object{"messages": says("I live in Porto."), "user_id": "ines"})
	g.formAll()
	id, _ := g.do("GET", "/v1/event/"+event+"/", nil).results()[0]["id"].(string)
	export, _ := g.do("POST", "/v1/exports/", object{"schema": "x", "user_id": "ines"}).object()["id"].(string)
	for _, path := range []string{"/v1/memories/" + id + "/", "/v1/memories/" + id + "/history/",
		"/v1/event/" + event + "/"} {
		g.call("BETA", "GET", path, nil).refused(http.StatusNotFound, "there is no such")
	}
	g.call("BETA", "PUT", "/v1/memories/"+id+"/", object{"text": "x"}).refused(http.StatusNotFound, "no such memory")
	g.call("BETA", "DELETE", "/v1/memories/"+id+"/", nil).refused(http.StatusNotFound, "no such memory")
	g.call("BETA", "PUT", "/v1/batch/", object{"memories": []object{{"memory_id": id,
		"text": "x"}}}).refused(http.StatusNotFound, "memories[0]")
	g.call("BETA", "POST", "/v1/feedback/", object{"memory_id": id, "feedback": "POSITIVE"}).refused(http.StatusNotFound,
		"no such memory")
	g.call("BETA", "POST", "/v1/exports/get/", object{"memory_export_id": export}).refused(http.StatusNotFound,
		"no such export")
	g.call("BETA", "GET", "/api/v1/webhooks/projects/acme/", nil).refused(http.StatusNotFound,
		"no such organisation or project")
	g.call("BETA", "GET", "/api/v1/orgs/organizations/acme/projects/beta/", nil).refused(http.StatusNotFound,
		"no such organisation")
	g.call("BETA", "DELETE", "/v1/memories/?user_id=ines&org_id=acme", nil).refused(http.StatusBadRequest, "org_id")
	for _, path := range []string{"/v1/entities/", "/v1/events/"} {
		if got := g.call("BETA", "GET", path, nil).results(); len(got) != 0 {
			t.Errorf("%s shows %v to another tenant", path, got)
		}
	}
	for _, path := range []string{"/v3/memories/", "/v3/memories/search/"} {
		if got := g.call("BETA", "POST", path, object{"query": "Porto",
			"filters": object{"user_id": "ines"}}).results(); len(got) != 0 {
			t.Errorf("%s shows %v to another tenant", path, got)
		}
	}
}

func TestKeyOfOneUser(t *testing.T) {
	g := open(t)
	event := g.add(object{"messages": says("I live in Porto."), "user_id": "ines"})
	g.formAll()
	foreign, _ := g.do("GET", "/v1/event/"+event+"/", nil).results()[0]["id"].(string)
	own, _ := g.call("BEN", "POST", "/v3/memories/add/",
		object{"messages": says("I like tea."), "agent_id": "bot"}).object()["event_id"].(string)
	g.formAll()
	got := g.call("BEN", "GET", "/v1/event/"+own+"/", nil)
	id, _ := got.results()[0]["id"].(string)
	if m := g.call("BEN", "GET", "/v1/memories/"+id+"/", nil).object(); m["user_id"] != "ben" || m["agent_id"] != "bot" {
		t.Errorf("the memory is %v", m)
	}
	for _, filters := range []object{{}, {"user_id": "ben"}, {"agent_id": "bot"},
		{"AND": []object{{"user_id": "ben"}, {"agent_id": "*"}}}} {
		for _, path := range []string{"/v3/memories/", "/v3/memories/search/"} {
			if said := g.call("BEN", "POST", path, object{"query": "tea", "filters": filters}).said(); said != "I like tea." {
				t.Errorf("%s by %v: %q", path, filters, said)
			}
		}
	}
	if said := g.call("BEN", "POST", "/v3/memories/", object{"filters": object{"agent_id": "other"}}).said(); said != "" {
		t.Errorf("of another agent: %q", said)
	}
	for _, path := range []string{"/v1/memories/" + foreign + "/", "/v1/event/" + event + "/"} {
		g.call("BEN", "GET", path, nil).refused(http.StatusNotFound, "there is no such")
	}
	g.call("BEN", "POST", "/v3/memories/", object{"filters": object{"user_id": "ines"}}).refused(http.StatusForbidden,
		"another user")
	g.call("BEN", "POST", "/v3/memories/add/", object{"messages": says("x"),
		"user_id": "ines"}).refused(http.StatusForbidden, "another user")
	g.call("BEN", "DELETE", "/v1/memories/?user_id=ines", nil).refused(http.StatusForbidden, "another user")
	g.call("BEN", "DELETE", "/v1/memories/", nil).refused(http.StatusBadRequest, "user_id")
	if got := g.call("BEN", "GET", "/v1/entities/", nil).results(); len(got) != 1 || got[0]["name"] != "ben" {
		t.Errorf("entities are %v", got)
	}
	if got := g.call("BEN", "GET", "/v1/entities/?page=2", nil).results(); len(got) != 0 {
		t.Errorf("the second page is %v", got)
	}
	if got := g.call("BEN", "GET", "/v1/events/", nil).results(); len(got) != 1 || got[0]["id"] != own {
		t.Errorf("events are %v", got)
	}
	g.call("BEN", "GET", "/api/v1/webhooks/projects/acme/", nil).refused(http.StatusForbidden, "another user")
}

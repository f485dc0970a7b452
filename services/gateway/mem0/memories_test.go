package mem0_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

func TestUpdateKeepsTheOldID(t *testing.T) {
	g := open(t)
	g.add(object{"messages": says("I live in Porto."), "user_id": "ines", "run_id": "r1",
		"metadata": object{"source": "form", "n": 7}})
	g.formAll()
	id, _ := g.do("POST", "/v3/memories/", object{"user_id": "ines"}).results()[0]["id"].(string)
	path := "/v1/memories/" + id + "/"
	first := g.do("PUT", path, object{"text": "I live in Lisbon."})
	second := g.do("PUT", path, object{"text": "I live in Faro.", "timestamp": 1_767_225_600}).object()
	if o := first.object(); o["id"] != id || o["version"] != 2.0 || o["memory"] != "I live in Lisbon." ||
		!strings.Contains(first.body, `"n":7`) {
		t.Errorf("the first update is %s", first.body)
	}
	if second["id"] != id || second["version"] != 3.0 || second["created_at"] != "2026-01-01T00:00:00Z" ||
		second["run_id"] != "r1" {
		t.Errorf("the second update is %v", second)
	}
	got := g.do("GET", path, nil).object()
	if got["id"] != id || got["memory"] != "I live in Faro." || got["version_id"] == id ||
		got["metadata"].(object)["source"] != "form" {
		t.Errorf("got %v", got)
	}
	listed := g.do("POST", "/v3/memories/", object{"user_id": "ines"}).results()
	if len(listed) != 1 || listed[0]["id"] != id || listed[0]["version_id"] != got["version_id"] {
		t.Errorf("listed %v", listed)
	}
	asked := last[*mnemev1.UpdateMemoryRequest](g)
	if asked.GetMemoryId() != first.object()["version_id"] || asked.GetTurn().GetRole() != mnemev1.Role_ROLE_USER ||
		asked.GetTurn().GetSpeaker() != "user" {
		t.Errorf("asked for %v", asked)
	}
	g.do("DELETE", path, nil)
	g.call("ALL", "GET", path, nil).refused(http.StatusNotFound, "deleted")
	g.call("ALL", "PUT", path, object{"text": "x"}).refused(http.StatusNotFound, "deleted")
	g.call("ALL", "DELETE", path, nil).refused(http.StatusNotFound, "deleted")
	if said := g.do("POST", "/v3/memories/", object{"user_id": "ines"}).said(); said != "" {
		t.Errorf("left is %q", said)
	}
}

func TestUpdatesKeepTheIDAndWhenItWasCreated(t *testing.T) {
	g := open(t)
	id := g.remember("ines", "I live in Porto.")
	before := g.do("GET", "/v1/memories/"+id+"/", nil).object()
	versions := []string{id}
	ines := object{"user_id": "ines"}
	check := func(what string, m object, text string, updated time.Time) {
		t.Helper()
		if m["id"] != id || m["created_at"] != before["created_at"] || m["memory"] != text ||
			m["updated_at"] != updated.Format(time.RFC3339) {
			t.Errorf("%s: %v, want %s of %v", what, m, id, before["created_at"])
		}
	}
	now := start
	for i, text := range []string{"I live in Lisbon.", "I live in Faro."} {
		now = start.Add(time.Duration(i+1) * time.Hour)
		g.clock.set(now)
		updated := g.do("PUT", "/v1/memories/"+versions[i]+"/", object{"text": text}).object() // by any id that it has had
		check("update", updated, text, now)
		version, _ := updated["version_id"].(string)
		versions = append(versions, version)
	}
	for _, known := range versions {
		check("get", g.do("GET", "/v1/memories/"+known+"/", nil).object(), "I live in Faro.", now)
		if got := g.do("GET", "/v1/memories/"+known+"/history/", nil).body; strings.Count(got, `"memory_id":"`+id+`"`) != 3 {
			t.Errorf("history: %s", got)
		}
	}
	for what, found := range map[string][]object{
		"list": g.do("POST", "/v3/memories/", ines).results(),
		"list by id": g.do("POST", "/v3/memories/",
			object{"filters": object{"user_id": "ines", "memory_ids": []string{id}}}).results(),
		"search": g.do("POST", "/v3/memories/search/", object{"query": "Faro", "filters": ines}).results(),
	} {
		if len(found) != 1 {
			t.Fatalf("%s: %v", what, found)
		}
		check(what, found[0], "I live in Faro.", now)
	}
	now = now.Add(time.Hour)
	g.clock.set(now)
	check("metadata", g.do("PUT", "/v1/memories/"+id+"/", object{"metadata": object{"a": "b"}}).object(),
		"I live in Faro.", now)
	if learned := g.do("POST", "/v1/feedback/",
		object{"memory_id": id, "feedback": "POSITIVE"}).body; !strings.Contains(learned, "learns from it") {
		t.Errorf("feedback: %s", learned)
	}
	g.do("DELETE", "/v1/memories/"+id+"/", nil)
	for _, known := range versions {
		g.call("ALL", "GET", "/v1/memories/"+known+"/", nil).refused(http.StatusNotFound, "deleted")
	}
}

// A change of metadata makes a new version. An update without a change makes no version.
func TestUpdateOfMetadata(t *testing.T) {
	g := open(t)
	id := g.remember("ines", "I live in Porto.")
	path := "/v1/memories/" + id + "/"
	g.clock.set(start.Add(time.Hour))
	for _, tt := range []struct {
		body     object
		version  float64
		metadata string
	}{
		{object{"text": "I live in Porto."}, 1, "map[speaker:user]"},
		{object{"expiration_date": nil}, 1, "map[speaker:user]"},
		{object{"metadata": object{"a": []any{1}}}, 2, "map[a:[1] speaker:user]"},
		{object{"metadata": object{"a": []any{1}}}, 2, "map[a:[1] speaker:user]"},
		{object{"text": nil, "metadata": object{"b": "c"}}, 3, "map[b:c speaker:user]"},
		{object{"text": "I live in Faro."}, 4, "map[b:c speaker:user]"},
		{object{"text": "I live in Faro.", "metadata": object{"b": "c"}}, 4, "map[b:c speaker:user]"},
		{object{"text": "I live in Rome.", "metadata": object{"d": "e"}}, 5, "map[d:e speaker:user]"},
		{object{"metadata": object{}}, 6, "map[speaker:user]"},
	} {
		got := g.do("PUT", path, tt.body).object()
		if got["version"] != tt.version || fmt.Sprint(got["metadata"]) != tt.metadata {
			t.Errorf("%v writes version %v with %v, want %v with %s", tt.body, got["version"], got["metadata"], tt.version,
				tt.metadata)
		}
		if got["id"] != id || got["created_at"] != "2026-03-01T12:00:00Z" {
			t.Errorf("%v: it is %v, created at %v", tt.body, got["id"], got["created_at"])
		}
	}
	of := func(filter object) string {
		return g.do("POST", "/v3/memories/", object{"filters": object{"AND": []object{{"user_id": "ines"}, filter}}}).said()
	}
	if got := of(object{"created_at": object{"lte": "2026-03-01T12:00:00Z"}}); got != "I live in Rome." {
		t.Errorf("created at its first version: %q", got)
	}
	if got := of(object{"created_at": object{"gt": "2026-03-01T12:00:00Z"}}); got != "" {
		t.Errorf("created when it was updated: %q", got)
	}
}

// An update of metadata alone keeps the memory's time. Relative times in its text keep their meaning.
func TestUpdateOfMetadataKeepsTheTime(t *testing.T) {
	g := open(t)
	id := g.remember("ines", "I went to Porto yesterday.")
	g.clock.set(start.Add(48 * time.Hour))
	g.do("PUT", "/v1/memories/"+id+"/", object{"metadata": object{"a": "b"}})
	if at := last[*mnemev1.UpdateMemoryRequest](g).GetTurn().GetTime().AsTime(); !at.Equal(start) {
		t.Errorf("the turn is said at %v, want %v", at, start)
	}
	g.do("PUT", "/v1/memories/"+id+"/", object{"text": "I went to Faro yesterday."})
	if at := last[*mnemev1.UpdateMemoryRequest](g).GetTurn().GetTime().AsTime(); !at.Equal(start.Add(48 * time.Hour)) {
		t.Errorf("the turn is said at %v, want now", at)
	}
}

func TestUpdateRefuses(t *testing.T) {
	g := open(t)
	id := g.remember("ines", "I live in Porto.")
	g.clock.set(start.Add(time.Hour))
	for detail, body := range map[string]object{
		"text: is missing":                  {},
		"text: is a number, want text":      {"text": 5},
		"text: is empty":                    {"text": " "},
		"metadata: is text, want an object": {"metadata": "x"},
		"metadata: has 2049 bytes as JSON, want at most 2048": {
			"metadata": object{"a": strings.Repeat("x", 2041)},
		},
		"metadata.n: is a number that a double does not hold": {
			"metadata": object{"n": 12345678901234567},
		},
		"metadata.mem0_created_at: is reserved": {
			"metadata": object{"mem0_created_at": "x"},
		},
		"null for each key that goes, and the time at which the memory was created": {"text": "y",
			"metadata": object{"a": strings.Repeat("x", 2040)}},
		"timestamp: is not a time":           {"text": "x", "timestamp": "soon"},
		"timestamp: is in the year 2999":     {"text": "x", "timestamp": "2999-01-01"},
		"text: is 32769 bytes long, want at": {"text": strings.Repeat("x", 32769)},
	} {
		g.call("ALL", "PUT", "/v1/memories/"+id+"/", body).refused(http.StatusBadRequest, detail)
	}
	g.call("ALL", "PUT", "/v1/memories/"+id+"/",
		object{"text": "x", "expiration_date": "2027-01-01"}).refused(http.StatusNotImplemented, "do not expire")
	g.call("ALL", "PUT", "/v1/memories/00000000-0000-5000-8000-000000000001/",
		object{"text": "x"}).refused(http.StatusNotFound, "no such memory")
}

func TestUpdateInTheThirdPerson(t *testing.T) {
	g := open(t)
	id := g.remember("ines", "I live in Porto.")
	g.mu.Lock()
	for _, b := range g.banks {
		b.memories[0].Speaker = ""
	}
	g.mu.Unlock()
	if got := g.do("PUT", "/v1/memories/"+id+"/",
		object{"text": "Lives in Faro."}).object(); got["metadata"].(object)["speaker"] != nil {
		t.Errorf("the new version is %v", got)
	}
	if role := last[*mnemev1.UpdateMemoryRequest](g).GetTurn().GetRole(); role != mnemev1.Role_ROLE_ASSISTANT {
		t.Errorf("the role is %v", role)
	}
}

func TestHistory(t *testing.T) {
	g := open(t)
	id := g.remember("ines", "I live in Porto.")
	g.do("PUT", "/v1/memories/"+id+"/", object{"text": "I live in Faro."})
	g.clock.set(start.Add(time.Hour))
	g.do("DELETE", "/v1/memories/"+id+"/", nil)
	got := g.do("GET", "/v1/memories/"+id+"/history/", nil)
	var list []object
	for _, part := range strings.Split(got.body, `{"id":`)[1:] {
		a := answer{t: t, call: got.call, body: `{"id":` + strings.TrimRight(part, ",]")}
		list = append(list, a.object())
	}
	want := []string{"ADD <nil> I live in Porto.", "UPDATE I live in Porto. I live in Faro.",
		"DELETE I live in Faro. <nil>"}
	if len(list) != len(want) || !strings.HasPrefix(got.body, "[") {
		t.Fatalf("history is %s", got.body)
	}
	ids := map[any]bool{}
	for i, h := range list {
		if s := fmt.Sprintf("%v %v %v", h["event"], h["old_memory"], h["new_memory"]); s != want[i] {
			t.Errorf("change %d is %q, want %q", i, s, want[i])
		}
		if h["memory_id"] != id || h["user_id"] != "ines" || ids[h["id"]] {
			t.Errorf("change %d is %v", i, h)
		}
		ids[h["id"]] = true
	}
	if input := fmt.Sprint(list[0]["input"]); input != "[map[content:I live in Porto. role:user]]" {
		t.Errorf("input is %s", input)
	}
	if list[2]["updated_at"] != "2026-03-01T13:00:00Z" {
		t.Errorf("deleted at %v", list[2]["updated_at"])
	}
}

func TestBatch(t *testing.T) {
	g := open(t)
	first, second := g.remember("ines", "I live in Porto."), g.remember("ben", "I like tea.")
	unknown := "00000000-0000-5000-8000-000000000001"
	batch := func(method string, memories ...object) answer {
		return g.call("ALL", method, "/v1/batch/", object{"memories": memories})
	}
	for _, method := range []string{"PUT", "DELETE"} {
		batch(method).refused(400, "memories: has 0 memories, want 1 to 200")
		batch(method, make([]object, 201)...).refused(400, "memories: has 201 memories")
		batch(method, object{"text": "x"}).refused(400, "memories[0].memory_id: is missing")
		batch(method, object{"memory_id": 5}).refused(400, "memories[0].memory_id: is a number, want text")
		batch(method, object{"memory_id": first, "text": "x"}, object{"memory_id": unknown, "text": "x"}).refused(404,
			"memories[1]: there is no such memory")
		batch(method, object{"memory_id": first, "text": "x"}, object{"memory_id": first, "text": "y"}).refused(400,
			"memories[1].memory_id: has the same memory as memories[0]")
		g.call("ALL", method, "/v1/batch/", object{"memories": []any{"x"}}).refused(400,
			"memories[0]: is text, want an object")
		g.call("ALL", method, "/v1/batch/", object{"memories": "x"}).refused(400, "memories: is text, want a list")
	}
	batch("PUT", object{"memory_id": first, "text": 5}).refused(400, "memories[0].text: is a number, want text")
	if m := g.do("GET", "/v1/memories/"+first+"/", nil).object()["memory"]; m != "I live in Porto." {
		t.Errorf("a batch that was refused wrote %v", m)
	}
	g.do("PUT", "/v1/batch/", object{"memories": []object{{"memory_id": first, "text": "I live in Faro."},
		{"memory_id": second, "metadata": object{"a": "b"}}}})
	if m := g.do("GET", "/v1/memories/"+first+"/", nil).object()["memory"]; m != "I live in Faro." {
		t.Errorf("the batch wrote %v", m)
	}
	if m := g.do("GET", "/v1/memories/"+second+"/", nil).object()["metadata"].(object)["a"]; m != "b" {
		t.Errorf("the batch noted %v", m)
	}
	g.do("DELETE", "/v1/batch/", object{"memories": []object{{"memory_id": first}, {"memory_id": second}}})
	for _, id := range []string{first, second} {
		g.call("ALL", "GET", "/v1/memories/"+id+"/", nil).refused(404, "deleted")
	}
}

// Ids are UUIDs. Their digits mean the same in upper case.
func TestIDsMayBeInUpperCase(t *testing.T) {
	g := open(t)
	event, _ := g.do("POST", "/v3/memories/add/",
		object{"user_id": "ines", "messages": []object{{"role": "user", "content": "I like tea."}}}).
		object()["event_id"].(string)
	g.remember("ines", "I live in Porto.")
	export, _ := g.do("POST", "/v1/exports/", object{"schema": "{}", "user_id": "ines"}).object()["id"].(string)
	found := g.do("POST", "/v3/memories/search/", object{"query": "Porto", "filters": object{"user_id": "ines"}}).results()
	id := strings.ToUpper(found[0]["id"].(string))
	for _, path := range []string{"memories/" + id, "memories/" + id + "/history", "event/" + strings.ToUpper(event)} {
		g.do("GET", "/v1/"+path+"/", nil)
	}
	g.do("POST", "/v1/exports/get/", object{"memory_export_id": strings.ToUpper(export)})
	for _, ids := range []any{id, []string{id}, object{"in": []string{id}}} {
		filters := object{"AND": []object{{"user_id": "ines"}, {"memory_ids": ids}}}
		if got := g.do("POST", "/v3/memories/", object{"filters": filters}).results(); len(got) != 1 {
			t.Errorf("%v: listed %v", ids, got)
		}
	}
	g.do("POST", "/v1/feedback/", object{"memory_id": id, "feedback": "POSITIVE"})
	g.do("PUT", "/v1/batch/", object{"memories": []object{{"memory_id": id, "text": "I live in Braga."}}})
	g.do("PUT", "/v1/memories/"+id+"/", object{"text": "I live in Rome."})
	g.do("DELETE", "/v1/memories/"+id+"/", nil)
}

func TestFeedback(t *testing.T) {
	g := open(t)
	g.remember("ines", "I like green tea.", "I live in Porto.")
	ines := object{"query": "tea", "filters": object{"user_id": "ines"}}
	search := func() (best, other string) {
		found := g.do("POST", "/v3/memories/search/", ines).results()
		return found[0]["id"].(string), found[1]["id"].(string)
	}
	judge := func(id string, verdict any) string {
		message, _ := g.do("POST", "/v1/feedback/", object{"memory_id": id, "feedback": verdict}).object()["message"].(string)
		return message
	}
	best, other := search()
	if got := judge(best, nil); !strings.Contains(got, "without a verdict") {
		t.Errorf("without a verdict: %q", got)
	}
	if got := judge(best, "POSITIVE"); !strings.Contains(got, "learns from it") {
		t.Errorf("positive: %q", got)
	}
	if r := last[*mnemev1.ReportCitationsRequest](g); r.GetUserId() != "ines" || r.GetRecallId() != "recall-1" ||
		fmt.Sprint(r.GetShownIds(), r.GetCitedIds()) != fmt.Sprint([]string{best, other}, []string{best}) {
		t.Errorf("reported %v", r)
	}
	if got := judge(best, "POSITIVE"); !strings.Contains(got, "Nothing is learned") {
		t.Errorf("twice: %q", got)
	}
	search()
	if got := judge(other, "VERY_NEGATIVE"); !strings.Contains(got, "learns from it") {
		t.Errorf("negative: %q", got)
	}
	if r := last[*mnemev1.ReportCitationsRequest](g); len(r.GetCitedIds()) != 0 ||
		fmt.Sprint(r.GetShownIds()) != fmt.Sprint([]string{other}) {
		t.Errorf("reported %v", r)
	}
	search()
	g.redis.FastForward(25 * time.Hour)
	if got := judge(best, "NEGATIVE"); !strings.Contains(got, "Nothing is learned") {
		t.Errorf("after a day: %q", got)
	}
	for detail, body := range map[string]object{
		"memory_id: is missing": {}, "memory_id: is a number": {"memory_id": 1},
		"feedback: is invalid":         {"memory_id": best, "feedback": "GOOD"},
		"feedback_reason: is a number": {"memory_id": best, "feedback_reason": 1},
	} {
		g.call("ALL", "POST", "/v1/feedback/", body).refused(400, detail)
	}
	g.call("ALL", "POST", "/v1/feedback/", object{"memory_id": "x", "feedback": "POSITIVE"}).refused(404, "no such memory")
}

func TestExports(t *testing.T) {
	g := open(t)
	g.remember("ines", "I live in Porto.", "I like tea.")
	id, _ := g.do("POST", "/v1/exports/", object{"schema": `{"type":"object"}`,
		"filters": object{"user_id": "ines", "keywords": object{"contains": "tea."}}}).object()["id"].(string)
	memories := func(a answer) string {
		list, _ := a.object()["memories"].([]any)
		var out []string
		for _, m := range list {
			out = append(out, m.(object)["memory"].(string))
		}
		return strings.Join(out, " | ")
	}
	if got := memories(g.do("POST", "/v1/exports/get/", object{"memory_export_id": id})); got != "I like tea." {
		t.Errorf("exported %q", got)
	}
	if got := memories(g.do("POST", "/v1/exports/get/",
		object{"filters": object{"user_id": "ines"}})); got != "I live in Porto. | I like tea." {
		t.Errorf("exported %q", got)
	}
	g.call("BEN", "POST", "/v1/exports/get/", object{"memory_export_id": id}).refused(403, "another user")
	g.call("ALL", "POST", "/v1/exports/", object{"user_id": "ines"}).refused(400, "schema: is missing")
	g.call("ALL", "POST", "/v1/exports/get/", object{"memory_export_id": "x"}).refused(404, "no such export")
	g.call("ALL", "POST", "/v1/exports/get/", object{"memory_export_id": 5}).refused(400, "memory_export_id: is a number")
	g.redis.FastForward(8 * 24 * time.Hour)
	g.call("ALL", "POST", "/v1/exports/get/", object{"memory_export_id": id}).refused(404, "no such export")
}

func TestSummaryAndProfile(t *testing.T) {
	g := open(t)
	if got := g.do("GET", "/v2/entities/user/ines/profile/", nil).object(); got["status"] != "insufficient_data" ||
		got["updated_at"] != nil {
		t.Errorf("the profile of nobody is %v", got)
	}
	g.remember("ines", "I live in Porto.")
	got := g.do("GET", "/v2/entities/user/ines/profile/", nil).object()
	if got["status"] != "succeeded" || got["generation_count"] != 3.0 || got["entity_type"] != "user" ||
		got["updated_at"] != "2026-03-01T12:00:00Z" {
		t.Errorf("the profile is %v", got)
	}
	g.call("ALL", "GET", "/v2/entities/team/ines/profile/", nil).refused(400, "entity_type: is invalid")
	g.call("ALL", "POST", "/v1/summary/", object{"filters": object{"OR": []object{{"user_id": "a"},
		{"user_id": "b"}}}}).refused(501, "all memories of one entity")
	g.call("ALL", "POST", "/v1/summary/", object{"filters": object{"user_id": "a", "run_id": "r"}}).refused(501,
		"all memories of one entity")
}

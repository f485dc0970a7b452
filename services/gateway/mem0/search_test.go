package mem0_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// people have memories in several runs, of several days.
func people(t *testing.T) *gateway {
	t.Helper()
	g := open(t)
	for _, a := range []object{
		{"messages": says("I live in Porto."), "user_id": "ines", "timestamp": 1_735_732_800, "metadata": object{
			// 2025-01-01 12:00
			"source": "form", "rank": 2, "paid": true, "place": object{"city": "Porto"}, "due": "2026-05-01T10:00:00Z"}},
		// 2025-02-01 12:00
		{"messages": says("I like green tea."), "user_id": "ines", "run_id": "r1", "timestamp": 1_738_411_200},
		{"messages": says("I like coffee."), "user_id": "ben", "agent_id": "bot",
			"metadata": object{"tags": []string{"a", "b"}}},
		{"messages": says("The bot is polite."), "agent_id": "bot"},
		{"messages": says("The shop opens at nine."), "app_id": "shop"},
		{"messages": says("A trip to Rome."), "run_id": "r1"},
	} {
		g.add(a)
	}
	g.formAll()
	return g
}

func TestFilters(t *testing.T) {
	g := people(t)
	both := []object{{"user_id": "ines"}, {"user_id": "ben"}}
	and := func(more ...object) object { return object{"AND": append([]object{{"user_id": "ines"}}, more...)} }
	const home, tea, coffee = "I live in Porto.", "I like green tea.", "I like coffee."
	for _, tt := range []struct {
		filters any
		want    []string
	}{
		{object{"user_id": "ines"}, []string{home, tea}},
		{object{"user_id": object{"eq": "ines"}}, []string{home, tea}},
		{object{"user_id": object{"in": []string{"ines", "ben"}}}, []string{home, tea, coffee}},
		{object{"OR": both}, []string{home, tea, coffee}},
		{object{"AND": both}, nil},
		{object{"user_id": "nobody"}, nil},
		{object{"agent_id": "bot"}, []string{"The bot is polite."}},
		{object{"app_id": "shop"}, []string{"The shop opens at nine."}},
		{object{"run_id": "r1"}, []string{"A trip to Rome."}},
		{object{"OR": []object{{"user_id": "ines"}, {"run_id": "r1"}}}, []string{home, tea, "A trip to Rome."}},
		{object{"OR": []object{{"user_id": "ben"}, {"agent_id": "bot"}}}, []string{coffee, "The bot is polite."}},
		{object{"user_id": "ben", "agent_id": "bot"}, []string{coffee}},
		{object{"user_id": "ben", "agent_id": "other"}, nil},
		{object{"user_id": "ben", "app_id": nil}, []string{coffee}},
		{object{"user_id": "ben", "agent_id": nil}, nil},
		{and(object{"run_id": "*"}), []string{tea}},
		{and(object{"run_id": nil}), []string{home}},
		{and(object{"run_id": object{"ne": "r1"}}), []string{home}},
		{and(object{"run_id": object{"ne": nil}}), []string{tea}},
		{and(object{"run_id": object{"in": []string{"r0", "r1"}}}), []string{tea}},
		{and(object{"NOT": object{"run_id": "r1"}}), []string{home}},
		{and(object{"NOT": []object{{"run_id": "r1"}, {"keywords": object{"contains": "porto."}}}}), nil},
		{and(object{"NOT": object{"OR": []object{{"run_id": "r1"}, {"run_id": "r2"}}}}), []string{home}},
		{and(object{"OR": []object{{"run_id": "r1"}, {"metadata": object{"source": "form"}}}}), []string{home, tea}},
		{and(object{"created_at": object{"gte": "2025-02-01"}}), []string{tea}},
		{and(object{"created_at": object{"lte": "2025-01-01"}}), []string{home}},
		{and(object{"created_at": object{"lt": "2025-01-01"}}), nil},
		{and(object{"created_at": object{"gt": "2025-01-01T11:59:59Z", "lt": "2025-01-01T12:00:01Z"}}), []string{home}},
		{and(object{"created_at": object{"gt": "2025-01-01"}}), []string{tea}},
		{and(object{"created_at": "2025-01-01"}), []string{home}},
		{and(object{"created_at": object{"ne": "2025-01-01"}}), []string{tea}},
		{and(object{"created_at": "*"}), []string{home, tea}},
		{and(object{"timestamp": object{"gte": 1_738_411_200}}), []string{tea}},
		{and(object{"timestamp": object{"gte": "1738411200"}}), []string{tea}},
		{and(object{"updated_at": object{"gte": "2026-03-01T12:00:00"}}), []string{home, tea}},
		{and(object{"updated_at": object{"lt": "2026-03-01 12:00:00+01:00"}}), nil},
		{and(object{"categories": "fact"}), []string{home, tea}},
		{and(object{"categories": object{"in": []string{"food", "life"}}}), []string{home, tea}},
		{and(object{"categories": []string{"food"}}), nil},
		{and(object{"categories": object{"contains": "lif"}}), []string{home, tea}},
		{and(object{"categories": object{"ne": "fact"}}), nil},
		{and(object{"categories": "*"}), []string{home, tea}},
		{and(object{"keywords": object{"contains": "green"}}), []string{tea}},
		{and(object{"keywords": object{"contains": "GREEN"}}), nil},
		{and(object{"keywords": object{"in": []string{"red", "green"}}}), []string{tea}},
		{and(object{"keywords": object{"ne": "green"}}), []string{home}},
		{and(object{"keywords": "green"}), []string{tea}},
		{and(object{"memory_ids": []string{"00000000-0000-5000-8000-000000000001"}}), nil},
		{and(object{"metadata": object{"source": "form"}}), []string{home}},
		{and(object{"metadata": object{"source": "*"}}), []string{home}},
		{and(object{"metadata": object{"source": "form", "rank": 2.0}}), []string{home}},
		{and(object{"metadata": object{"source": "other"}}), nil},
		{and(object{"metadata": object{"source": object{"ne": "form"}}}), []string{tea}},
		{and(object{"metadata": object{"source": object{"contains": "or"}}}), []string{home}},
		{and(object{"metadata": object{"source": object{"contains": "FOR"}}}), []string{home}},
		{and(object{"metadata": object{"source": nil}}), []string{tea}},
		{and(object{"metadata": object{"source": object{"ne": nil}}}), []string{home}},
		{and(object{"metadata": object{"paid": true, "rank": object{"in": []any{2, 3}}}}), []string{home}},
		{and(object{"metadata": object{"place.city": "Porto"}}), []string{home}},
		{and(object{"metadata": object{"due": object{"gte": "2026-05-01", "lt": "2026-05-02"}}}), []string{home}},
		{and(object{"metadata": object{"due": object{"gt": "2026-05-01"}}}), nil},
		{and(object{"metadata": object{"due": object{"lte": "2026-05-01T10:00:00Z"}}}), []string{home}},
		{and(object{"metadata": object{"source": object{"in": []any{"form", 1}}}}), []string{home}},
		{and(object{"metadata": object{"rank": object{"gt": 1, "lte": 2}}}), []string{home}},
		{and(object{"metadata": object{"rank": object{"gte": 3}}}), nil},
		{and(object{"metadata": object{"speaker": "user"}}), []string{home, tea}},
		{object{"user_id": "ben", "metadata": object{"tags": object{"contains": "a"}}}, []string{coffee}},
		{object{"user_id": "ben", "metadata": object{"tags": "a"}}, []string{coffee}},
		{object{"user_id": "ben", "metadata": object{"tags": object{"contains": "A"}}}, nil},
		{object{"user_id": "ben", "agent_id": object{"contains": "BO"}}, []string{coffee}},
	} {
		t.Run(fmt.Sprint(tt.filters), func(t *testing.T) {
			g.t = t
			listed := g.do("POST", "/v3/memories/", object{"filters": tt.filters})
			if got := listed.said(); got != strings.Join(tt.want, " | ") {
				t.Errorf("listed %q, want %q", got, tt.want)
			}
			found := g.do("POST", "/v3/memories/search/", object{"query": "anything", "filters": tt.filters})
			for _, want := range tt.want {
				if !strings.Contains(found.said(), want) {
					t.Errorf("found %q, not %q", found.said(), want)
				}
			}
			if got := len(found.results()); got != len(tt.want) {
				t.Errorf("found %d memories, want %d", got, len(tt.want))
			}
		})
	}
}

func TestFiltersRefuse(t *testing.T) {
	g := open(t)
	users := make([]object, 11)
	for i := range users {
		users[i] = object{"user_id": fmt.Sprint(i)}
	}
	many := make([]object, 101)
	for i := range many {
		many[i] = object{"user_id": "ines", "metadata": object{"n": i}}
	}
	for _, tt := range []struct {
		filters any
		detail  string
	}{
		{nil, "filters: name no user"},
		{object{}, "filters: name no user"},
		{object{"user_id": "*"}, "filters: name no user"},
		{object{"OR": []object{{"user_id": "ines"}, {"created_at": "*"}}}, "filters: name no user"},
		{object{"OR": []object{{"user_id": "ines"}, {"user_id": "*"}}}, "filters: name no user"},
		{object{"NOT": []object{{"user_id": "ines"}}}, "filters: name no user"},
		{object{"user_id": object{"ne": "ines"}}, "filters: name no user"},
		{object{"user_id": object{"in": []string{"ines", "*"}}}, "filters: name no user"},
		{object{"OR": users}, "filters: name 11 users, want at most 10"},
		{object{"AND": many}, "filters: has more than 100 conditions"},
		{"user_id=ines", "filters: is text, want an object"},
		{object{"userId": "ines"}, "filters.userId: is not a field"},
		{object{"user_id": 5}, "filters.user_id: is a number, want text"},
		{object{"user_id": []any{5}}, "filters.user_id: is a number, want text"},
		{object{"user_id": ""}, "filters.user_id: is empty"},
		{object{"user_id": object{}}, "filters.user_id: is an empty condition"},
		{object{"AND": "x"}, "filters.AND: is text, want a list of conditions"},
		{object{"AND": []any{"x"}}, "filters.AND[0]: is text, want an object"},
		{object{"OR": []any{}}, "filters.OR: is empty"},
		{object{"AND": []object{{"NOT": object{"other": 1}}}}, "filters.AND[0].NOT[0].other: is not a field"},
		{object{"user_id": object{">=": "a"}}, "filters.user_id.>=: is not an operator"},
		{object{"user_id": object{"in": "ines"}}, "filters.user_id.in: is not a list"},
		{object{"user_id": object{"gt": "a"}}, "filters.user_id.gt: does not compare texts"},
		{object{"created_at": object{"contains": "2025-01-01"}}, "filters.created_at.contains: does not compare times"},
		{object{"created_at": object{"gte": "soon"}}, "filters.created_at.gte: is not a time"},
		{object{"categories": object{"eq": 1}}, "filters.categories.eq: is a number, want text"},
		{object{"categories": object{"in": []any{1}}}, "filters.categories.in[0]: is a number, want text"},
		{object{"categories": object{"lt": "a"}}, "filters.categories.lt: does not compare texts"},
		{object{"metadata": "x"}, "filters.metadata: is text, want an object"},
		{object{"metadata": object{"a": object{"in": 1}}}, "filters.metadata.a.in: is not a list"},
		{object{"metadata": object{"a": object{"icontains": "x"}}}, "filters.metadata.a.icontains: is not supported"},
		{object{"keywords": object{"icontains": "x"}}, "filters.keywords.icontains: is not supported"},
		{object{"user_id": object{"icontains": "x"}}, "filters.user_id.icontains: is not supported"},
		{object{"metadata": object{"a": object{"lt": "9"}}}, "filters.metadata.a.lt: is text, want a number or a date"},
		{object{"metadata": object{"a": object{"gt": "b"}}}, "filters.metadata.a.gt: is text, want a number or a date"},
		{object{"metadata": object{"a": object{"gt": true}}},
			"filters.metadata.a.gt: is true or false, want a number or a date"},
		{object{"metadata": object{"a": []string{"b"}}}, "filters.metadata.a: is a list, want text, a number, true or false"},
		{object{"metadata": object{"a": object{"b": 1}}}, "filters.metadata.a.b: is not an operator, want one of eq, ne,"},
		{object{"metadata": object{"a": json.Number("12345678901234567")}},
			"filters.metadata.a: is a number that a double does not hold"},
		{object{"metadata": object{"a": object{"regex": "x"}}},
			"filters.metadata.a.regex: is not an operator, want one of eq, ne,"},
		{object{"metadata": object{"a": object{"contains": ""}}}, "filters.metadata.a.contains: is empty"},
		{object{"user_id": "ines", "keywords": object{"contains": ""}}, "filters.keywords.contains: is empty"},
		{object{"user_id": "ines", "memory_ids": object{"contains": "1"}},
			"filters.memory_ids.contains: does not compare ids"},
		{object{"user_id": "ines", "metadata": object{"a": object{"in": make([]int, 101)}}},
			"filters: has 101 values, want 1 to 100"},
	} {
		t.Run(fmt.Sprintf("%.60v", tt.filters), func(t *testing.T) {
			g.t = t
			for path, body := range map[string]object{
				"/v3/memories/": {}, "/v3/memories/search/": {"query": "x"}, "/v1/exports/": {"schema": "x"},
				"/v1/exports/get/": {}, "/v1/summary/": {},
			} {
				body["filters"] = tt.filters
				g.call("ALL", "POST", path, body).refused(http.StatusBadRequest, tt.detail)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	g := people(t)
	got := g.do("POST", "/v3/memories/search/",
		object{"query": "Which tea do I like?", "filters": object{"user_id": "ines"}, "output_format": "v1.1"})
	results := got.results()
	if len(results) != 2 || results[0]["memory"] != "I like green tea." ||
		results[0]["score"].(float64) <= results[1]["score"].(float64) {
		t.Fatalf("found %s", got.body)
	}
	m := results[0]
	for name, want := range map[string]any{"user_id": "ines", "run_id": "r1", "agent_id": nil, "expiration_date": nil,
		"created_at": "2025-02-01T12:00:00Z", "updated_at": "2026-03-01T12:00:00Z"} {
		if m[name] != want {
			t.Errorf("%s is %v, want %v", name, m[name], want)
		}
	}
	if s := m["score"].(float64); s <= 0.5 || s >= 1 {
		t.Errorf("score is %v", s)
	}
	if m["metadata"].(object)["speaker"] != "user" || fmt.Sprint(m["categories"]) != "[fact life]" ||
		len(m["hash"].(string)) != 32 {
		t.Errorf("the memory is %v", m)
	}
}

func TestSearchOptions(t *testing.T) {
	g := people(t)
	ines := object{"user_id": "ines"}
	for _, tt := range []struct {
		name string
		body object
		want string // the message
	}{
		{"one", object{"top_k": 1}, "I like green tea."},
		{"above a threshold", object{"threshold": 0.9}, "I like green tea."},
		{"above all", object{"threshold": 1}, ""},
		{"of a category", object{"categories": []string{"life"}}, "I like green tea. | I live in Porto."},
		{"of none", object{"categories": []string{"work"}}, ""},
		{"with metadata", object{"metadata": object{"source": "form"}}, "I live in Porto."},
		{"of a run beside the filters", object{"run_id": "r1"}, "I like green tea."},
		{"what means nothing here", object{"latest_only": true, "show_expired": true, "keyword_search": true, "source": "X"},
			"I like green tea. | I live in Porto."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g.t = t
			tt.body["query"], tt.body["filters"] = "Which tea do I like?", ines
			if got := g.do("POST", "/v3/memories/search/", tt.body).said(); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	g.t = t
	got := g.do("POST", "/v3/memories/search/",
		object{"query": "tea", "filters": ines, "fields": []string{"memory", "score"}, "top_k": 1}).results()[0]
	if len(got) != 3 || got["id"] == nil || got["memory"] == nil || got["score"] == nil {
		t.Errorf("fields are %v", got)
	}
	g.do("POST", "/v3/memories/search/", object{"query": "tea", "filters": ines, "rerank": false,
		"reference_date": "2025-06-01", "top_k": 30})
	asked := last[*mnemev1.RecallRequest](g)
	if !asked.GetRetrievalOrder() || asked.GetAsOf().AsTime().Format("2006-01-02T15:04:05") != "2025-06-01T23:59:59" ||
		asked.GetMemories() != 30 || asked.GetCandidates() != 30 {
		t.Errorf("asked for %v", asked)
	}
}

func TestSearchRefuses(t *testing.T) {
	g := open(t)
	for _, tt := range []struct {
		body   object
		detail string
	}{
		{object{}, "query: is empty"},
		{object{"query": 5}, "query: is a number, want text"},
		{object{"query": strings.Repeat("x", 4097)}, "query: is 4097 bytes long"},
		{object{"query": "x", "top_k": 0}, "top_k: is out of range, want 1 to 100"},
		{object{"query": "x", "top_k": -1}, "top_k: is out of range"},
		{object{"query": "x", "top_k": 1_000_000_000_000}, "top_k: is out of range"},
		{object{"query": "x", "top_k": 1.5}, "top_k: is not a whole number"},
		{object{"query": "x", "top_k": "5"}, "top_k: is text, want a number"},
		{object{"query": "x", "threshold": 2}, "threshold: is out of range, want 0 to 1"},
		{object{"query": "x", "threshold": "low"}, "threshold: is text"},
		{object{"query": "x", "rerank": 1}, "rerank: is a number"},
		{object{"query": "x", "fields": "id"}, "fields: is text, want a list"},
		{object{"query": "x", "fields": []any{1}}, "fields[0]: is a number, want text"},
		{object{"query": "x", "categories": []any{1}}, "categories[0]: is a number, want text"},
		{object{"query": "x", "reference_date": "soon"}, "reference_date: is not a time"},
		{object{"query": "x", "start_date": true}, "start_date: is not a time"},
		{object{"query": "x", "metadata": "y"}, "metadata: is text, want an object"},
	} {
		t.Run(tt.detail, func(t *testing.T) {
			g.t = t
			if tt.body["filters"] == nil {
				tt.body["filters"] = object{"user_id": "ines"}
			}
			g.call("ALL", "POST", "/v3/memories/search/", tt.body).refused(http.StatusBadRequest, tt.detail)
		})
	}
}

func TestPages(t *testing.T) {
	g := open(t)
	g.remember("ines", "one", "two", "three", "four", "five", "six", "seven")
	ines := object{"filters": object{"user_id": "ines"}}
	for _, tt := range []struct {
		query, said    string
		next, previous any
	}{
		{"", "one | two | three | four | five | six | seven", nil, nil},
		{"?page=1&page_size=3", "one | two | three", "?page=2&page_size=3", nil},
		{"?page=2&page_size=3", "four | five | six", "?page=3&page_size=3", "?page=1&page_size=3"},
		{"?page=3&page_size=3", "seven", nil, "?page=2&page_size=3"},
		{"?page=9&page_size=3", "", nil, "?page=8&page_size=3"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			g.t = t
			got := g.do("POST", "/v3/memories/"+tt.query, ines)
			if o := got.object(); got.said() != tt.said || o["count"] != 7.0 || o["next"] != tt.next ||
				o["previous"] != tt.previous {
				t.Errorf("page is %s", got.body)
			}
		})
	}
	g.t = t
	for query, detail := range map[string]string{"?page=0": "page: is not a whole", "?page=x": "page:",
		"?page_size=1001": "page_size:", "?page_size=-1": "page_size:", "?page=99999999999999999999": "page:",
		"?page=%zz": "query of the URL"} {
		g.call("ALL", "POST", "/v3/memories/"+query, ines).refused(http.StatusBadRequest, detail)
	}
	if got := g.do("POST", "/v3/memories/", object{"user_id": "ines", "start_date": "2026-03-02"}).said(); got != "" {
		t.Errorf("after the day: %q", got)
	}
	if got := g.do("POST", "/v3/memories/", object{"user_id": "ines", "start_date": "2026-03-01", "end_date": "2026-03-01",
		"fields": []string{"memory"}}).results(); len(got) != 7 || len(got[0]) != 2 {
		t.Errorf("of the day: %v", got)
	}
}

// TestWithoutRedis shows that search and listing work while Redis is down. Only an addition needs an event.
func TestWithoutRedis(t *testing.T) {
	g := people(t)
	g.redis.SetError("LOADING")
	chosen := object{"user_id": "ines", "metadata": object{"source": "form"}}
	for _, path := range []string{"/v3/memories/", "/v3/memories/search/"} {
		got := g.do("POST", path, object{"query": "tea", "filters": chosen})
		if got.said() != "I live in Porto." || got.object()["degraded"] != nil {
			t.Errorf("found %s", got.body)
		}
	}
	id := g.do("POST", "/v3/memories/", object{"filters": chosen}).results()[0]["id"].(string)
	if got := g.do("PUT", "/v1/memories/"+id+"/",
		object{"text": "I live in Faro."}).object(); got["metadata"].(object)["source"] != "form" {
		t.Errorf("updated to %v", got)
	}
	got := g.call("ALL", "POST", "/v3/memories/add/", object{"user_id": "ines", "messages": says("x")})
	if got.refused(http.StatusServiceUnavailable, ""); got.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
	if len(g.turnsOf("ines")) != 0 {
		t.Error("a turn is in without its event")
	}
	if !strings.Contains(g.log.String(), "LOADING") {
		t.Error("the cause is not logged")
	}
}

// A page is read without the memories behind it.
func TestAPageReadsNoMoreThanItHas(t *testing.T) {
	g := open(t)
	texts := make([]string, 150)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	g.remember("ines", texts...)
	g.remember("ben", "one", "two")
	both := object{"filters": object{"user_id": object{"in": []string{"ines", "ben"}}}}
	for _, tt := range []struct {
		query, said string
		read        int
	}{
		{"?page=1&page_size=2", "text 0 | text 1", 4}, {"?page=2&page_size=2", "text 2 | text 3", 6},
		{"?page=76&page_size=2", "one | two", 154},
	} {
		g.listed = 0
		got := g.do("POST", "/v3/memories/"+tt.query, both)
		if got.said() != tt.said || got.object()["count"] != 152.0 || g.listed > tt.read {
			t.Errorf("%s: %q of %v, having read %d, want at most %d", tt.query, got.said(), got.object()["count"], g.listed,
				tt.read)
		}
	}
}

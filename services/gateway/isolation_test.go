package gateway_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/rpc"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
)

// tries is how many calls are made across tenants and users.
const tries = 10_000

// asked is a call that has reached the services behind the gateway.
type asked struct{ procedure, tenant, user string }

// marking answers every RPC with texts that name the owner.
type marking struct {
	mu    sync.Mutex
	calls []asked
}

// take returns the calls since the last take.
func (m *marking) take() []asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.calls
	m.calls = nil
	return out
}

// mark names a user of a tenant in an answer. Whatever the user is called, it goes through every encoding unchanged.
func mark(tenantID, user string) string {
	return "@@" + tenantID + "." + hex.EncodeToString([]byte(user)) + "@@"
}

var marks = regexp.MustCompile(`@@([a-z]*)\.([0-9a-f]*)@@`)

// Envelopes of connect's streams: a flag, and the length of the data.
const (
	envelope    = 5
	endOfStream = 2
)

func (m *marking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	method, ok := methodAt(r.URL.Path)
	if err != nil || !ok {
		http.NotFound(w, r)
		return
	}
	if method.IsStreamingServer() {
		if len(body) < envelope { // the stream was opened, and the body was refused
			return
		}
		body = body[envelope:]
	}
	in := newMessage(method.Input())
	if err := proto.Unmarshal(body, in.Interface()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	call := asked{r.URL.Path, r.Header.Get("Mneme-Tenant"), userOf(in.Interface())}
	m.mu.Lock()
	m.calls = append(m.calls, call)
	m.mu.Unlock()
	out := newMessage(method.Output())
	fill(out, mark(call.tenant, call.user), 0)
	answer, err := proto.Marshal(out.Interface())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	if method.IsStreamingServer() {
		answer = append(enveloped(0, answer), enveloped(endOfStream, []byte("{}"))...)
	}
	_, _ = w.Write(answer) // the caller has gone
}

func enveloped(flag byte, body []byte) []byte {
	out := append([]byte{flag}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...) //nolint:gosec // short
	return append(out, body...)
}

// methodAt is the call at a path of the contracts.
func methodAt(path string) (protoreflect.MethodDescriptor, bool) {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, false
	}
	out := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
	return out, out != nil
}

func newMessage(of protoreflect.MessageDescriptor) protoreflect.Message {
	known, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		panic(err)
	}
	return known.New()
}

func userOf(m proto.Message) string {
	switch m := m.(type) {
	case interface{ GetUserId() string }:
		return m.GetUserId()
	case interface{ GetRecall() *mnemev1.RecallRequest }:
		return m.GetRecall().GetUserId()
	}
	return ""
}

// deepest is how deep messages in messages are filled.
const deepest = 5

// fill sets every field, texts to text: but for places to go on at, which would never end.
func fill(m protoreflect.Message, text string, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		isMessage := f.Message() != nil
		switch {
		case strings.Contains(string(f.Name()), "token") || strings.Contains(string(f.Name()), "cursor"), f.IsMap(),
			isMessage && depth == deepest:
		case m.Descriptor().FullName() == "google.protobuf.Timestamp":
			if f.Name() == "seconds" {
				m.Set(f, protoreflect.ValueOfInt64(1_700_000_000))
			}
		case f.IsList() && isMessage:
			fill(m.Mutable(f).List().AppendMutable().Message(), text, depth+1)
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			m.Mutable(f).List().Append(protoreflect.ValueOfString(text))
		case f.IsList():
		case isMessage:
			fill(m.Mutable(f).Message(), text, depth+1)
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(text))
		case f.Kind() == protoreflect.EnumKind:
			m.Set(f, protoreflect.ValueOfEnum(f.Enum().Values().Get(f.Enum().Values().Len()-1).Number()))
		}
	}
}

// kind is an API key with its scopes.
type kind struct {
	name, key, tenant, user string
	scopes                  []access.Scope
}

// trial is a call for any user, with its method, path and body.
type trial struct {
	name, method, path, body, media string
}

// at returns the trial for a user. The user's name replaces USER, percent-encoded in the path, and as part of a
// JSON text in the body.
func (c trial) at(user, said string) (path string, body []byte) {
	quoted, _ := json.Marshal(user) // a text
	path = strings.ReplaceAll(c.path, "USER", url.PathEscape(user))
	body = []byte(strings.NewReplacer("USER", strings.Trim(string(quoted), `"`), "SAID", said).Replace(c.body))
	if c.media == "application/connect+json" {
		body = enveloped(0, body)
	}
	return path, body
}

// world is a gateway with keys of every kind.
type world struct {
	t     *testing.T
	url   string
	inner *marking
	kinds []kind
	http  *http.Client
}

func (w *world) call(method, path, key string, body []byte, headers http.Header) (int, string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	req.Header = headers
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := w.http.Do(req)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, string(out)
}

func jsonHeaders() http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Idempotency-Key": {fmt.Sprintf("k%d", rand.Uint64())},
	}
}

// create makes a key of a tenant, by the tenant's own.
func (w *world) create(of kind, k kind) kind {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"scopes": k.scopes, "user": k.user})
	if err == nil && k.user == "" {
		body, err = json.Marshal(map[string]any{"scopes": k.scopes})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	status, text := w.call(http.MethodPost, "/v1/tenants/self/keys", of.key, body, jsonHeaders())
	var made struct {
		APIKey string `json:"api_key"`
		Key    struct{ ID string }
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated {
		w.t.Fatalf("make a key: %d %s", status, text)
	}
	if k.name == "revoked" {
		status, text := w.call(http.MethodDelete, "/v1/tenants/self/keys/"+made.Key.ID, of.key, nil, jsonHeaders())
		if status != http.StatusNoContent {
			w.t.Fatalf("revoke a key: %d %s", status, text)
		}
		k.scopes = nil
	}
	k.key, k.tenant = made.APIKey, of.tenant
	k.name = k.tenant + ", " + k.name
	return k
}

func allScopes() []access.Scope {
	return []access.Scope{access.Ingest, access.Recall, access.Read, access.Erase, access.Admin}
}

// addKeys makes keys of every kind.
func (w *world) addKeys() {
	for _, id := range []string{"acme", "globex"} {
		whole := kind{name: id + ", whole", key: "KEY-of-" + id, tenant: id, scopes: allScopes()}
		w.kinds = append(w.kinds, whole,
			w.create(whole, kind{name: "of ines", user: "ines",
				scopes: []access.Scope{access.Ingest, access.Recall, access.Read, access.Erase}}),
			w.create(whole, kind{name: "revoked", scopes: allScopes()}))
		for _, s := range allScopes() {
			w.kinds = append(w.kinds, w.create(whole, kind{name: string(s), scopes: []access.Scope{s}}))
		}
	}
	w.kinds = append(w.kinds, kind{name: "unknown", key: "mneme_unknown"}, kind{name: "none"},
		kind{name: "malformed", key: "KEY of acme"})
}

// restTrials are the operations that the API describes.
func (w *world) restTrials() (out []trial) {
	_, text := w.call(http.MethodGet, "/openapi.json", "", nil, http.Header{})
	var described struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal([]byte(text), &described); err != nil {
		w.t.Fatal(err)
	}
	for path, operations := range described.Paths {
		for method, raw := range operations {
			var o struct {
				RequestBody struct {
					Content map[string]struct{ Schema schema }
				}
			}
			if err := json.Unmarshal(raw, &o); err != nil {
				w.t.Fatal(err)
			}
			if strings.HasSuffix(path, "/events") { // it would not end; package stream has tests of its own
				continue
			}
			c := trial{name: "REST " + method + " " + path, method: strings.ToUpper(method), path: path,
				media: "application/json"}
			for media, of := range o.RequestBody.Content {
				c.media = media
				if media == "application/json" {
					c.body = encode(sample(described.Components.Schemas, of.Schema, ""))
				}
			}
			for _, name := range regexp.MustCompile(`\{[a-z]*\}`).FindAllString(path, -1) {
				with := "00000000-0000-4000-8000-000000000000"
				if name == "{user}" {
					with = "USER"
				}
				c.path = strings.ReplaceAll(c.path, name, with)
			}
			out = append(out, c)
		}
	}
	return out
}

// schema is the part of a schema that samples need.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Enum       []any
	Properties map[string]schema
	Required   []string
	Items      *schema
	Minimum    float64
}

func encode(v any) string {
	out, _ := json.Marshal(v) // made of what JSON has
	return string(out)
}

// sample returns a value of a schema. Every user in it is USER.
func sample(known map[string]schema, s schema, name string) any {
	if s.Ref != "" {
		s = known[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	switch {
	case name == "user" || name == "user_id" || name == "userId":
		return "USER"
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	switch s.Type {
	case "object":
		out := map[string]any{}
		for name, of := range s.Properties {
			if slices.Contains(s.Required, name) || name == "user_id" {
				out[name] = sample(known, of, name)
			}
		}
		return out
	case "array":
		if s.Items == nil {
			return []any{}
		}
		return []any{sample(known, *s.Items, "")}
	case "integer", "number":
		return max(s.Minimum, 1)
	case "boolean":
		return true
	}
	if s.Format == "date-time" {
		return "2026-01-02T03:04:05Z"
	}
	return "SAID"
}

// rpcTrials are the calls of the contracts, by connect with JSON.
func rpcTrials() (out []trial) {
	for _, prefix := range rpc.Prefixes() {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.Trim(prefix, "/")))
		if err != nil {
			panic(err)
		}
		methods := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			c := trial{name: "RPC " + string(m.Name()), path: prefix + string(m.Name())}
			c.method, c.media, c.body = http.MethodPost, "application/json", `{}`
			if m.Input().Fields().ByName("user_id") != nil {
				c.body = `{"userId":"USER"}`
			} else if m.Input().Fields().ByName("recall") != nil {
				c.body = `{"recall":{"userId":"USER","query":"SAID"}}`
			}
			if m.IsStreamingServer() {
				c.media = "application/connect+json"
			}
			out = append(out, c)
		}
	}
	return out
}

// mem0Trials are the rows of mem0's API.
func mem0Trials() (out []trial) {
	const memory = "/v1/memories/00000000-0000-4000-8000-000000000000/"
	const either = `{"OR":[{"user_id":"USER"},{"AND":[{"user_id":{"in":["USER"]}}]}]}`
	for _, row := range []string{
		`GET /v1/ping/`, `POST /v3/memories/add/ {"messages":"SAID","user_id":"USER"}`,
		`POST /v3/memories/add/ {"messages":"SAID","filters":{"user_id":"USER"}}`,
		`POST /v3/memories/add/ {"messages":"SAID","agent_id":"USER"}`,
		`POST /v3/memories/add/ {"messages":"SAID","user_id":"USER","infer":false}`,
		`POST /v3/memories/search/ {"query":"SAID","filters":{"user_id":"USER"}}`,
		`POST /v3/memories/search/ {"query":"SAID","filters":` + either + `}`,
		`POST /v3/memories/search/ {"query":"SAID","filters":{"run_id":"USER"}}`,
		`POST /v3/memories/ {"filters":` + either + `}`,
		`POST /v3/memories/?page=1&page_size=5 {"user_id":"USER"}`, `GET ` + memory, `PUT ` + memory + ` {"text":"SAID"}`,
		`DELETE ` + memory,
		`GET ` + memory + `history/`, `PUT /v1/batch/ {"memories":[{"memory_id":"00000000-0000-4000-8000-000000000000","text":"SAID"}]}`,
		`DELETE /v1/batch/ {"memories":[{"memory_id":"00000000-0000-4000-8000-000000000000"}]}`,
		`DELETE /v1/memories/?user_id=USER`,
		`DELETE /v1/memories/?agent_id=USER`, `DELETE /v2/entities/user/USER/`, `DELETE /v1/entities/agent/USER/`,
		`GET /v1/entities/`,
		`GET /v2/entities/user/USER/profile/`, `POST /v1/summary/ {"filters":{"user_id":"USER"}}`, `GET /v1/event/x/`,
		`GET /v1/events/`,
		`POST /v1/feedback/ {"memory_id":"00000000-0000-4000-8000-000000000000","feedback":"POSITIVE"}`,
		`POST /v1/exports/ {"schema":"{}","filters":{"user_id":"USER"}}`, `POST /v1/exports/get/ {"user_id":"USER"}`,
		`GET /api/v1/webhooks/projects/globex/`, `GET /api/v1/webhooks/projects/acme/`, `DELETE /api/v1/webhooks/x/`,
		`GET /api/v1/orgs/organizations/globex/projects/globex/`,
	} {
		method, rest, _ := strings.Cut(row, " ")
		path, body, _ := strings.Cut(rest, " ")
		out = append(out, trial{name: "mem0 " + row, method: method, path: path, body: body, media: "application/json"})
	}
	return out
}

// mcpTrials are the tools, resources and the prompt.
func (w *world) mcpTrials() (out []trial) {
	_, text := w.call(http.MethodPost, "/mcp", "KEY-of-acme", []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
		jsonHeaders())
	var listed struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema schema `json:"inputSchema"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &listed); err != nil || len(listed.Result.Tools) == 0 {
		w.t.Fatalf("tools: %s", text)
	}
	add := func(name, method string, params any) {
		out = append(out, trial{
			name: "MCP " + name, method: http.MethodPost, path: "/mcp", media: "application/json",
			body: encode(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
		})
	}
	for _, tool := range listed.Result.Tools {
		arguments := sample(nil, tool.InputSchema, "")
		add(tool.Name, "tools/call", map[string]any{"name": tool.Name, "arguments": arguments})
	}
	add("profile", "resources/read", map[string]any{"uri": "mneme://users/USER/profile"})
	add("core", "resources/read", map[string]any{"uri": "mneme://users/USER/core"})
	add("prompt", "prompts/get", map[string]any{"name": "with_memory",
		"arguments": map[string]any{"user_id": "USER", "message": "SAID"}})
	return out
}

// users are names that may be taken for others'.
var users = []string{
	"ines", "ben", "INES", "ines ", "../ben", "ben/..", "ines/../ben", "ines%2F..%2Fben", "%62en",
	"acme/ben", "globex/ines", "acme/ines", "*", "..", "ines\u200b", "ines\x00ben", "ines,ben",
	`ines"},{"user_id":"ben`, "", strings.Repeat("ines", 100),
}

// smuggled are headers with which another is claimed.
var smuggled = []http.Header{
	{}, {}, {"Mneme-Tenant": {"globex"}}, {"Mneme-Tenant": {"acme"}},
	{"X-Tenant": {"globex"}, "Mneme-User": {"ben"}, "X-Forwarded-User": {"ben"}},
	{"Mneme-Scopes": {"admin"}, "Mneme-Internal": {"true"}, "X-Original-Url": {"/v1/tenants/globex"}},
}

// judge compares the effect of a trial with the scopes of its key.
func (w *world) judge(c trial, k kind, user string, status int, answer string) {
	w.t.Helper()
	for _, call := range w.inner.take() {
		s, known := backend.ScopeOf(call.procedure)
		if call.tenant != k.tenant || k.user != "" && call.user != k.user || !known || !slices.Contains(k.scopes, s) {
			w.t.Errorf("%s for %q with the key %q: %s was asked for %q of %q", c.name, user, k.name, call.procedure, call.user,
				call.tenant)
		}
	}
	for _, m := range marks.FindAllStringSubmatch(answer, -1) {
		of, err := hex.DecodeString(m[2])
		if err != nil || m[1] != k.tenant || k.user != "" && string(of) != k.user {
			w.t.Errorf("%s for %q with the key %q: told of %q of %q", c.name, user, k.name, of, m[1])
		}
	}
	// A stream of connect reports errors in its body.
	if len(k.scopes) == 0 && status != http.StatusUnauthorized && !strings.Contains(answer, `"code":"unauthenticated"`) {
		w.t.Errorf("%s with the key %q: %d", c.name, k.name, status)
	}
	if status >= 500 && status != http.StatusNotImplemented {
		w.t.Errorf("%s for %q with the key %q: %d %.300s", c.name, user, k.name, status, answer)
	}
}

func TestNoTryAcrossTenantsAndUsersGetsThrough(t *testing.T) {
	inner := &marking{}
	address, broker := startBefore(t, inner, map[string]string{
		"MNEME_GATEWAY_REQUESTS_PER_SECOND": "0", "MNEME_GATEWAY_TENANT_REQUESTS_PER_SECOND": "0",
		"MNEME_GATEWAY_TURNS_PER_MINUTE": "0",
		"MNEME_TENANTS_DIRECTORY":        "true",
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	w := &world{t: t, url: address, inner: inner, http: &http.Client{Transport: transport}}
	w.addKeys()
	all := slices.Concat(w.restTrials(), rpcTrials(), mem0Trials(), w.mcpTrials())
	seed := rand.Uint64()
	t.Logf("seed %d, %d calls, %d keys", seed, len(all), len(w.kinds))
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // to choose by
	inner.take()
	for n := range max(tries, len(all)*len(w.kinds)) {
		c, k, user := all[n%len(all)], w.kinds[n/len(all)%len(w.kinds)], users[random.IntN(len(users))]
		path, body := c.at(user, "said with the key "+k.name)
		headers := smuggled[random.IntN(len(smuggled))].Clone()
		for name, values := range jsonHeaders() {
			headers[name] = values
		}
		headers.Set("Content-Type", c.media)
		if c.media == "application/connect+json" {
			headers.Set("Connect-Protocol-Version", "1")
		}
		if body != nil && random.IntN(8) == 0 {
			body = bytes.Replace(body, []byte("{"), []byte(`{"tenant":"globex","tenant_id":"globex","org_id":"globex",`), 1)
		}
		status, answer := w.call(c.method, path, k.key, body, headers)
		w.judge(c, k, user, status, answer)
	}
	w.judgeEvents(broker.Log(contract.TopicSessionEvents))
}

// judgeEvents compares the published events with the keys of their calls.
func (w *world) judgeEvents(events bus.Log) {
	w.t.Helper()
	seen := 0
	err := bus.ScanLog(w.t.Context(), events, func(m bus.Message) {
		e, err := contract.DecodeSessionEvent(m.Key, m.Value, time.Now())
		if err != nil {
			w.t.Errorf("published: %v", err)
			return
		}
		if e.Turn == nil {
			return
		}
		seen++
		name := strings.TrimPrefix(e.Turn.Text, "said with the key ")
		i := slices.IndexFunc(w.kinds, func(k kind) bool { return k.name == name })
		if i < 0 {
			return // a tool's text
		}
		if k := w.kinds[i]; e.Scope.Tenant != k.tenant || k.user != "" && e.Scope.User != k.user ||
			!slices.Contains(k.scopes, access.Ingest) {
			w.t.Errorf("published for %q of %q with the key %q", e.Scope.User, e.Scope.Tenant, k.name)
		}
	})
	if err != nil || seen == 0 {
		w.t.Errorf("read what was published: %d turns, %v", seen, err)
	}
}

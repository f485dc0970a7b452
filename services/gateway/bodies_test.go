package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

// atDoors are a call of each door.
var atDoors = map[string]string{
	"REST": "/v1/tenants/self/users/ines/recall", "mem0": "/v3/memories/search/", "MCP": "/mcp",
	"RPC":           mnemev1connect.UtilizerServiceRecallProcedure,
	"REST, lines":   "/v1/tenants/self/users/ines/import",
	"REST, no body": "/v1/tenants/self/users/ines/sessions/s/items/pop",
}

func TestACompressedBodyIsRefusedAtEveryDoor(t *testing.T) {
	url := start(t)
	bomb := &bytes.Buffer{}
	w := gzip.NewWriter(bomb)
	if _, err := w.Write(make([]byte, 1<<20)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for name, path := range atDoors {
		for _, encodings := range [][]string{{"gzip"}, {"br"}, {"identity, gzip"}, {"identity", "gzip"}} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, bytes.NewReader(bomb.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{
				"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Content-Encoding": encodings,
				"Accept": {"application/json, text/event-stream"}, "Idempotency-Key": {"k"},
			}
			status, body := send(t, req)
			want, code := http.StatusUnsupportedMediaType, "unsupported_media_type"
			if name == "RPC" {
				want, code = http.StatusNotImplemented, "unimplemented"
			}
			if status != want || !strings.Contains(body, `"`+code+`"`) ||
				!strings.Contains(body, "Content-Encoding: is not supported") &&
					!strings.Contains(body, `"field":"Content-Encoding"`) {
				t.Errorf("%s, %v: %d %s", name, encodings, status, body)
			}
		}
	}
}

func send(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// RPC clients that compress get the refusal as a code of their protocol, and do not retry.
func TestRPCClientsThatCompressAreToldSo(t *testing.T) {
	url := start(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	over := &http.Client{Transport: transport}
	call := func(text string, options ...connect.ClientOption) error {
		req := connect.NewRequest(&mnemev1.RecallRequest{UserId: "ines", Query: text})
		req.Header().Set("Authorization", "Bearer "+key)
		_, err := mnemev1connect.NewUtilizerServiceClient(over, url, options...).Recall(t.Context(), req)
		return err
	}
	export := func(options ...connect.ClientOption) error {
		req := connect.NewRequest(&mnemev1.ExportUserRequest{UserId: "ines"})
		req.Header().Set("Authorization", "Bearer "+key)
		in, err := mnemev1connect.NewUserDataServiceClient(over, url, options...).ExportUser(t.Context(), req)
		if err != nil {
			return err
		}
		in.Receive()
		return errors.Join(in.Err(), in.Close())
	}
	for name, protocol := range map[string]connect.ClientOption{"connect": connect.WithClientOptions(),
		"gRPC-Web": connect.WithGRPCWeb()} {
		if err := call("q", protocol); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		long := strings.Repeat("q", 4000)
		if err := call(long, protocol, connect.WithSendGzip()); connect.CodeOf(err) != connect.CodeUnimplemented {
			t.Errorf("%s, compressed: %v", name, err)
		}
		if err := export(protocol, connect.WithSendGzip()); connect.CodeOf(err) != connect.CodeUnimplemented {
			t.Errorf("%s, a compressed stream: %v", name, err)
		}
		if err := call(strings.Repeat("q", 9<<20), protocol); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s, too large: %v", name, err)
		}
	}
	get := url + mnemev1connect.UtilizerServiceRecallProcedure +
		`?connect=v1&encoding=json&message={"userId":"ines"}&compression=`
	for compression, want := range map[string]int{"": http.StatusOK, "identity": http.StatusOK,
		"gzip": http.StatusNotImplemented} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, get+compression, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		if status, body := send(t, req); status != want {
			t.Errorf("GET with %q: %d %s", compression, status, body)
		}
	}
}

// A body with a declared length over the limit is refused before the gateway reads it.
func TestADeclaredLengthOverTheLimitIsRefusedAtOnce(t *testing.T) {
	for _, limit := range []string{"4MiB", "64KiB"} {
		url, _ := startBefore(t, http.NotFoundHandler(), map[string]string{"MNEME_HTTP_MAX_BODY": limit})
		length := "99999999999"
		if limit == "64KiB" {
			length = "100000"
		}
		for name, path := range atDoors {
			if name == "REST, no body" && limit == "64KiB" { // nothing reads it
				continue
			}
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nIdempotency-Key: k\r\n"+
				"Accept: application/json, text/event-stream\r\nContent-Length: %s\r\n\r\n", path, key, mediaOf(name), length)
			if err == nil {
				// the test fails here if the gateway waits for the body
				err = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			}
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, limit, err)
			}
			body, _ := io.ReadAll(res.Body)
			want, code := http.StatusRequestEntityTooLarge, `"too_large"`
			if name == "RPC" {
				want, code = http.StatusBadRequest, `"invalid_argument"`
			}
			if res.StatusCode != want || !strings.Contains(string(body), code) ||
				!strings.Contains(string(body), "the body is too large") {
				t.Errorf("%s, %s: %d %s", name, limit, res.StatusCode, body)
			}
			_ = conn.Close()
		}
	}
}

func mediaOf(door string) string {
	if door == "REST, lines" {
		return "application/x-ndjson"
	}
	return "application/json"
}

// A body without a declared length is refused once it is over the limit.
func TestABodyOfNoDeclaredLengthIsBounded(t *testing.T) {
	url := start(t)
	for name, path := range atDoors {
		if name == "REST, no body" {
			continue
		}
		body := io.MultiReader(strings.NewReader(`{"query":"`), bytes.NewReader(bytes.Repeat([]byte("x"), 9<<20)),
			strings.NewReader(`"}`))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{
			"Authorization": {"Bearer " + key},
			"Content-Type":  {mediaOf(name)},
			"Accept":        {"application/json, text/event-stream"},
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			continue // the connection was closed while the body was sent, which is a refusal, too
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge &&
			(name != "RPC" || !strings.Contains(string(text), `"invalid_argument"`)) {
			t.Errorf("%s: %d %s", name, res.StatusCode, text)
		}
	}
}

// Decoders drop the first value of a repeated key, so the sender's intended value is unknown.
func TestARepeatedKeyIsRefusedAtEveryDoor(t *testing.T) {
	const ines, rpc = "/v1/tenants/self/users/ines", "/mneme.v1."
	url := start(t)
	for name, c := range map[string]struct{ method, path, body, field string }{
		"REST": {"POST", ines + "/recall", `{"query":"q","query":"r"}`, "query"},
		"REST, turn": {"POST", ines + "/sessions/s/turns", `{"turns":[{"role":"user","text":"a","text":"b"}]}`,
			"turns[0].text"},
		"REST, metadata": {"POST", ines + "/sessions/s/turns", `{"turns":[{"metadata":{"k":1,"k":2}}]}`,
			"turns[0].metadata.k"},
		"REST, filter": {"POST", ines + "/recall", `{"query":"q","filter":{"field":"kind","field":"id","exists":true}}`,
			"filter.field"},
		"REST, query": {"GET", ines + `/memories?filter={"field":"kind","field":"id","exists":true}`, "", "filter.field"},
		"REST, item":  {"POST", ines + "/sessions/s/items", `{"items":[{"v":1,"w":{"v":2,"v":3}}]}`, "items[0].w.v"},
		"REST, lines": {"POST", ines + "/import", "{\"header\":{\"a\":1}}\n{\"turn\":{\"b\":1,\"b\":2}}\n", "turn.b"},
		"mem0":        {"POST", "/v3/memories/add/", `{"messages":"m","user_id":"ines","user_id":"ana"}`, "user_id"},
		"mem0, filters": {"POST", "/v3/memories/search/", `{"query":"q","filters":{"user_id":"ines","user_id":"ana"}}`,
			"filters.user_id"},
		"MCP": {
			"POST", "/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_memory","arguments":{"messages":[],"messages":[]}}}`,
			"params.arguments.messages",
		},
		"RPC":           {"POST", rpc + "UtilizerService/Recall", `{"userId":"ines","userId":"ana"}`, "userId"},
		"RPC, metadata": {"POST", rpc + "MemoryService/AddMemory", `{"turn":{"metadata":{"k":1,"k":2}}}`, "turn.metadata.k"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{
			"Authorization": {"Bearer " + key}, "Content-Type": {mediaOf(name)},
			"Accept":          {"application/json, text/event-stream"},
			"Idempotency-Key": {"k"},
		}
		status, body := send(t, req)
		if status != http.StatusBadRequest || !strings.Contains(body, c.field+": occurs twice") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/client"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "mneme_key"

// utilizer answers with the user id and the caller's credential.
type utilizer struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
}

func (utilizer) Recall(
	_ context.Context, r *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	return connect.NewResponse(&mnemev1.RecallResponse{Profile: r.Msg.GetUserId() + " by " +
		r.Header().Get("Authorization")}), nil
}

// open serves answers in their order. It returns a client and the received requests.
func open(t *testing.T, answers ...func(http.ResponseWriter)) (*client.Client, *[]string) {
	t.Helper()
	asked := &[]string{}
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(utilizer{}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/mneme.") {
			mux.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, fmt.Sprint(r.Method, " ", r.URL.EscapedPath(), "?", r.URL.RawQuery, " ",
			r.Header.Get("Authorization"), " ",
			r.Header.Get("Idempotency-Key"), " ", string(body)))
		answers[min(len(*asked), len(answers))-1](w)
	}))
	over := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() { over.CloseIdleConnections(); server.Close() })
	c, err := client.New(server.URL+"/", key, over)
	if err != nil {
		t.Fatal(err)
	}
	return c, asked
}

func says(status int, body string, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestTurnsArePutInOnceHoweverOftenTheyAreSent(t *testing.T) {
	c, asked := open(t, says(503, `{"code":"unavailable","detail":"x"}`, "Retry-After", "1"),
		says(202, `{"turns":[{"id":"t1"}]}`))
	added, err := c.AddTurns(t.Context(), "ines/..", "..", []client.Turn{{Role: "user", Text: "I live in Porto."}})
	if err != nil || len(added) != 1 || added[0] != (client.Added{ID: "t1"}) {
		t.Fatal(added, err)
	}
	if len(*asked) != 2 || (*asked)[0] != (*asked)[1] {
		t.Fatalf("asked %q", *asked)
	}
	want := "POST /v1/tenants/self/users/ines%2F../sessions/%2E%2E/turns? Bearer " + key + " "
	if got := (*asked)[0]; !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, ` {"turns":[{"role":"user","text":"I live in Porto."}]}`) {
		t.Errorf("asked %s", got)
	}
}

func TestWhatTheGatewayRefuses(t *testing.T) {
	c, asked := open(t, says(400,
		`{"code":"invalid","detail":"turns[0].text: is empty","errors":[{"field":"turns[0].text"}]}`, "X-Request-Id", "r1"))
	_, err := c.AddTurns(t.Context(), "ines", "s", []client.Turn{{Role: "user"}})
	var p *client.Problem
	if !errors.As(err, &p) || p.Status != 400 || p.Code != "invalid" || p.Field != "turns[0].text" ||
		p.RequestID != "r1" || len(*asked) != 1 {
		t.Errorf("got %+v after %d calls", err, len(*asked))
	}
	c, _ = open(t, says(502, "<html>"))
	if err := c.CloseSession(t.Context(), "ines", "s", ""); !errors.As(err, &p) || p.Code != "" || p.Status != 502 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c, _ = open(t, func(w http.ResponseWriter) { cancel(); says(429, `{}`, "Retry-After", "20")(w) })
	if _, err := c.TurnStatus(ctx, "ines", "t"); err == nil {
		t.Error("a call outlives its context")
	}
	c, asked = open(t, says(429, `{}`, "Retry-After", "3600")) // like a daily limit
	if _, err := c.TurnStatus(t.Context(), "ines", "t"); !errors.As(err, &p) || p.RetryAfter != time.Hour ||
		len(*asked) != 1 {
		t.Errorf("got %v after %d calls", err, len(*asked))
	}
}

func TestTurnsThatAreLeftOutAreNamed(t *testing.T) {
	c, asked := open(t, says(207, `{"results":[{"turn_id":"t1","status":"accepted","status_url":"/x"},{"turn_id":"t2","status":"left_out",
		"problem":{"code":"invalid","field":"turns[1].text","detail":"is empty"}},{"turn_id":"t3","status":"accepted",
		"status_url":"/x","shortened_by":7}]}`))
	added, err := c.AddTurns(t.Context(), "ines", "s",
		[]client.Turn{{Role: "user", Text: "a"}, {Role: "user"}, {Role: "user", Text: "b"}})
	var left *client.LeftOutError
	if !errors.As(err, &left) || len(added) != 2 || added[0].ID != "t1" || added[1] != (client.Added{Place: 2, ID: "t3",
		ShortenedBy: 7}) || len(*asked) != 1 {
		t.Fatal(added, err)
	}
	want := client.LeftOut{Place: 1, ID: "t2", Code: "invalid", Field: "turns[1].text", Detail: "is empty"}
	if len(left.Turns) != 1 || left.Turns[0] != want ||
		!strings.Contains(err.Error(), "turn 1 (t2): turns[1].text: is empty") {
		t.Errorf("%+v: %v", left.Turns, err)
	}
}

func TestReads(t *testing.T) {
	c, asked := open(t, says(200, `{"status":"remembered","memory_ids":["m"]}`),
		says(200, `{"day":"2026-11-25","counts":{"turns":3}}`))
	status, err := c.TurnStatus(t.Context(), "ines", "t1")
	if err != nil || status.Status != "remembered" || len(status.MemoryIDs) != 1 {
		t.Error(status, err)
	}
	day, counts, err := c.Usage(t.Context(), "2026-11-25")
	if err != nil || day != "2026-11-25" || counts["turns"] != 3 ||
		!strings.Contains((*asked)[1], "usage?day=2026-11-25") {
		t.Error(day, counts, err, *asked)
	}
	res, err := c.Utilizer.Recall(t.Context(), connect.NewRequest(&mnemev1.RecallRequest{UserId: "ines"}))
	if err != nil || res.Msg.GetProfile() != "ines by Bearer "+key {
		t.Error(res, err)
	}
}

func TestNothingIsMadeOfWhatIsNoGateway(t *testing.T) {
	for _, of := range [][2]string{
		{"", key}, {"mneme:8400", key}, {"ftp://mneme", key}, {"http://u:p@mneme", key}, {"http://mneme?x=1", key},
		{"http://mneme", ""},
		{"http://mneme", "a key"}, {"http://mneme", "a\nkey"},
	} {
		if c, err := client.New(of[0], of[1], nil); err == nil || strings.Contains(err.Error(), "a key") {
			t.Errorf("%q: %v, %v", of, c, err)
		}
	}
	c, err := client.New("http://mneme", key, nil)
	if err != nil || strings.Contains(fmt.Sprintf("%v %+v %#v %s", c, c, c, c), key) {
		t.Errorf("it shows its key: %#v, %v", c, err)
	}
}

func Example() {
	ctx := context.Background()
	mneme, err := client.New("http://127.0.0.1:8400", "mneme_...", nil)
	if err != nil {
		panic(err)
	}
	if _, err := mneme.AddTurns(ctx, "ines", "s1",
		[]client.Turn{{Role: "user", Text: "I am allergic to peanuts."}}); err != nil {
		panic(err)
	}
	res, err := mneme.Utilizer.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: "ines",
		Query: "What should Ines not eat?"}))
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Msg.GetProfile())
}

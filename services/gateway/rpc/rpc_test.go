package rpc_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/rpc"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// behind is the services behind the gateway.
type behind struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	mnemev1connect.UnimplementedUserDataServiceHandler
	header http.Header
}

func (b *behind) Recall(
	_ context.Context, r *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	b.header = r.Header().Clone()
	if r.Msg.GetQuery() == "" {
		err := connect.NewError(connect.CodeInvalidArgument, errors.New("query: is empty"))
		err.Meta().Set("Internal-Host", "10.0.0.1")
		return nil, err
	}
	res := connect.NewResponse(&mnemev1.RecallResponse{Profile: "what " + r.Msg.GetUserId() + " told"})
	res.Header().Set("Internal-Host", "10.0.0.1")
	return res, nil
}

func (b *behind) ExportUser(
	_ context.Context, r *connect.Request[mnemev1.ExportUserRequest],
	out *connect.ServerStream[mnemev1.ExportUserResponse],
) error {
	for _, part := range []string{"a", "b"} {
		if err := out.Send(&mnemev1.ExportUserResponse{Data: []byte(part + r.Msg.GetUserId())}); err != nil {
			return err
		}
	}
	return nil
}

// open serves the door for one caller, in front of b, and returns its address and a client.
func open(t *testing.T, b *behind, who access.Principal) (string, *http.Client) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(b))
	mux.Handle(mnemev1connect.NewUserDataServiceHandler(b))
	inner := httptest.NewServer(mux)
	client := &http.Client{Transport: &http.Transport{}}
	handler := rpc.New(backend.New(client, inner.URL, inner.URL, "a secret of services"))
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(access.NewContext(r.Context(), who)))
	}))
	t.Cleanup(func() { outer.Close(); client.CloseIdleConnections(); inner.Close() })
	return outer.URL, client
}

var anybody = access.Principal{Tenant: tenant.Tenant{ID: "acme"}, Scopes: access.Scopes()}

func TestCallsArePassedOnWithoutTheCallersHeaders(t *testing.T) {
	b := &behind{}
	url, client := open(t, b, anybody)
	for name, o := range map[string]connect.ClientOption{"connect": connect.WithProtoJSON(),
		"grpc-web": connect.WithGRPCWeb()} {
		req := connect.NewRequest(&mnemev1.RecallRequest{UserId: "ines", Query: "q"})
		req.Header().Set("Authorization", "Bearer KEY-of-caller")
		req.Header().Set("Mneme-Tenant", "beta")
		res, err := mnemev1connect.NewUtilizerServiceClient(client, url, o).Recall(t.Context(), req)
		if err != nil || res.Msg.GetProfile() != "what ines told" || res.Header().Get("Internal-Host") != "" {
			t.Errorf("%s: %v, %v", name, res, err)
		}
		if b.header.Get("Authorization") != "Bearer a secret of services" || b.header.Get("Mneme-Tenant") != "acme" {
			t.Errorf("%s: asked with %v", name, b.header)
		}
	}
	_, err := mnemev1connect.NewUtilizerServiceClient(client, url).Recall(t.Context(),
		connect.NewRequest(&mnemev1.RecallRequest{}))
	var known *connect.Error
	if !errors.As(err, &known) || known.Code() != connect.CodeInvalidArgument || known.Message() != "query: is empty" ||
		known.Meta().Get("Internal-Host") != "" {
		t.Errorf("got %v with %v", err, known.Meta())
	}
}

func TestAnExportIsAStream(t *testing.T) {
	url, client := open(t, &behind{}, anybody)
	in, err := mnemev1connect.NewUserDataServiceClient(client, url).ExportUser(t.Context(),
		connect.NewRequest(&mnemev1.ExportUserRequest{UserId: "ines"}))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for in.Receive() {
		got += string(in.Msg().GetData())
	}
	if err := errors.Join(in.Err(), in.Close()); err != nil || got != "ainesbines" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAKeyForOneUserReachesNoOther(t *testing.T) {
	one := anybody
	one.User = "ben"
	url, client := open(t, &behind{}, one)
	ask := func(user string) error {
		_, err := mnemev1connect.NewUtilizerServiceClient(client, url).Recall(t.Context(),
			connect.NewRequest(&mnemev1.RecallRequest{UserId: user, Query: "q"}))
		return err
	}
	if err := ask("ben"); err != nil {
		t.Error(err)
	}
	if err := ask("ines"); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("got %v", err)
	}
	in, err := mnemev1connect.NewUserDataServiceClient(client, url).ExportUser(t.Context(),
		connect.NewRequest(&mnemev1.ExportUserRequest{UserId: "ines"}))
	if err != nil {
		t.Fatal(err)
	}
	if in.Receive() || connect.CodeOf(in.Err()) != connect.CodePermissionDenied {
		t.Errorf("an export: %v", in.Err())
	}
	_ = in.Close() // as it ended
	order := connect.NewRequest(&mnemev1.RerankRequest{UserId: "ben"})
	_, err = mnemev1connect.NewRerankerServiceClient(client, url).Rerank(t.Context(), order)
	if connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("an order: %v", err)
	}
}

func TestWriteProblem(t *testing.T) {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, rpc.Prefixes()[0]+"Recall", nil)
	r.Header.Set("Content-Type", "application/json")
	rpc.WriteProblem(w, r, problem.Problem{Status: 401, Code: problem.CodeUnauthenticated, Detail: "no key"})
	if w.Code != 401 || !strings.Contains(w.Body.String(), `"unauthenticated"`) ||
		!strings.Contains(w.Body.String(), "no key") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A number in JSON that no double holds would be stored as another number.
func TestANumberThatNoDoubleHoldsIsRefused(t *testing.T) {
	url, client := open(t, &behind{}, anybody)
	const recall = mnemev1connect.UtilizerServiceRecallProcedure
	body := func(n string) string {
		return `{"userId":"ines","query":"q","new":1,"filter":{"condition":{"field":"metadata.a","equals":` + n + `}}}`
	}
	envelope := func(s string) string { return "\x00\x00\x00\x00" + string(rune(len(s))) + s }
	for number, refused := range map[string]bool{
		"9007199254740993": true, "0.1234567890123456789": true, "1e400": true, "9007199254740992": false, "1e300": false,
		"-0.1": false,
	} {
		for media, text := range map[string]string{
			"application/json": body(number), "application/json; charset=utf-8": body(number),
			"application/grpc-web+json": envelope(body(number)),
			"":                          "?connect=v1&encoding=json&message=" + neturl.QueryEscape(body(number)),
		} {
			method, to, in := http.MethodPost, url+recall, text
			if media == "" {
				method, to, in = http.MethodGet, url+recall+text, ""
			}
			req, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			if media != "" {
				req.Header.Set("Content-Type", media)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			told := string(got) + res.Header.Get("Grpc-Message")
			if strings.Contains(told, "filter.condition.equals: is a number that a double does not hold exactly") != refused ||
				strings.Contains(told, "what ines told") == refused {
				t.Errorf("%s, %q: %d %s", number, media, res.StatusCode, told)
			}
		}
	}
}

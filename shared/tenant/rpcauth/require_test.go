package rpcauth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

// unary is the path of a unary call.
const unary = mnemev1connect.RerankerServiceRerankProcedure

// refusals are the codes of the calls that were refused.
type refusals struct {
	mu    sync.Mutex
	codes []connect.Code
}

func (r *refusals) add(_ context.Context, c connect.Code) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.codes = append(r.codes, c)
}

// take returns the codes since it was called last.
func (r *refusals) take() []connect.Code {
	r.mu.Lock()
	defer r.mu.Unlock()
	codes := r.codes
	r.codes = nil
	return codes
}

// serveBoth is serve for HTTP/1.1 and HTTP/2 without TLS.
func serveBoth(t *testing.T, auth rpcauth.Authenticator, inside rpcauth.Inside, told *refusals) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(reranker{}))
	mux.Handle(stream, connect.NewServerStreamHandler(stream, reranker{}.stream))
	server := httptest.NewUnstartedServer(rpcauth.Require(auth, inside, mux, told.add))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func http2Client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// calls make a unary and a streaming call each.
func calls(ctx context.Context, client *http.Client, url, header string, o ...connect.ClientOption) map[string]error {
	newRequest := func() *connect.Request[mnemev1.RerankRequest] {
		r := connect.NewRequest(&mnemev1.RerankRequest{UserId: "u1", RecallId: "r"})
		if header != "" {
			r.Header().Set("Authorization", header)
		}
		return r
	}
	_, unaryErr := mnemev1connect.NewRerankerServiceClient(client, url, o...).Rerank(ctx, newRequest())
	answers, streamErr := connect.NewClient[mnemev1.RerankRequest, mnemev1.RerankResponse](client, url+stream, o...).
		CallServerStream(ctx, newRequest())
	if streamErr == nil {
		for answers.Receive() {
		}
		streamErr = errors.Join(answers.Err(), answers.Close())
	}
	return map[string]error{"unary": unaryErr, "stream": streamErr}
}

func TestCodesInEveryProtocol(t *testing.T) {
	auth := registry(t)
	var told refusals
	known := serveBoth(t, auth, rpcauth.Inside{Secret: servicesSecret, Keys: true, Tenants: auth}, &told)
	away := serveBoth(t, unavailable{}, rpcauth.Inside{}, &told)
	for protocol, o := range map[string][]connect.ClientOption{
		"connect": nil, "connect JSON": {connect.WithProtoJSON()}, "connect GET": {connect.WithHTTPGet()},
		"gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		for version, client := range map[string]*http.Client{"HTTP/1.1": httpClient(t), "HTTP/2": http2Client(t)} {
			if protocol == "gRPC" && version == "HTTP/1.1" {
				continue // gRPC is HTTP/2
			}
			for name, c := range map[string]struct {
				url, header string
				want        connect.Code
			}{
				"no key":        {known, "", connect.CodeUnauthenticated},
				"unknown key":   {known, "Bearer KEY-of-nobody", connect.CodeUnauthenticated},
				"no tenant":     {known, "Bearer " + servicesSecret, connect.CodeUnauthenticated},
				"keys are away": {away, "Bearer " + acmeKey, connect.CodeUnavailable},
				"known key":     {known, "Bearer " + acmeKey, 0},
			} {
				for kind, err := range calls(t.Context(), client, c.url, c.header, o...) {
					if c.want == 0 && err != nil || c.want != 0 && connect.CodeOf(err) != c.want {
						t.Errorf("%s over %s, %s, %s: got %v, want %v", protocol, version, kind, name, err, c.want)
					}
					var known *connect.Error
					challenged := errors.As(err, &known) && known.Meta().Get("WWW-Authenticate") == "Bearer"
					if challenged != (c.want == connect.CodeUnauthenticated) {
						t.Errorf("%s over %s, %s, %s: WWW-Authenticate in %v: %v", protocol, version, kind, name, err, challenged)
					}
				}
				want := slices.Repeat([]connect.Code{c.want}, 2)
				if c.want == 0 {
					want = nil
				}
				if got := told.take(); !slices.Equal(got, want) {
					t.Errorf("%s over %s, %s: told of %v, want %v", protocol, version, name, got, want)
				}
			}
		}
	}
}

func TestABodyThatNeverArrivesIsNotAwaitedWithoutAKey(t *testing.T) {
	url := serveBoth(t, registry(t), rpcauth.Inside{}, &refusals{})
	for version, client := range map[string]*http.Client{"HTTP/1.1": httpClient(t), "HTTP/2": http2Client(t)} {
		for kind, c := range map[string]struct {
			path, contentType string
			status            int
			code              func(http.Header, http.Header, string) string
			want              string
		}{
			"connect":        {unary, "application/proto", 401, inText, "unauthenticated"},
			"connect JSON":   {unary, "application/json", 401, inText, "unauthenticated"},
			"connect stream": {stream, "application/connect+proto", 200, inText, "unauthenticated"},
			"gRPC":           {unary, "application/grpc", 200, inTrailer, "16"},
			"gRPC-Web":       {unary, "application/grpc-web+proto", 200, inHeader, "16"},
			"gRPC-Web text":  {stream, "application/grpc-web", 200, inHeader, "16"},
			"none of them":   {"/nowhere", "text/plain", 401, inText, "unauthenticated"},
		} {
			body, end := io.Pipe()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+c.path, body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", c.contentType)
			req.ContentLength = 4 << 20
			resp, err := client.Do(req)
			if err != nil {
				t.Errorf("%s over %s: %v", kind, version, err)
				continue
			}
			text, err := io.ReadAll(resp.Body)
			if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != c.status ||
				!strings.Contains(c.code(resp.Header, resp.Trailer, string(text)), c.want) {
				t.Errorf("%s over %s: answered %d %q %v, %v", kind, version, resp.StatusCode, text, resp.Header, err)
			}
			if resp.Close != (version == "HTTP/1.1") {
				t.Errorf("%s over %s: the connection is closed: %v", kind, version, resp.Close)
			}
			_ = end.Close()
		}
	}
}

func inText(_, _ http.Header, text string) string       { return text }
func inTrailer(_, trailer http.Header, _ string) string { return trailer.Get("Grpc-Status") }
func inHeader(header, _ http.Header, _ string) string   { return header.Get("Grpc-Status") }

// unread fails the test on any read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read although the key is not known")
	return 0, io.EOF
}

func TestNoByteOfABodyIsReadBeforeTheKeyIsKnown(t *testing.T) {
	read := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if of, ok := tenant.FromContext(r.Context()); !ok || of.ID != "acme" {
			t.Errorf("the tenant is %q", of.ID)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})
	h := rpcauth.Require(registry(t), rpcauth.Inside{}, read, nil)
	for _, contentType := range []string{"application/proto", "application/connect+json", "application/grpc",
		"application/grpc-web", "a/b"} {
		r := httptest.NewRequest(http.MethodPost, unary, unread{t})
		r.Header.Set("Content-Type", contentType)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	body := strings.NewReader("body")
	r := httptest.NewRequest(http.MethodPost, unary, body)
	r.Header.Set("Authorization", "Bearer "+acmeKey)
	if h.ServeHTTP(httptest.NewRecorder(), r); body.Len() > 0 {
		t.Error("with a key the body is not read")
	}
}

func TestARefusalWithoutABodyKeepsTheConnection(t *testing.T) {
	url := serveBoth(t, registry(t), rpcauth.Inside{}, &refusals{})
	resp, err := httpClient(t).Get(url + unary)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close() != nil || resp.Close || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("answered %d, closed %v", resp.StatusCode, resp.Close)
	}
}

package rpcauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	acmeKey = "KEY-of-acme-1"
	betaKey = "KEY-of-beta-2"
	stream  = "/test.Stream/Rerank"
)

// reranker answers with the tenant of the call as the weights' version. With a next service, it forwards the call
// to that.
type reranker struct {
	mnemev1connect.UnimplementedRerankerServiceHandler
	next mnemev1connect.RerankerServiceClient
	// nextStream serves forwarded stream calls.
	nextStream *connect.Client[mnemev1.RerankRequest, mnemev1.RerankResponse]
}

func (r reranker) Rerank(
	ctx context.Context, req *connect.Request[mnemev1.RerankRequest],
) (*connect.Response[mnemev1.RerankResponse],
	error) {
	if strings.Contains(fmt.Sprintf("%v %+v", ctx, ctx), "KEY-of") {
		return nil, connect.NewError(connect.CodeInternal, errors.New("a printed context shows the key"))
	}
	if r.next != nil {
		return r.next.Rerank(ctx, connect.NewRequest(req.Msg))
	}
	t, ok := tenant.FromContext(ctx)
	if !ok {
		return nil, connect.NewError(connect.CodeInternal, errors.New("no tenant in the context"))
	}
	return connect.NewResponse(&mnemev1.RerankResponse{WeightsVersion: t.ID}), nil
}

// stream does the same as a server stream of one message.
func (r reranker) stream(ctx context.Context, req *connect.Request[mnemev1.RerankRequest],
	out *connect.ServerStream[mnemev1.RerankResponse]) error {
	if r.nextStream == nil {
		resp, err := r.Rerank(ctx, req)
		if err != nil {
			return err
		}
		return out.Send(resp.Msg)
	}
	answers, err := r.nextStream.CallServerStream(ctx, connect.NewRequest(req.Msg))
	if err != nil {
		return err
	}
	for answers.Receive() {
		err = errors.Join(err, out.Send(answers.Msg()))
	}
	return errors.Join(err, answers.Err(), answers.Close())
}

// unavailable is an authenticator with an unreachable store.
type unavailable struct{}

func (unavailable) Authenticate(string) (tenant.Tenant, error) {
	return tenant.Tenant{}, errors.New("store unavailable")
}

func registry(t *testing.T) *tenant.Registry {
	t.Helper()
	r, err := tenant.Static(
		tenant.Entry{Tenant: tenant.Tenant{ID: "acme"}, APIKeys: []string{tenant.HashKey(acmeKey)}},
		tenant.Entry{Tenant: tenant.Tenant{ID: "beta"}, APIKeys: []string{tenant.HashKey(betaKey)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// serve runs a reranker with authentication and returns its address.
func serve(t *testing.T, r reranker, auth rpcauth.Authenticator, insides ...rpcauth.Inside) string {
	t.Helper()
	var inside rpcauth.Inside
	for _, i := range insides {
		inside = i
	}
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(r))
	mux.Handle(stream, connect.NewServerStreamHandler(stream, r.stream))
	server := httptest.NewServer(rpcauth.Require(auth, inside, mux, nil))
	t.Cleanup(server.Close)
	return server.URL
}

func httpClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// caller makes one call with Authorization headers and returns the weights' version.
type caller func(t *testing.T, url string, headers ...string) (string, error)

func callUnary(t *testing.T, url string, headers ...string) (string, error) {
	t.Helper()
	req := connect.NewRequest(&mnemev1.RerankRequest{UserId: "u1", RecallId: "r"})
	req.Header()["Authorization"] = headers
	resp, err := mnemev1connect.NewRerankerServiceClient(httpClient(t), url).Rerank(t.Context(), req)
	if err != nil {
		return "", err
	}
	return resp.Msg.GetWeightsVersion(), nil
}

func callStream(t *testing.T, url string, headers ...string) (string, error) {
	t.Helper()
	req := connect.NewRequest(&mnemev1.RerankRequest{UserId: "u1", RecallId: "r"})
	req.Header()["Authorization"] = headers
	client := connect.NewClient[mnemev1.RerankRequest, mnemev1.RerankResponse](httpClient(t), url+stream)
	answers, err := client.CallServerStream(t.Context(), req)
	if err != nil {
		return "", err
	}
	got := ""
	for answers.Receive() {
		got = answers.Msg().GetWeightsVersion()
	}
	return got, errors.Join(answers.Err(), answers.Close())
}

var callers = map[string]caller{"unary": callUnary, "stream": callStream}

func TestTenantOfTheKey(t *testing.T) {
	url := serve(t, reranker{}, registry(t))
	for kind, call := range callers {
		for header, want := range map[string]string{
			"Bearer " + acmeKey: "acme", "Bearer " + betaKey: "beta", "bearer  " + acmeKey + " ": "acme",
		} {
			t.Run(kind+" "+header, func(t *testing.T) {
				if got, err := call(t, url, header); err != nil || got != want {
					t.Errorf("got %q, error %v; want %q", got, err, want)
				}
			})
		}
	}
}

func TestRefused(t *testing.T) {
	url := serve(t, reranker{}, registry(t))
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"no header":    {nil, "missing"},
		"empty header": {[]string{""}, "Bearer KEY"},
		"no scheme":    {[]string{acmeKey}, "Bearer KEY"},
		"other scheme": {[]string{"Basic " + acmeKey}, "Bearer KEY"},
		"no key":       {[]string{"Bearer "}, "Bearer KEY"},
		"unknown key":  {[]string{"Bearer KEY-of-nobody"}, "not known"},
		"hash as key":  {[]string{"Bearer " + tenant.HashKey(acmeKey)}, "not known"},
		"several":      {[]string{"Bearer " + acmeKey, "Bearer " + betaKey}, "several"},
	} {
		for kind, call := range callers {
			t.Run(kind+" "+name, func(t *testing.T) {
				_, err := call(t, url, c.headers...)
				if connect.CodeOf(err) != connect.CodeUnauthenticated || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got error %v, want unauthenticated saying %q", err, c.want)
				}
				if strings.Contains(err.Error(), "KEY-of") || strings.Contains(err.Error(), "sha256") {
					t.Errorf("error %q repeats the key", err)
				}
				var connectErr *connect.Error
				if !errors.As(err, &connectErr) || connectErr.Meta().Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("error %v lacks WWW-Authenticate", err)
				}
			})
		}
	}
}

func TestAuthenticatorAway(t *testing.T) {
	url := serve(t, reranker{}, unavailable{})
	for kind, call := range callers {
		t.Run(kind, func(t *testing.T) {
			if _, err := call(t, url, "Bearer "+acmeKey); connect.CodeOf(err) != connect.CodeUnavailable {
				t.Errorf("got error %v, want unavailable", err)
			}
		})
	}
}

func TestForwardedToTheNextService(t *testing.T) {
	auth := registry(t)
	inner := serve(t, reranker{}, auth)
	client, forward := httpClient(t), connect.WithInterceptors(rpcauth.Forward())
	outer := serve(t, reranker{
		next:       mnemev1connect.NewRerankerServiceClient(client, inner, forward),
		nextStream: connect.NewClient[mnemev1.RerankRequest, mnemev1.RerankResponse](client, inner+stream, forward),
	}, auth)
	for kind, call := range callers {
		for key, want := range map[string]string{acmeKey: "acme", betaKey: "beta"} {
			t.Run(kind+" "+want, func(t *testing.T) {
				if got, err := call(t, outer, "Bearer "+key); err != nil || got != want {
					t.Errorf("got %q, error %v; want %q", got, err, want)
				}
			})
		}
	}
}

func TestForwardOutsideOfACall(t *testing.T) {
	url := serve(t, reranker{}, registry(t))
	client := mnemev1connect.NewRerankerServiceClient(httpClient(t), url, connect.WithInterceptors(rpcauth.Forward()))
	_, err := client.Rerank(t.Context(), connect.NewRequest(&mnemev1.RerankRequest{}))
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("without a caller: got error %v, want unauthenticated", err)
	}
	req := connect.NewRequest(&mnemev1.RerankRequest{})
	req.Header().Set("Authorization", "Bearer "+betaKey)
	if resp, err := client.Rerank(t.Context(), req); err != nil || resp.Msg.GetWeightsVersion() != "beta" {
		t.Errorf("with a header of its own: got error %v, want beta", err)
	}
}

const servicesSecret = "SECRET-of-services"

func callInside(t *testing.T, url string, secret config.Secret, tenantID string) (string, error) {
	t.Helper()
	ctx := t.Context()
	if tenantID != "" {
		ctx = tenant.NewContext(ctx, tenant.Tenant{ID: tenantID})
	}
	client := mnemev1connect.NewRerankerServiceClient(httpClient(t), url,
		connect.WithInterceptors(rpcauth.Internal(secret)))
	resp, err := client.Rerank(ctx, connect.NewRequest(&mnemev1.RerankRequest{}))
	if err != nil {
		return "", err
	}
	return resp.Msg.GetWeightsVersion(), nil
}

func TestServicesInside(t *testing.T) {
	auth := registry(t)
	inner := serve(t, reranker{}, auth, rpcauth.Inside{Secret: servicesSecret, Tenants: auth})
	if got, err := callInside(t, inner, servicesSecret, "beta"); err != nil || got != "beta" {
		t.Errorf("with the secret: got %q, %v, want beta", got, err)
	}
	for name, c := range map[string]struct {
		secret config.Secret
		tenant string
		want   connect.Code
	}{
		"a wrong secret":       {"SECRET-of-others", "beta", connect.CodeUnauthenticated},
		"a tenant's key":       {betaKey, "beta", connect.CodeUnauthenticated},
		"an empty secret":      {"", "beta", connect.CodeUnauthenticated},
		"nobody's tenant":      {servicesSecret, "gamma", connect.CodeNotFound},
		"no tenant in context": {servicesSecret, "", connect.CodeUnauthenticated},
	} {
		if _, err := callInside(t, inner, c.secret, c.tenant); connect.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %q shows the secret", name, err)
		}
	}
	for kind, call := range callers {
		if _, err := call(t, inner, "Bearer "+servicesSecret); connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("%s with the secret and no tenant: %v", kind, err)
		}
	}
	both := serve(t, reranker{}, auth, rpcauth.Inside{Secret: servicesSecret, Keys: true, Tenants: auth})
	if got, err := callUnary(t, both, "Bearer "+acmeKey); err != nil || got != "acme" {
		t.Errorf("keys are taken, too: got %q, %v", got, err)
	}
	outer := serve(t, reranker{
		next: mnemev1connect.NewRerankerServiceClient(httpClient(t), inner, connect.WithInterceptors(rpcauth.Forward())),
	}, auth, rpcauth.Inside{Secret: servicesSecret, Tenants: auth})
	if got, err := callInside(t, outer, servicesSecret, "acme"); err != nil || got != "acme" {
		t.Errorf("passed on to the next service: got %q, %v, want acme", got, err)
	}
}

func TestWithoutASecretNobodyIsInside(t *testing.T) {
	auth := registry(t)
	url := serve(t, reranker{}, auth, rpcauth.Inside{Tenants: auth})
	if _, err := callInside(t, url, "", "beta"); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("got %v, want unauthenticated", err)
	}
}

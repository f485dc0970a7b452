package backend_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/goleak"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller returns a caller with the scopes, for one user only if user is set.
func caller(user string, scopes ...access.Scope) access.Principal {
	return access.Principal{Tenant: tenant.Tenant{ID: "acme"}, KeyID: "k", User: user, Scopes: scopes}
}

// behind is a fake of the services behind the gateway. It records the caller and the request.
type behind struct{ asked []string }

func (b *behind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.asked = append(b.asked, r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Mneme-Tenant"))
	w.Header().Set("Content-Type", "application/proto")
}

func services(t *testing.T, b *behind) backend.Services {
	t.Helper()
	server := httptest.NewServer(b)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() { client.CloseIdleConnections(); server.Close() })
	return backend.New(client, server.URL, server.URL, "a secret of services")
}

// procedures returns all RPCs of the contracts.
func procedures() (out []string) {
	file := mnemev1.File_mneme_v1_services_proto
	for i := range file.Services().Len() {
		s := file.Services().Get(i)
		for j := range s.Methods().Len() {
			out = append(out, "/"+string(s.FullName())+"/"+string(s.Methods().Get(j).Name()))
		}
	}
	return out
}

func TestCallsCarryTheSecretAndTheCallersTenant(t *testing.T) {
	b := &behind{}
	s := services(t, b)
	ctx := access.NewContext(t.Context(), caller("", access.Recall))
	if _, err := s.Recall.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: "ines"})); err != nil {
		t.Fatal(err)
	}
	want := []string{"/mneme.v1.UtilizerService/Recall Bearer a secret of services acme"}
	if !slices.Equal(b.asked, want) {
		t.Errorf("asked %q", b.asked)
	}
}

func TestCallersAreHeldAgainstTheirScopesAndUser(t *testing.T) {
	all := access.Scopes()
	recall := func(ctx context.Context, s backend.Services) error {
		_, err := s.Recall.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: "ines"}))
		return err
	}
	for name, c := range map[string]struct {
		who  access.Principal
		call func(context.Context, backend.Services) error
		want connect.Code
	}{
		"another scope": {caller("", access.Ingest, access.Read, access.Erase, access.Admin), recall,
			connect.CodePermissionDenied},
		"another user": {caller("ben", all...), recall, connect.CodePermissionDenied},
		"another user's answer": {caller("ben", all...), func(ctx context.Context, s backend.Services) error {
			_, err := s.Recall.Answer(ctx, connect.NewRequest(&mnemev1.AnswerRequest{
				Recall: &mnemev1.RecallRequest{UserId: "ines"},
			}))
			return err
		}, connect.CodePermissionDenied},
		"why of another user": {caller("ben", all...), func(ctx context.Context, s backend.Services) error {
			_, err := s.Diagnosis.Why(ctx, connect.NewRequest(&mnemev1.WhyRequest{
				Recall: &mnemev1.RecallRequest{UserId: "ines"},
			}))
			return err
		}, connect.CodePermissionDenied},
		"any user's history": {caller("ben", all...), func(ctx context.Context, s backend.Services) error {
			_, err := s.Memories.GetMemoryHistory(ctx, connect.NewRequest(&mnemev1.GetMemoryHistoryRequest{MemoryId: "m"}))
			return err
		}, connect.CodePermissionDenied},
		"the tenant's weights": {caller("ben", all...), func(ctx context.Context, s backend.Services) error {
			_, err := s.Reranker.ListWeights(ctx, connect.NewRequest(&mnemev1.ListWeightsRequest{}))
			return err
		}, connect.CodePermissionDenied},
		"the tenant's erasures": {caller("ben", all...), func(ctx context.Context, s backend.Services) error {
			_, err := s.UserData.ListErasures(ctx, connect.NewRequest(&mnemev1.ListErasuresRequest{}))
			return err
		}, connect.CodePermissionDenied},
		"an export of another user": {caller("ben", all...), func(ctx context.Context, s backend.Services) error {
			in, err := s.UserData.ExportUser(ctx, connect.NewRequest(&mnemev1.ExportUserRequest{UserId: "ines"}))
			if err != nil {
				return err
			}
			for in.Receive() {
			}
			return errors.Join(in.Err(), in.Close())
		}, connect.CodePermissionDenied},
		"an order of candidates, by anybody": {caller("", all...), func(ctx context.Context, s backend.Services) error {
			_, err := s.Reranker.Rerank(ctx, connect.NewRequest(&mnemev1.RerankRequest{UserId: "ines"}))
			return err
		}, connect.CodePermissionDenied},
	} {
		b := &behind{}
		err := c.call(access.NewContext(t.Context(), c.who), services(t, b))
		opened := strings.HasPrefix(name, "an export") // a stream is, and nothing sent
		if connect.CodeOf(err) != c.want || len(b.asked) > 0 && !opened {
			t.Errorf("%s: got %v, want %s; asked %q", name, err, c.want, b.asked)
		}
	}
	b := &behind{}
	if err := recall(t.Context(), services(t, b)); connect.CodeOf(err) != connect.CodeUnauthenticated || len(b.asked) > 0 {
		t.Errorf("nobody: %v", err)
	}
}

func TestEveryCallOfTheContractsHasAScope(t *testing.T) {
	for _, procedure := range procedures() {
		_, ok := backend.ScopeOf(procedure)
		if hidden := strings.HasSuffix(procedure, "/Rerank"); ok == hidden {
			t.Errorf("%s has a scope: %t", procedure, ok)
		}
	}
}

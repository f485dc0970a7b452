package rpcauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

func TestASuspendedTenantIsRefused(t *testing.T) {
	auth, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme", Suspended: true},
		APIKeys: []string{tenant.HashKey(acmeKey)}})
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, reranker{}, auth)
	for kind, call := range callers {
		t.Run(kind, func(t *testing.T) {
			_, err := call(t, url, "Bearer "+acmeKey)
			if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "suspended") {
				t.Errorf("got %v, want permission denied", err)
			}
		})
	}
}

func TestAKeyOfAnotherTenantThanIsNamedIsRefused(t *testing.T) {
	auth, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme"}, APIKeys: []string{tenant.HashKey(acmeKey)}})
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, reranker{}, auth)
	for named, want := range map[string]connect.Code{"": 0, "acme": 0, "globex": connect.CodePermissionDenied} {
		req := connect.NewRequest(&mnemev1.RerankRequest{UserId: "u1", RecallId: "r"})
		req.Header().Set("Authorization", "Bearer "+acmeKey)
		req.Header().Set(tenant.Header, named)
		_, err := mnemev1connect.NewRerankerServiceClient(http.DefaultClient, url).Rerank(t.Context(), req)
		if got := connect.CodeOf(err); err == nil && want != 0 || err != nil && got != want {
			t.Errorf("%q is named: %v, want code %v", named, err, want)
		}
	}
}

// untold is a directory that cannot answer.
type untold struct{}

func (untold) Lookup(id string) (tenant.Tenant, error) {
	return tenant.Tenant{}, fmt.Errorf("%w: tenant %s", fault.ErrUnavailable, id)
}

func TestATenantThatCannotBeToldIsToBeAskedForAgain(t *testing.T) {
	url := serve(t, reranker{}, registry(t), rpcauth.Inside{Secret: servicesSecret, Tenants: untold{}})
	if _, err := callInside(t, url, servicesSecret, "made"); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
}

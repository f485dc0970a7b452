package rpcauth_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/tenant/rpcauth"
)

func TestASuspendedTenantIsRefused(t *testing.T) {
	auth, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme", Suspended: true}, APIKeys: []string{tenant.HashKey(acmeKey)}})
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

// untold is a directory that cannot tell whether there is a tenant.
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

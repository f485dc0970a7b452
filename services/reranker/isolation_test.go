package reranker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// storeFailingFor is a store that cannot load the weights of one tenant.
type storeFailingFor struct {
	weights.Store
	tenant string
}

func (s storeFailingFor) Load(ctx context.Context, tenant string, known uint64) (weights.Record, error) {
	if tenant == s.tenant {
		return weights.Record{}, errUnavailable
	}
	return s.Store.Load(ctx, tenant, known)
}

func TestAFailedLoadOfOneTenantLeavesTheOthersTheirWeights(t *testing.T) {
	c := &clock{}
	shared := newStore(t, c)
	replica := func(s weights.Store) *fixture {
		return start(t, func(p *reranker.Parts) { p.Store, p.Now = s, c.Now })
	}
	one, other := replica(storeFailingFor{shared, "globex"}), replica(shared)
	if ids, _ := one.order("acme"); ids != "ab" {
		t.Fatalf("begins with %s", ids)
	}
	other.teach(ana, "b", 20)
	c.advance(time.Second)
	if ids, version := one.order("globex"); ids != "ab" || version != "prior/0" {
		t.Errorf("the tenant whose weights cannot be loaded has %s by %s, want the prior", ids, version)
	}
	if ids, version := one.order("acme"); ids != "ba" || version != "learned/5" {
		t.Errorf("another tenant has %s by %s, want what was learned meanwhile", ids, version)
	}
}

// storeBlockingFor is a store that blocks for one tenant until it is released.
type storeBlockingFor struct {
	weights.Store
	tenant  string
	blocked chan struct{} // closed by the first call that waits
	release chan struct{}
	once    sync.Once
}

func (s *storeBlockingFor) Load(ctx context.Context, tenant string, known uint64) (weights.Record, error) {
	if tenant == s.tenant {
		s.once.Do(func() { close(s.blocked) })
		<-s.release
	}
	return s.Store.Load(ctx, tenant, known)
}

// blockedUpdate starts an update of a tenant's weights that waits for the store until the test ends.
func blockedUpdate(t *testing.T, tenant string) *fixture {
	t.Helper()
	store := &storeBlockingFor{tenant: tenant, blocked: make(chan struct{}), release: make(chan struct{})}
	r := start(t, func(p *reranker.Parts) { p.Store = store })
	store.Store = newStore(t, r.clock)
	var group sync.WaitGroup
	t.Cleanup(func() {
		close(store.release)
		group.Wait()
	})
	ctx := context.WithoutCancel(t.Context())
	group.Go(func() { _, _ = r.server.RollbackWeights(inTenant(ctx, tenant), connect.NewRequest(rollbackTo(0))) })
	<-store.blocked
	return r
}

// rollBack requests a rollback of a tenant's weights, and fails without an answer.
func (r *fixture) rollBack(ctx context.Context, tenant string) error {
	r.t.Helper()
	answer := make(chan error, 1)
	go func() {
		_, err := r.server.RollbackWeights(inTenant(ctx, tenant), connect.NewRequest(rollbackTo(0)))
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-time.After(10 * time.Second):
		r.t.Fatalf("no answer to the update of %s", tenant)
		return nil
	}
}

func TestAnUpdateThatWaitsForTheStoreBlocksNoOtherTenant(t *testing.T) {
	r := blockedUpdate(t, "acme")
	for i := range 1000 {
		if err := r.rollBack(t.Context(), fmt.Sprint("tenant-", i)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnUpdateWaitsForAnotherNoLongerThanItsContext(t *testing.T) {
	r := blockedUpdate(t, "acme")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.rollBack(ctx, "acme"); connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("got %v, want that the caller gave up", err)
	}
}

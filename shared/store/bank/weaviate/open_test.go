package weaviate_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	client "github.com/weaviate/weaviate-go-client/v4/weaviate"
	"github.com/weaviate/weaviate/entities/models"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/banktest"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
)

var ana = memory.Scope{Tenant: "acme", User: "ana"}

func entry(id, content string) memory.Memory {
	return memory.Memory{
		ID: id, Kind: memory.KindFact, Content: content, Slot: "ana/home", RecordedAt: time.Unix(1700000000, 5).UTC(),
		Status: memory.StatusActive, Version: 1, Sources: []string{"t1"}, Vector: memory.Vector{1, 0, 0, 0},
	}
}

func TestOpenTwiceKeepsTheBank(t *testing.T) {
	cfg := newConfig()
	first := openBank(t, cfg)
	if err := first.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{entry("a", "Ana swims")}}); err != nil {
		t.Fatalf("Write: %v", err)
	}
	if _, err := openBank(t, cfg).Get(t.Context(), ana, "a"); err != nil {
		t.Errorf("Get after opening again: %v", err)
	}
}

func TestOpenByManyReplicasAtOnce(t *testing.T) {
	cfg := newConfig()
	const replicas = 6
	banks := make([]*weaviate.Bank, replicas)
	group, ctx := errgroup.WithContext(t.Context())
	for i := range replicas {
		group.Go(func() (err error) {
			for { // as a service does: the collections of another replica may not be ready yet
				banks[i], err = weaviate.Open(ctx, cfg, model, banktest.Dimension)
				if err == nil || fault.IsTerminal(err) || ctx.Err() != nil {
					return err
				}
			}
		})
	}
	err := group.Wait()
	for _, b := range banks {
		if b != nil {
			defer b.Close()
		}
	}
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	for i, b := range banks {
		if err := b.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{entry("same", "Ana swims")}}); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
	}
}

func TestOpenRefusesAnotherEmbedding(t *testing.T) {
	cfg := newConfig()
	openBank(t, cfg)
	for name, open := range map[string]func() (*weaviate.Bank, error){
		"model": func() (*weaviate.Bank, error) {
			return weaviate.Open(t.Context(), cfg, "other-model/2", banktest.Dimension)
		},
		"dimension": func() (*weaviate.Bank, error) { return weaviate.Open(t.Context(), cfg, model, 7) },
	} {
		b, err := open()
		if b != nil || !errors.Is(err, bank.ErrEmbeddingMismatch) || !fault.IsTerminal(err) {
			t.Errorf("another %s: got %v, want a terminal %v", name, err, bank.ErrEmbeddingMismatch)
			continue
		}
		for _, part := range []string{model, "4 dimensions", "MNEME_WEAVIATE_PREFIX"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("another %s: %q does not mention %s", name, err, part)
			}
		}
	}
	if _, err := weaviate.Open(t.Context(), cfg, model, 0); !fault.IsTerminal(err) {
		t.Errorf("no dimension: got %v, want a terminal error", err)
	}
}

// TestOpenMigratesAnOlderSchema creates a bank in the form of an earlier version: without some properties, and with
// an older version number.
func TestOpenMigratesAnOlderSchema(t *testing.T) {
	cfg := newConfig()
	openBank(t, cfg)
	old := newConfig()
	admin := newAdmin(t)
	copyClasses(
		t,
		admin,
		cfg.Prefix,
		old.Prefix,
		"entry",
		"terms",
		"recordedAt",
		"status",
		"tier",
		"validFrom",
		"sources",
		"releasedBy",
		"tokens",
		"attributes",
		"schemaVersion",
	)
	if _, err := admin.Data().Creator().WithClassName(old.Prefix + "Meta").WithID("6d6e656d-6500-5000-8000-000000000001").
		WithProperties(map[string]any{"embeddingModel": model, "dimension": banktest.Dimension}).Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := openBank(t, old)
	for _, name := range []string{"Memory", "Turn", "Session", "Meta"} {
		c, err := admin.Schema().ClassGetter().WithClassName(old.Prefix + name).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ReplicationConfig.DeletionStrategy; got != models.ReplicationConfigDeletionStrategyTimeBasedResolution {
			t.Errorf("deletions in %s are resolved by %s", name, got)
		}
	}
	m := entry("a", "Ana swims")
	m.AgentID = "a1"
	if err := b.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{m}}); err != nil {
		t.Fatalf("Write: %v", err)
	}
	listed, err := b.List(t.Context(), ana, bank.ListOptions{Filter: filter(t, `{"field":"agent_id","equals":"a1"}`)})
	if err != nil || len(listed.Memories) != 1 {
		t.Errorf("List by attribute: got %+v, %v", listed, err)
	}
	found, err := b.Search(t.Context(), ana, bank.Query{Text: "swims"})
	if err != nil || len(found) != 1 || found[0].Memory.Slot != m.Slot || !found[0].Memory.RecordedAt.Equal(m.RecordedAt) {
		t.Errorf("Search: got %+v, %v", found, err)
	}
	if err := b.WriteDropped(t.Context(), ana, []memory.Dropped{{TurnID: "d", Score: 0.25}}); err != nil {
		t.Fatalf("WriteDropped: %v", err)
	}
	if dropped, err := b.Dropped(t.Context(), ana, []string{"d"}); err != nil || len(dropped) != 1 ||
		dropped[0].Score != 0.25 {
		t.Errorf("Dropped: got %+v, %v", dropped, err)
	}
	got, err := admin.Data().ObjectsGetter().WithClassName(old.Prefix + "Meta").Do(t.Context())
	if err != nil || len(got) != 1 || got[0].Properties.(map[string]any)["schemaVersion"] != 8.0 {
		t.Errorf("meta: got %+v, %v, want schema version 8", got, err)
	}
}

// TestOpenAddsTheTier opens a bank with an entry of a schema without tiers. The entry is a memory.
func TestOpenAddsTheTier(t *testing.T) {
	cfg, old, admin := newConfig(), newConfig(), newAdmin(t)
	if err := openBank(t, cfg).Write(t.Context(), ana,
		memory.Write{Put: []memory.Memory{entry("a", "Ana swims")}}); err != nil {
		t.Fatal(err)
	}
	copyClasses(t, admin, cfg.Prefix, old.Prefix, "tier", "validFrom")
	written, err := admin.Data().ObjectsGetter().WithClassName(cfg.Prefix +
		"Memory").WithTenant(ana.Tenant).WithVector().Do(t.Context())
	if err != nil || len(written) != 1 {
		t.Fatalf("got %d objects, %v", len(written), err)
	}
	if _, err := admin.Data().Creator().WithClassName(old.Prefix +
		"Memory").WithTenant(ana.Tenant).WithID(written[0].ID.String()).
		WithProperties(written[0].Properties).WithVector(written[0].Vector).Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := openBank(t, old)
	talk := entry("b", "well, you know")
	talk.Tier = memory.TierTalk
	if err := b.Write(t.Context(), ana, memory.Write{Put: []memory.Memory{talk}}); err != nil {
		t.Fatal(err)
	}
	for tier, id := range map[memory.Tier]string{memory.TierMemory: "a", memory.TierTalk: "b"} {
		o := bank.ListOptions{Tiers: []memory.Tier{tier}}
		page, err := b.List(t.Context(), ana, o)
		if err != nil || len(page.Memories) != 1 || page.Memories[0].ID != id {
			t.Errorf("tier %q: got %+v, %v, want %s", tier, page.Memories, err, id)
		}
		if n, err := b.CountListed(t.Context(), ana, o); err != nil || n != 1 {
			t.Errorf("tier %q: got %d, %v, want 1", tier, n, err)
		}
	}
	if n, err := b.CountMemories(t.Context(), ana.Tenant); err != nil || n != 1 {
		t.Errorf("got %d memories, %v, want 1", n, err)
	}
}

// The server's default number of replicas may be more than one and is then correct. A number that differs from the
// collection's is reported.
func TestOpenSaysHowCollectionsAreReplicated(t *testing.T) {
	cfg := newConfig()
	if got := openBank(t, cfg).Warnings(); len(got) != 0 {
		t.Errorf("a new bank warns: %q", got)
	}
	made, err := newAdmin(t).Schema().ClassGetter().WithClassName(cfg.Prefix + "Memory").Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := models.ReplicationConfig{
		Factor: 1, AsyncEnabled: true, DeletionStrategy: models.ReplicationConfigDeletionStrategyTimeBasedResolution,
	}
	if made.ReplicationConfig == nil || *made.ReplicationConfig != want {
		t.Errorf("got %+v, want %+v", made.ReplicationConfig, want)
	}
	cfg.Replicas = 3
	if got := openBank(t, cfg).Warnings(); len(got) != 6 ||
		!strings.Contains(got[0], "has 1 replicas, but MNEME_WEAVIATE_REPLICAS is 3") {
		t.Errorf("got %q, want both numbers of each collection", got)
	}
	cfg.Replicas = 1
	if got := openBank(t, cfg).Warnings(); len(got) != 0 {
		t.Errorf("the number that it has: %q", got)
	}
}

// TestOpenWaitsForASlowConnection answers the first bytes of each gRPC connection late, as a busy server does.
func TestOpenWaitsForASlowConnection(t *testing.T) {
	const late = 300 * time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var connections errgroup.Group
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		_ = connections.Wait()
	})
	connections.Go(func() error {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return nil // the test has ended
			}
			connections.Go(func() error {
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				defer conn.Close()
				<-time.After(late)
				behind, err := net.Dial("tcp", server.GRPC())
				if err != nil {
					return err
				}
				defer behind.Close()
				connections.Go(func() error {
					_, err := io.Copy(behind, conn)
					return errors.Join(err, behind.Close())
				})
				_, err = io.Copy(conn, behind)
				return err
			})
		}
	})
	cfg := newConfig()
	cfg.GRPC = listener.Addr().String()
	openBank(t, cfg)
}

func newAdmin(t *testing.T) *client.Client {
	t.Helper()
	admin, err := client.NewClient(client.Config{Scheme: "http", Host: server.HTTP()})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// copyClasses creates the collections of another prefix without some properties.
func copyClasses(t *testing.T, admin *client.Client, from, to string, without ...string) {
	t.Helper()
	for _, name := range []string{"Memory", "Turn", "Session", "Meta"} {
		c, err := admin.Schema().ClassGetter().WithClassName(from + name).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		older := &models.Class{
			Class: to + name, MultiTenancyConfig: c.MultiTenancyConfig, Vectorizer: c.Vectorizer,
			VectorIndexType: c.VectorIndexType, VectorIndexConfig: c.VectorIndexConfig,
		}
		for _, p := range c.Properties {
			if !strings.Contains(strings.Join(without, " "), p.Name) {
				older.Properties = append(older.Properties, p)
			}
		}
		if err := admin.Schema().ClassCreator().WithClass(older).Do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenOfASilentServerEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cfg := newConfig()
	cfg.HTTP, cfg.GRPC, cfg.Timeout = silent.Addr().String(), silent.Addr().String(), 50*time.Millisecond
	if _, err := weaviate.Open(t.Context(), cfg, model, banktest.Dimension); err == nil || fault.IsTerminal(err) {
		t.Errorf("REST is silent: got %v, want a retryable error", err)
	}
	cfg.HTTP = server.HTTP()
	if _, err := weaviate.Open(t.Context(), cfg, model, banktest.Dimension); err == nil || fault.IsTerminal(err) {
		t.Errorf("gRPC is silent: got %v, want a retryable error", err)
	}
	cfg.Timeout = time.Minute
	for name, address := range map[string]string{"REST": silent.Addr().String(), "gRPC": server.HTTP()} {
		cfg.HTTP = address
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := weaviate.Open(ctx, cfg, model, banktest.Dimension); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's deadline, %s silent: got %v, want %v", name, err, context.DeadlineExceeded)
		}
	}
	cfg.HTTP = "not a host"
	if _, err := weaviate.Open(t.Context(), cfg, model, banktest.Dimension); !fault.IsTerminal(err) {
		t.Errorf("no address: got %v, want a terminal error", err)
	}
}

package wiring_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
	"github.com/mneme-memory/mneme/shared/store/records"
	"github.com/mneme-memory/mneme/shared/store/usage"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestTokensOfModelsAreCountedForTheirTenants(t *testing.T) {
	server, redis := llmtest.New(t), miniredis.RunT(t)
	filter, _, end := accounted(t, wiring.Model{Endpoint: server.Config()}, redis.Addr())
	for of, words := range map[string]int{"acme": 700, "globex": 30} {
		if _, err := filter.Filter(t.Context(), memory.Scope{Tenant: of, User: "ana"}, said(strings.Repeat("word ", words)),
			nil); err != nil {
			t.Fatal(err)
		}
	}
	end() // the remaining counts are written then
	client := goredis.NewClient(&goredis.Options{Addr: redis.Addr()})
	defer func() { _ = client.Close() }()
	counter, err := usage.New(client, usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int64{}
	for _, of := range []string{"acme", "globex"} {
		if used[of], err = counter.Today(t.Context(), of, usage.Tokens); err != nil {
			t.Fatal(err)
		}
	}
	if used["globex"] == 0 || used["acme"] <= used["globex"] {
		t.Errorf("got %v", used)
	}
}

func TestATenantWhoseBudgetIsUsedUpIsServedWithoutAModel(t *testing.T) {
	server, redis := llmtest.New(t), miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: redis.Addr()})
	defer func() { _ = client.Close() }()
	counter, err := usage.New(client, usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	counter.Count(t.Context(), "acme", usage.Tokens, 1000)
	counter.Close(t.Context())

	filter, _, end := accounted(t, wiring.Model{Endpoint: server.Config(), DayTokens: 1000}, redis.Addr())
	for of, policy := range map[string]string{"acme": "embedded-filter/", "globex": "llm/"} {
		out, err := filter.Filter(t.Context(), memory.Scope{Tenant: of, User: "ana"}, said("I live in Porto"), nil)
		if err != nil || !strings.HasPrefix(out[0].PolicyVersion, policy) {
			t.Errorf("%s: decided %+v, %v", of, out, err)
		}
	}
	if n := server.Total(); n != 1 {
		t.Errorf("%d calls, want that of the other tenant", n)
	}
	redis.Close() // an unknown count does not stop the service
	_, err = filter.Filter(t.Context(), memory.Scope{Tenant: "third", User: "ana"}, said("I live in Porto"), nil)
	if err != nil || server.Total() != 2 {
		t.Errorf("with Redis away: %v after %d calls", err, server.Total())
	}
	if err := redis.Restart(); err != nil {
		t.Fatal(err)
	}
	end()
	if n, err := counter.Today(t.Context(), "acme", usage.Degraded); err != nil || n != 1 {
		t.Errorf("%d calls are counted as degraded, %v", n, err)
	}
}

func TestCallsOfModelsAreRecordedWhereThatIsWanted(t *testing.T) {
	server, redis := llmtest.New(t), miniredis.RunT(t)
	ana := memory.Scope{Tenant: "acme", User: "ana"}
	for _, wanted := range []bool{false, true} {
		filter, store, end := accounted(t, wiring.Model{Endpoint: server.Config(), Record: wanted}, redis.Addr())
		if (store != nil) != wanted {
			t.Fatalf("wanted %t: %v", wanted, store)
		}
		if _, err := filter.Filter(t.Context(), ana, said("I live in Porto"), nil); err != nil {
			t.Fatal(err)
		}
		end() // the remaining counts are written then
	}
	client := goredis.NewClient(&goredis.Options{Addr: redis.Addr()})
	defer func() { _ = client.Close() }()
	store, err := records.New(client, records.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if calls, _, err := store.Records(t.Context(), ana); err != nil || len(calls) != 1 {
		t.Errorf("%d records, %v; want the record of the second call", len(calls), err)
	}
}

// accounted returns the filter of tenants with a model. Redis counts the model's use. It also returns the store of
// recorded calls, which is nil without recording, and a function that stops everything.
func accounted(t *testing.T, m wiring.Model, redis string) (filter formation.Filter, store *records.Store, end func()) {
	t.Helper()
	b := &wiring.Builder{}
	store, err := b.Account(&m, wiring.Redis{Addrs: []string{redis}}, telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	filters, free, err := m.OpenFilters(wiring.FormationOptions{Options: llm.DefaultOptions()}, telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	if filter, err = filters.Find(tenant.PolicyLLM); err != nil {
		t.Fatal(err)
	}
	return filter, store, func() {
		if _, err := b.Abandon(context.Background(), free()); err != nil {
			t.Error(err)
		}
	}
}

// said returns one turn of a user.
func said(text string) []memory.Turn {
	return []memory.Turn{{ID: "t", SessionID: "s", Speaker: "Ana", Role: memory.RoleUser, Time: time.Now(), Text: text}}
}

func TestWithoutAModelNothingIsCounted(t *testing.T) {
	b := &wiring.Builder{}
	if _, err := b.Account(&wiring.Model{}, wiring.Redis{}, telemetry.Discard()); err != nil || len(b.App.Background) > 0 {
		t.Errorf("got %v, %d tasks", err, len(b.App.Background))
	}
}

func TestATenantsTrainedPolicyIsFoundByItsVersionWhenItIsThere(t *testing.T) {
	p := &decision.Policy{Version: "trained-1", Heads: map[decision.Role]decision.Head{}}
	for _, r := range decision.Roles() {
		p.Heads[r] = decision.NewHead(len(decision.Features(r)), 0, nil)
	}
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	o := wiring.Decisions{Folder: folder}
	formers, _, err1 := wiring.Model{}.OpenFormers(wiring.FormationOptions{Options: llm.DefaultOptions(), Decisions: o},
		telemetry.Discard())
	filters, _, err2 := wiring.Model{}.OpenFilters(wiring.FormationOptions{Options: llm.DefaultOptions(), Decisions: o},
		telemetry.Discard())
	profilers, _, err3 := wiring.Model{}.OpenRecallPolicies(wiring.RecallOptions{Options: recallllm.DefaultOptions(),
		Decisions: o},
		telemetry.Discard())
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	const policy = tenant.PolicyEmbedded + "@trained-1"
	find := func() []error {
		former, err1 := formers.Find(string(tenant.StrategySalimory), string(policy))
		filter, err2 := filters.Find(policy)
		_, _, err3 := profilers.Find(policy)
		if err := errors.Join(err1, err2, err3); err == nil {
			made, err := filter.Filter(t.Context(), memory.Scope{Tenant: "acme", User: "ana"}, said("I live in Porto"), nil)
			if err != nil || !strings.HasSuffix(made[0].PolicyVersion, "@trained-1") ||
				former.Version() != "salimory-embedded/8@trained-1" {
				t.Errorf("decided %+v, %v; formed by %s", made, err, former.Version())
			}
		}
		return []error{err1, err2, err3}
	}
	broken := filepath.Join(folder, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"format":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, err := range find() { // turns become dead letters and do not block others; recall returns a retryable error
		if err == nil || fault.IsTerminal(err) != (i < 2) || !strings.Contains(err.Error(), "broken.json") {
			t.Errorf("without the file: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "any-name.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range find() {
		if err != nil {
			t.Errorf("with the file: %v", err)
		}
	}
	p.Version = "trained-2" // two files differ: neither is used
	for i, name := range []string{"a[1].json", "b.json"} {
		p.Heads[decision.Change].Weights[0] = float64(i)
		data, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clash := string(tenant.PolicyEmbedded + "@trained-2")
	_, err = formers.Find(string(tenant.StrategySalimory), clash)
	if !errors.Is(err, wiring.ErrNoPolicy) || !strings.Contains(err.Error(), "b.json") {
		t.Errorf("with two files of a version: %v", err)
	}
	if err := os.Remove(filepath.Join(folder, "b.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := formers.Find(string(tenant.StrategySalimory), clash); err != nil {
		t.Errorf("with one of them: %v", err)
	}
	plain, err := formers.Find(string(tenant.StrategySalimory), string(tenant.PolicyEmbedded))
	if err != nil || strings.Contains(plain.Version(), "@") {
		t.Errorf("other tenants are formed by %v, %v", plain, err)
	}
	if _, err := (wiring.Formers{}).Find(string(tenant.StrategySalimory), string(policy)); !fault.IsTerminal(err) {
		t.Errorf("without a folder: %v", err)
	}
}

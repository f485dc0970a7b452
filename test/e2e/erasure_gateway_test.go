package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/gateway"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/test/harness"
)

// internalSecret is the shared secret of the gateway and the services behind it.
const internalSecret = "the secret of the end-to-end tests"

// startGateway runs a gateway in front of the shared system until stop is called. It serves all tests. Once its
// consumer has read a record, erasures wait for this consumer.
func startGateway(ctx context.Context, log io.Writer) (base string, stop func() error, err error) {
	addr, err := harness.FreeAddr()
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	environ := shared.Servers.Environ(map[string]string{
		"MNEME_HTTP_ADDR": addr, "MNEME_UTILIZER_URL": "http://" + shared.UtilizerAddr(),
		"MNEME_INTERNAL_SECRET":           internalSecret,
		"MNEME_WEBHOOK_PRIVATE_ADDRESSES": "true",
	})
	go func() { ended <- runner.Run(ctx, gateway.Service, runner.Options{Environ: environ, Stderr: log}) }()
	return "http://" + addr, func() error {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		return <-ended
	}, nil
}

// door calls the gateway for a test.
type door struct {
	t    *testing.T
	base string
}

// openDoor waits until the gateway is ready.
func openDoor(t *testing.T) *door {
	t.Helper()
	harness.Await(t, "the gateway is ready", func(ctx context.Context) (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, gatewayURL+"/openapi.json", nil)
		if err != nil {
			return false, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, nil //nolint:nilerr // not listening yet
		}
		return res.StatusCode == http.StatusOK, res.Body.Close()
	})
	return &door{t, gatewayURL}
}

// call sends a request and returns the answer's body.
func (d *door) call(method, path, body, key string) map[string]any {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+harness.KeyOf(tenantErase))
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusMultipleChoices {
		d.t.Fatalf("%s %s: %s %s, %v", method, path, res.Status, text, err)
	}
	out := map[string]any{}
	if len(text) > 0 && json.Unmarshal(text, &out) != nil {
		d.t.Fatalf("%s %s: %s", method, path, text)
	}
	return out
}

// fill makes the gateway store data of a user in each of its stores, and ends the session.
func (d *door) fill(user string) {
	d.t.Helper()
	of := "/v1/tenants/self/users/" + user
	d.call(http.MethodPost, of+"/items/batch", `{"operations":[{"op":"put","namespace":["a"],"key":"k","value":{"text":"private"}}]}`, "")
	d.call(http.MethodPost, of+"/sessions/s1/items", `{"items":[{"text":"private"}]}`, user+"-items")
	d.call(http.MethodPost, "/v3/memories/add/", fmt.Sprintf(
		`{"user_id":%q,"run_id":"r1","messages":[{"role":"user","content":"I play the cello in an orchestra."}]}`, user), "")
	d.call(http.MethodPost, "/v1/exports/", fmt.Sprintf(`{"schema":"x","user_id":%q}`, user), "")
	d.call(http.MethodPost, "/v3/memories/search/", fmt.Sprintf(`{"query":"music","user_id":%q}`, user), "")
	d.call(http.MethodPost, of+"/sessions/s1/turns",
		`{"turns":[{"role":"user","text":"I live in Graz and I work as a carpenter."},
		{"role":"user","text":"I am allergic to peanuts."}]}`, user+"-turns")
	d.call(http.MethodPost, of+"/sessions/s1/close", "", user+"-close")
}

// gatewayStores are the registry's entries that the gateway fills.
var gatewayStores = []string{"answers and notes of requests", "verbatim items", "state of mem0's API",
	"deliveries of webhooks"}

// Every erasure, by any caller and at any time, removes all the user's data from every store. This includes the
// gateway's own stores.
func TestAnErasureReachesWhatTheGatewayKeeps(t *testing.T) {
	d := openDoor(t)
	hook, _ := d.call(http.MethodPost, "/v1/tenants/self/webhooks", `{"url":"http://127.0.0.1:1/nobody"}`,
		"hook")["id"].(string)
	defer func() { // no other test has waiting deliveries
		d.t = t
		d.call(http.MethodDelete, "/v1/tenants/self/webhooks/"+hook, "", "")
	}()
	filled := func(t *testing.T, user string) {
		t.Helper()
		d.t = t
		d.fill(user)
		harness.Await(t, "every store of the gateway keeps something", func(context.Context) (bool, error) {
			kept := shared.Scan(t, tenantErase, user)
			for _, store := range gatewayStores {
				if kept[store] == 0 {
					return false, nil
				}
			}
			return kept["memories"] > 0, nil
		})
	}
	nothing := func(t *testing.T, user string) {
		t.Helper()
		harness.Await(t, "a scan of "+user+" finds nothing", func(context.Context) (bool, error) {
			return len(shared.Scan(t, tenantErase, user)) == 0, nil
		})
	}
	t.Run("asked of the utilizer", func(t *testing.T) {
		filled(t, "ruth")
		shared.Erase(t, tenantErase, "ruth")
		nothing(t, "ruth")
	})
	t.Run("published as an event", func(t *testing.T) {
		filled(t, "sven")
		e := contract.SessionEvent{ErasedAt: time.Now(), Envelope: contract.Envelope{
			EventID: "erase sven", Scope: memory.Scope{Tenant: tenantErase, User: "sven"},
		}}
		shared.PublishMessages(t, harness.Messages(t, e)...)
		shared.AwaitErased(t, tenantErase, "sven", e.EventID)
		nothing(t, "sven")
	})
	for i := range 3 {
		t.Run(fmt.Sprintf("asked of the gateway right after the end of a session, %d", i), func(t *testing.T) {
			user := fmt.Sprint("thea", i)
			d.t = t
			d.fill(user)
			id, _ := d.call(http.MethodDelete, "/v1/tenants/self/users/"+user, "", "")["erasure_id"].(string)
			shared.AwaitErased(t, tenantErase, user, id)
			if left := shared.Scan(t, tenantErase, user); len(left) > 0 {
				t.Errorf("the erasure is proved, and a scan finds %v", left)
			}
			nothing(t, user)
		})
	}
}

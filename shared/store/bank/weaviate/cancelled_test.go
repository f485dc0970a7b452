package weaviate_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// cancelled is the number of cancelled creations. Without a repair, most of them lose their vector.
const cancelled = 60

// TestACancelledCreationIsRepeated cancels creations right after their requests are sent, as a client's timeout or an
// activity's lost heartbeat does. The server then stores the object and its index rows, but not its vector. The
// repeated write finds the object, or arrives before it is stored.
func TestACancelledCreationIsRepeated(t *testing.T) {
	for name, atOnce := range map[string]bool{"at once": true, "later": false} {
		t.Run(name, func(t *testing.T) {
			cfg := newConfig()
			b := openBank(t, cfg)
			first := memory.Write{Put: []memory.Memory{entry("first", "Ana swims")}} // creates the tenant
			if err := b.Write(t.Context(), ana, first); err != nil {
				t.Fatal(err)
			}
			cfg.HTTP = proxy(t, cancelCreations(t))
			cancelling := openBank(t, cfg)
			all := first
			for n := range cancelled {
				w := memory.Write{Put: []memory.Memory{entry(fmt.Sprint("m", n), "Ana swims")}}
				if err := cancelling.Write(t.Context(), ana, w); err == nil {
					t.Fatal("a cancelled write succeeded")
				}
				if atOnce {
					if err := b.Write(t.Context(), ana, w); err != nil {
						t.Fatal(err)
					}
				}
				all.Put = append(all.Put, w.Put...)
			}
			if !atOnce {
				if err := b.Write(t.Context(), ana, all); err != nil {
					t.Fatal(err)
				}
			}
			foundOnce(t, b, all.Put)
		})
	}
}

// cancelCreations passes on all requests, but cancels creations of objects as soon as they are sent.
func cancelCreations(t *testing.T) func(http.Handler) http.Handler {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/objects") {
				next.ServeHTTP(w, r)
				return
			}
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { cancel() }}
			sent := r.Clone(httptrace.WithClientTrace(ctx, trace))
			sent.URL.Scheme, sent.URL.Host = "http", server.HTTP()
			if reply, err := transport.RoundTrip(sent); err == nil {
				_ = reply.Body.Close()
			}
			w.WriteHeader(http.StatusBadGateway)
		})
	}
}

// foundOnce checks that every read finds each entry once.
func foundOnce(t *testing.T, b bank.Bank, entries []memory.Memory) {
	t.Helper()
	want := idsOf(entries)
	page, err := b.List(t.Context(), ana, bank.ListOptions{Limit: bank.MaxLimit})
	if got := idsOf(page.Memories); err != nil || !slices.Equal(got, want) {
		t.Errorf("List: got %d entries %v, %v, want %d", len(got), got, err, len(want))
	}
	for name, q := range map[string]bank.Query{
		"text": {Text: "swims", K: bank.MaxK}, "vector": {Vector: entries[0].Vector, Alpha: 1, K: bank.MaxK},
	} {
		found, err := b.Search(t.Context(), ana, q)
		memories := make([]memory.Memory, len(found))
		for i, f := range found {
			memories[i] = f.Memory
		}
		if got := idsOf(memories); err != nil || !slices.Equal(got, want) {
			t.Errorf("Search by %s: got %d entries %v, %v, want %d", name, len(got), got, err, len(want))
		}
	}
}

func idsOf(entries []memory.Memory) []string {
	ids := make([]string, len(entries))
	for i, m := range entries {
		ids[i] = m.ID
	}
	slices.Sort(ids)
	return ids
}

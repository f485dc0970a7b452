package weaviate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// stored is an object in the form of the server's REST interface.
type stored struct {
	ID         string         `json:"id"`
	Class      string         `json:"class"`
	Tenant     string         `json:"tenant"`
	Properties map[string]any `json:"properties"`
	Vector     []float32      `json:"vector,omitempty"`
}

// TestAnEntryThatTheIndexDoesNotLeadToIsWrittenAnew creates the state after a server was killed or a request was
// cancelled during a write: the entry exists, so it cannot be created, but the index does not find it.
func TestAnEntryThatTheIndexDoesNotLeadToIsWrittenAnew(t *testing.T) {
	for name, damage := range map[string]func(*stored){
		"by its user":   func(o *stored) { o.Properties["user"] = "nobody" },
		"by its vector": func(o *stored) { o.Vector = nil },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := newConfig()
			b := openBank(t, cfg)
			w := memory.Write{Put: []memory.Memory{entry("a", "Ana swims")}}
			if err := b.Write(t.Context(), ana, w); err != nil {
				t.Fatal(err)
			}
			var found struct{ Objects []stored }
			url := "http://" + server.HTTP() + "/v1/objects"
			rest(t, http.MethodGet, url+"?include=vector&class="+cfg.Prefix+"Memory&tenant="+ana.Tenant, nil, &found)
			if len(found.Objects) != 1 {
				t.Fatalf("%d objects of one entry", len(found.Objects))
			}
			object := found.Objects[0]
			object.Tenant = ana.Tenant
			damage(&object)
			rest(t, http.MethodPut, url+"/"+object.Class+"/"+object.ID, object, nil)
			byVector := bank.Query{Vector: w.Put[0].Vector, Alpha: 1}
			if got, err := b.Search(t.Context(), ana, byVector); err != nil || len(got) > 0 {
				t.Fatalf("the entry is still found (%v)", err)
			}
			for range 2 {
				if err := b.Write(t.Context(), ana, w); err != nil {
					t.Fatalf("repeated write: %v", err)
				}
				foundOnce(t, b, w.Put)
			}
		})
	}
}

// rest makes a direct request to the server, without the bank.
func rest(t *testing.T, method, url string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %s: %s: %s", method, url, res.Status, why)
	}
	if out != nil {
		if err := json.NewDecoder(res.Body).Decode(out); err != nil {
			t.Fatal(err)
		}
	}
}

// crashes is the number of kills of the server, and writers is the number of parallel writers. In most runs, this
// interrupts some write between an object and its index rows. Long texts widen that gap: data larger than the
// server's buffers is on the disk first.
const crashes, writers = 2, 32

// TestAWriteIsRepeatedAfterACrash kills the server during writes, and repeats the interrupted writes, as
// consolidation does.
func TestAWriteIsRepeatedAfterACrash(t *testing.T) {
	b := openBank(t, newConfig())
	for round := range crashes {
		cut, written := make([]memory.Write, writers), atomic.Int64{}
		scope := func(n int) memory.Scope { return memory.Scope{Tenant: "local", User: fmt.Sprintf("r%du%d", round, n)} }
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for n := range writers {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					cut[n] = session(fmt.Sprintf("s%d", i))
					if i > 0 {
						cut[n].Close = []memory.Closing{{
							ID: fmt.Sprintf("s%dm1", i-1), Status: memory.StatusSuperseded, ValidTo: time.Unix(1700000100, 0).UTC(),
							OperationID: "op",
						}}
					}
					if err := b.Write(ctx, scope(n), cut[n]); err != nil {
						return
					}
					written.Add(1)
				}
			})
		}
		enough := 2*writers + rand.Int64N(2*writers) //nolint:gosec // some moment or other
		eventually(t, "some writes", func(context.Context) error {
			if n := written.Load(); n < enough {
				return fmt.Errorf("%d writes, want %d", n, enough)
			}
			return nil
		})
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		cancel()
		wg.Wait()
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n, w := range cut {
			eventually(t, "repeated write", func(ctx context.Context) error { return b.Write(ctx, scope(n), w) })
			complete(t, b, scope(n), w)
		}
	}
}

// session returns the write of one session.
func session(id string) memory.Write {
	said := id + strings.Repeat(" and she swims", 400)
	at := time.Unix(1700000000, 0).UTC()
	w := memory.Write{Session: &memory.SessionRecord{SessionID: id, FormedAt: at, Turns: 2, Closed: true}}
	for _, n := range []string{"1", "2"} {
		w.Put = append(w.Put, entry(id+"m"+n, said))
		w.Turns = append(w.Turns, memory.Turn{ID: id + "t" + n, SessionID: id, Speaker: "Ana", Role: memory.RoleUser,
			Text: said, Time: at})
	}
	return w
}

// complete checks that reads find all of a write.
func complete(t *testing.T, b bank.Bank, scope memory.Scope, w memory.Write) {
	t.Helper()
	listed, err := b.List(t.Context(), scope, bank.ListOptions{Statuses: []memory.Status{memory.StatusActive},
		Limit: bank.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range w.Put {
		if _, err := b.Get(t.Context(), scope, m.ID); err != nil {
			t.Errorf("Get: %v", err)
		}
		if !slices.ContainsFunc(listed.Memories, func(l memory.Memory) bool { return l.ID == m.ID }) {
			t.Errorf("entry %s of %s is not listed", m.ID, scope.User)
		}
	}
	near, err := b.Search(t.Context(), scope, bank.Query{Vector: w.Put[0].Vector, Alpha: 1, K: bank.MaxK})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range w.Put {
		if !slices.ContainsFunc(near, func(s bank.Scored) bool { return s.Memory.ID == m.ID }) {
			t.Errorf("entry %s of %s is not found by its vector", m.ID, scope.User)
		}
	}
	old, err := b.List(t.Context(), scope, bank.ListOptions{Statuses: []memory.Status{memory.StatusSuperseded},
		Limit: bank.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range w.Close {
		if slices.ContainsFunc(listed.Memories, func(l memory.Memory) bool { return l.ID == c.ID }) {
			t.Errorf("closed entry %s of %s is listed active", c.ID, scope.User)
		}
		if !slices.ContainsFunc(old.Memories, func(l memory.Memory) bool { return l.ID == c.ID }) {
			t.Errorf("closed entry %s of %s is not listed superseded", c.ID, scope.User)
		}
	}
	if turns, err := b.Turns(t.Context(), scope, []string{w.Turns[0].ID, w.Turns[1].ID}); err != nil || len(turns) != 2 {
		t.Errorf("%d of two turns of %s are found, %v", len(turns), scope.User, err)
	}
	if _, ok, err := b.Session(t.Context(), scope, w.Session.SessionID); err != nil || !ok {
		t.Errorf("session %s of %s: found %v, %v", w.Session.SessionID, scope.User, ok, err)
	}
}

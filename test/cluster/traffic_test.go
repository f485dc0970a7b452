//go:build cluster

package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/test/harness"
)

// Kinds of calls.
const (
	turnByGateway    = "turns by the gateway"
	recallByGateway  = "recalls by the gateway"
	recallByUtilizer = "recalls by utilizers"
)

// calls counts the calls of a kind.
type calls struct {
	made, failed, degraded int
	slowest                time.Duration
	errors                 map[string]int
}

// varying matches the parts that differ between errors of the same kind.
var varying = regexp.MustCompile(`127\.0\.0\.1:\d+(->127\.0\.0\.1:\d+)?|speaker-[-\ds]+|"request_id":"[^"]*"`)

// traffic is the clients' continuous load. Some clients send turns and some recall, each at a steady rate over kept
// connections.
type traffic struct {
	*cluster
	tenant string
	asked  string // the user of the recalls
	cancel context.CancelFunc
	over   context.Context
	all    sync.WaitGroup

	mu       sync.Mutex
	calls    map[string]*calls
	sessions []dataset.Session
}

const (
	writers = 8
	// pace is the time between two turns of a speaker.
	pace = time.Second
	// slowestCall is far longer than a call takes.
	slowestCall = 15 * time.Second
)

// pauses are the pauses of each recalling client, in rotation. Some clients keep a connection busy. One leaves its
// connection idle for longer than a replica drains.
var pauses = [][]time.Duration{{pace / 2}, {pace / 2}, {pace / 20}, {7 * pace, 9 * pace, 12 * pace}}

// startTraffic starts clients that work until end.
func startTraffic(t *testing.T, c *cluster, tenant, asked string) *traffic {
	over, cancel := context.WithCancel(context.Background())
	tr := &traffic{cluster: c, tenant: tenant, asked: asked, over: over, cancel: cancel, calls: map[string]*calls{}}
	for n := range writers {
		tr.all.Go(func() {
			if err := tr.speak(n); err != nil {
				t.Error(err)
			}
		})
	}
	for _, p := range pauses {
		tr.all.Go(func() { tr.ask(recallByGateway, tr.recallByGateway, p) })
		tr.all.Go(func() { tr.ask(recallByUtilizer, tr.recallByUtilizer, p) })
	}
	t.Cleanup(func() { tr.end() })
	return tr
}

// end lets open sessions end and returns the accepted sessions, in order for each user. It may be called again.
func (tr *traffic) end() []dataset.Session {
	tr.cancel()
	tr.all.Wait()
	return tr.sessions
}

// leastRounds is the lowest number of sessions of a speaker. By then a statement has replaced another one.
const leastRounds = 8

// speak publishes one session after the other. It counts a failed call and repeats it unchanged, because the outcome
// of a failed call is unknown.
func (tr *traffic) speak(n int) error {
	client, tick := newClient(), time.NewTicker(pace)
	defer client.CloseIdleConnections()
	defer tick.Stop()
	user := fmt.Sprintf("speaker-%d", n)
	for round := 0; round < leastRounds || tr.over.Err() == nil; round++ {
		s := talk(user, n, round)
		path := fmt.Sprintf("/v1/tenants/self/users/%s/sessions/%s", user, s.ID)
		for _, t := range s.Turns {
			turn := map[string]any{"id": t.ID, "role": t.Role, "speaker": t.Speaker, "text": t.Text, "time": t.Time}
			if err := tr.until(client, tick, path+"/turns", t.ID, map[string]any{"turns": []any{turn}}); err != nil {
				return err
			}
		}
		if err := tr.until(client, tick, path+"/close", s.ID,
			map[string]any{"last_turn_id": s.Turns[len(s.Turns)-1].ID}); err != nil {
			return err
		}
		tr.mu.Lock()
		tr.sessions = append(tr.sessions, s)
		tr.mu.Unlock()
	}
	return nil
}

// until repeats a call until the gateway accepts it.
func (tr *traffic) until(client *http.Client, tick *time.Ticker, path, key string, body any) error {
	for began := time.Now(); ; {
		err := tr.count(turnByGateway, func(ctx context.Context) (degraded bool, err error) {
			return false, tr.post(ctx, client, path, tr.tenant+key, body, http.StatusAccepted, nil)
		})
		if <-tick.C; err == nil {
			return nil
		}
		if time.Since(began) > patience {
			return fmt.Errorf("%s is not accepted after %v: %w", path, patience, err)
		}
	}
}

// ask recalls repeatedly, with pauses in rotation.
func (tr *traffic) ask(
	kind string, recall func(*http.Client) func(context.Context) (bool, error), pauses []time.Duration,
) {
	client := newClient()
	defer client.CloseIdleConnections()
	call := recall(client)
	for n := 0; tr.over.Err() == nil; n++ {
		_ = tr.count(kind, call) // count records the error
		select {
		case <-tr.over.Done():
		case <-time.After(pauses[n%len(pauses)]):
		}
	}
}

// count makes a call and counts it.
func (tr *traffic) count(kind string, call func(context.Context) (degraded bool, err error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	began := time.Now()
	degraded, err := call(ctx)
	took := time.Since(began)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	c := tr.calls[kind]
	if c == nil {
		c = &calls{errors: map[string]int{}}
		tr.calls[kind] = c
	}
	c.made++
	c.slowest = max(c.slowest, took)
	if degraded {
		c.degraded++
	}
	if err != nil {
		c.failed++
		c.errors[varying.ReplaceAllString(err.Error(), "*")]++
	}
	return err
}

// callLimit is the client's timeout.
const callLimit = 30 * time.Second

const question = "Where do I live?"

func (tr *traffic) recallByGateway(client *http.Client) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		var got struct {
			Cited    []any    `json:"cited"`
			Degraded []string `json:"degraded"`
		}
		err := tr.post(ctx, client, "/v1/tenants/self/users/"+tr.asked+"/recall", "", map[string]any{"query": question},
			http.StatusOK, &got)
		if err == nil && len(got.Cited) == 0 {
			err = fmt.Errorf("recalled nothing")
		}
		return len(got.Degraded) > 0, err
	}
}

// recallByUtilizer also reports the returned memories, so that rerankers have records to consume.
func (tr *traffic) recallByUtilizer(client *http.Client) func(context.Context) (bool, error) {
	utilizers := tr.ClientOver(client, tr.tenant)
	return func(ctx context.Context) (bool, error) {
		got, err := utilizers.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{
			UserId: tr.asked, Query: question, Candidates: 20, Memories: 5, WordBudget: 400,
		}))
		if err != nil {
			return false, err
		}
		if len(got.Msg.GetCited()) == 0 {
			return false, fmt.Errorf("recalled nothing")
		}
		var shown []string
		for _, m := range got.Msg.GetCited() {
			shown = append(shown, m.GetMemory().GetId())
		}
		_, err = utilizers.ReportCitations(ctx, connect.NewRequest(&mnemev1.ReportCitationsRequest{
			RecallId: got.Msg.GetRecallId(), UserId: tr.asked, ShownIds: shown, CitedIds: shown[:1],
		}))
		return len(got.Msg.GetDegraded()) > 0, err
	}
}

// newClient returns a client that keeps its connections and never retries.
func newClient() *http.Client { return &http.Client{Transport: &http.Transport{}} }

// post sends a request to the gateway.
func (tr *traffic) post(ctx context.Context, client *http.Client, path, key string, body any, want int, out any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	// Go's transport retries calls whose body it can read again.
	once := io.NopCloser(bytes.NewReader(content))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, tr.services[harness.Gateway].url()+path, once)
	if err != nil {
		return err
	}
	req.ContentLength = int64(len(content))
	req.Header.Set("Authorization", "Bearer "+harness.KeyOf(tr.tenant))
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != want {
		return fmt.Errorf("%s: %s", res.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// talk returns a user's session in a round: facts, likes, small talk, updates and denials of the same facts.
func talk(user string, n, round int) dataset.Session {
	cities := []string{"Ghent", "Turku", "Split", "Graz", "Cork", "Bergen", "Utrecht"}
	drinks := []string{"green tea", "black coffee", "apple juice", "ginger ale", "cocoa"}
	jobs := []string{"carpenter", "botanist", "tailor", "pilot", "librarian", "nurse"}
	pick := func(of []string, step int) string { return of[(n+step)%len(of)] }
	year, at := round/4, time.Date(2020, time.March, 3, 18, 0, 0, 0, time.UTC).AddDate(0, 0, 7*round)
	var said []string
	switch round % 4 {
	case 0:
		said = []string{"Hi there!", "I live in " + pick(cities, year) + ".", "I work as a " + pick(jobs, year) + "."}
	case 1:
		said = []string{"My favourite drink is " + pick(drinks, year) + ".", "Haha, okay.",
			"Yesterday I ran into my neighbour Oskar."}
	case 2:
		said = []string{"I moved to " + pick(cities, year+1) + " last week.", "How was your day?"}
	default:
		said = []string{"I don't live in " + pick(cities, year+1) + " anymore.",
			"My favourite drink is " + pick(drinks, year+1) + " now."}
	}
	return harness.Talk(user, fmt.Sprintf("%s-s%d", user, round+1), "Ilse", at, said...)
}

// report prints the clients' results. Each kind needs at least least calls. Of a hundred calls, at most spoilt may
// fail or have a degraded answer.
func (tr *traffic) report(t *testing.T, least, spoilt int) {
	t.Helper()
	for _, kind := range []string{turnByGateway, recallByGateway, recallByUtilizer} {
		c := tr.calls[kind]
		t.Logf("%d %s, %d failed, %d degraded, the slowest took %v", c.made, kind, c.failed, c.degraded,
			c.slowest.Round(time.Millisecond))
		for e, n := range c.errors {
			t.Logf("  %d: %s", n, e)
		}
		limit := spoilt
		if kind == turnByGateway && limit > 0 {
			limit = 100 // until limits how long a killed gateway's unfinished calls are refused
		}
		if (c.failed+c.degraded)*100 > c.made*limit || c.made < least || c.slowest > slowestCall {
			t.Errorf("%s: want at most %d %% spoilt, at least %d calls, and none slower than %v", kind, limit, least,
				slowestCall)
		}
	}
}

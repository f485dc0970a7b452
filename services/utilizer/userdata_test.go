package utilizer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/transfer"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// asked has the status of an erasure, and the running erasures of tenants.
type asked struct {
	status  erasure.Status
	err     error
	scopes  []memory.Scope
	running map[string][]erasure.Status
}

func (a *asked) Ask(_ context.Context, scope memory.Scope, _ string) (erasure.Status, error) {
	a.scopes = append(a.scopes, scope)
	return a.status, a.err
}

func (a *asked) List(_ context.Context, tenant string) ([]erasure.Status, bool, error) {
	return a.running[tenant], len(a.running[tenant]) > 1, a.err
}

// dataFixture is the user data service with its API.
type dataFixture struct {
	*utilizer.Recaller
	out  *outbox
	asks *asked
	busy bool
	log  *bytes.Buffer
	web  *httptest.Server
	// hold blocks the next count of the bank until proceed is called. counting is closed when the count blocks.
	hold func() (counting <-chan struct{}, proceed func())
}

// heldBank is a bank that can block its next count before it returns the result.
type heldBank struct {
	bank.Bank
	mu       sync.Mutex
	counting chan struct{}
	proceed  chan struct{}
}

func (b *heldBank) hold() (<-chan struct{}, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counting, b.proceed = make(chan struct{}), make(chan struct{})
	return b.counting, sync.OnceFunc(func() { close(b.proceed) })
}

func (b *heldBank) Count(ctx context.Context, scope memory.Scope) (bank.Counts, error) {
	n, err := b.Bank.Count(ctx, scope)
	b.mu.Lock()
	counting, proceed := b.counting, b.proceed
	b.counting = nil
	b.mu.Unlock()
	if counting != nil {
		close(counting)
		<-proceed
	}
	return n, err
}

func newDataFixture(t *testing.T) *dataFixture {
	t.Helper()
	tenants, err := tenant.Static(
		tenant.Entry{Tenant: tenant.Tenant{ID: "acme"}, APIKeys: []string{tenant.HashKey(acmeKey)}},
		tenant.Entry{Tenant: tenant.Tenant{ID: "beta"}, APIKeys: []string{tenant.HashKey(betaKey)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	r := &dataFixture{Recaller: newRecaller(t), out: &outbox{}, asks: &asked{}, log: &bytes.Buffer{}}
	redis := goredis.NewClient(&goredis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = redis.Close() })
	held := &heldBank{Bank: r.Bank}
	r.Bank, r.hold = held, held.hold
	r.web = httptest.NewServer(utilizer.UserDataHandler(r.Recaller, utilizer.UserData{
		Out: r.out, Erasures: r.asks, Log: slog.New(slog.NewTextHandler(r.log, nil)), Auth: tenants, Redis: redis,
		Busy: func(context.Context, memory.Scope) (bool, error) { return r.busy, nil },
	}))
	t.Cleanup(r.web.Close)
	return r
}

func (r *dataFixture) client() mnemev1connect.UserDataServiceClient {
	return mnemev1connect.NewUserDataServiceClient(r.web.Client(), r.web.URL)
}

// keyed returns a request with a credential.
func keyed[T any](key string, msg *T) *connect.Request[T] {
	req := connect.NewRequest(msg)
	if key != "" {
		req.Header().Set("Authorization", "Bearer "+key)
	}
	return req
}

func TestAnErasureTakesItsPlaceAmongTheUsersEvents(t *testing.T) {
	r := newDataFixture(t)
	for _, given := range []string{"", "mine"} {
		res, err := r.client().EraseUser(t.Context(),
			keyed(acmeKey, &mnemev1.EraseUserRequest{UserId: "ana", RequestId: given}))
		if err != nil {
			t.Fatal(err)
		}
		m := r.out.msgs[len(r.out.msgs)-1]
		e, err := contract.DecodeSessionEvent(m.Key, m.Value, time.Now())
		if err != nil || m.Topic != contract.TopicSessionEvents || e.Scope != ana || e.ErasedAt.IsZero() ||
			e.EventID != res.Msg.GetErasureId() {
			t.Errorf("published %+v on %s, %v", e, m.Topic, err)
		}
		if id := res.Msg.GetErasureId(); id == "" || (given != "" && id != given) {
			t.Errorf("the erasure is %q, asked for as %q", id, given)
		}
	}
}

func TestARequestThatComesAgainIsOneErasure(t *testing.T) {
	for name, c := range map[string]struct {
		asks      *asked
		code      connect.Code
		published int
	}{
		"while it waits it takes its place again": {&asked{}, 0, 1},
		"while it runs":        {&asked{status: erasure.Status{State: erasure.Running}}, 0, 0},
		"when it is done":      {&asked{status: erasure.Status{State: erasure.Done}}, 0, 0},
		"when it was ended":    {&asked{err: erasure.ErrEnded}, connect.CodeAborted, 0},
		"when nobody can tell": {&asked{err: fmt.Errorf("10.1.2.3: %w", syscall.ECONNREFUSED)}, connect.CodeUnavailable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newDataFixture(t)
			*r.asks = *c.asks
			res, err := r.client().EraseUser(t.Context(),
				keyed(acmeKey, &mnemev1.EraseUserRequest{UserId: "ana", RequestId: "r1"}))
			if c.code != 0 && (connect.CodeOf(err) != c.code || strings.Contains(err.Error(), "10.1.2.3")) {
				t.Errorf("got %v, want %v", err, c.code)
			}
			if c.code == 0 && (err != nil || res.Msg.GetErasureId() != "r1") {
				t.Errorf("got %v, %v", res, err)
			}
			if len(r.out.msgs) != c.published || !slices.Equal(r.asks.scopes, []memory.Scope{ana}) {
				t.Errorf("published %d events, want %d; asked for %v", len(r.out.msgs), c.published, r.asks.scopes)
			}
			// A new request starts another erasure, whatever the state of the first.
			if _, err := r.client().EraseUser(t.Context(),
				keyed(acmeKey, &mnemev1.EraseUserRequest{UserId: "ana"})); err != nil ||
				len(r.out.msgs) != c.published+1 {
				t.Errorf("a new request: %v, %d events", err, len(r.out.msgs))
			}
		})
	}
}

func TestHowFarAnErasureIs(t *testing.T) {
	done := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		asks *asked
		want mnemev1.ErasureState
		code connect.Code
	}{
		"waits": {&asked{}, mnemev1.ErasureState_ERASURE_STATE_PENDING, 0},
		"runs":  {&asked{status: erasure.Status{State: erasure.Running}}, mnemev1.ErasureState_ERASURE_STATE_RUNNING, 0},
		"is done": {&asked{status: erasure.Status{State: erasure.Done, Report: erasure.Report{Rounds: 3, DoneAt: done}}},
			mnemev1.ErasureState_ERASURE_STATE_DONE, 0},
		"was ended":       {&asked{err: erasure.ErrEnded}, 0, connect.CodeAborted},
		"cannot be asked": {&asked{err: fmt.Errorf("10.1.2.3: %w", syscall.ECONNREFUSED)}, 0, connect.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := newDataFixture(t)
			*r.asks = *c.asks
			res, err := r.client().GetErasure(t.Context(),
				keyed(acmeKey, &mnemev1.GetErasureRequest{UserId: "ana", ErasureId: "x"}))
			if c.code != 0 {
				if connect.CodeOf(err) != c.code || strings.Contains(err.Error(), "10.1.2.3") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || res.Msg.GetState() != c.want || r.asks.scopes[0] != ana {
				t.Fatalf("got %v, %v", res, err)
			}
			if isDone := c.want == mnemev1.ErasureState_ERASURE_STATE_DONE; isDone != (res.Msg.GetDoneAt() != nil) ||
				(isDone && (res.Msg.GetRounds() != 3 || !res.Msg.GetDoneAt().AsTime().Equal(done))) {
				t.Errorf("got %v", res.Msg)
			}
		})
	}
}

// waitsFor returns a running erasure that waits for two stores. One of them cannot be counted.
func waitsFor(user string, since time.Time) erasure.Status {
	return erasure.Status{State: erasure.Running, StartedAt: since.Add(-time.Minute), Progress: erasure.Progress{
		User: user, RequestID: "x-" + user, Rounds: 7, Remaining: []erasure.Remainder{
			{Count: erasure.Count{Store: "workflow histories", Count: 2}, Since: since},
			{Count: erasure.Count{Store: "recall traces", Count: 1, Error: "unavailable"}, Since: since},
		},
	}}
}

func checkRemaining(t *testing.T, got []*mnemev1.StoreRemainder, since time.Time) {
	t.Helper()
	if len(got) != 2 || got[0].GetStore() != "workflow histories" || got[0].GetCount() != 2 ||
		!got[0].GetSince().AsTime().Equal(since) ||
		got[0].GetError() != "" || got[1].GetError() != "unavailable" {
		t.Errorf("it waits for %v", got)
	}
}

func TestARunningErasureSaysWhatItWaitsFor(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := newDataFixture(t)
	r.asks.status = waitsFor("ana", since)
	res, err := r.client().GetErasure(t.Context(),
		keyed(acmeKey, &mnemev1.GetErasureRequest{UserId: "ana", ErasureId: "x"}))
	if err != nil || res.Msg.GetRounds() != 7 || !res.Msg.GetStartedAt().AsTime().Equal(since.Add(-time.Minute)) {
		t.Fatalf("got %v, %v", res, err)
	}
	checkRemaining(t, res.Msg.GetRemaining(), since)
}

func TestRunningErasuresOfATenantAreListed(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := newDataFixture(t)
	r.asks.running = map[string][]erasure.Status{"acme": {waitsFor("ana", since), waitsFor("ben", since)},
		"beta": {waitsFor("cem", since)}}
	res, err := r.client().ListErasures(t.Context(), keyed(acmeKey, &mnemev1.ListErasuresRequest{}))
	if err != nil || len(res.Msg.GetErasures()) != 2 || !res.Msg.GetMore() {
		t.Fatalf("got %v, %v", res, err)
	}
	got := res.Msg.GetErasures()[1]
	if got.GetUserId() != "ben" || got.GetErasureId() != "x-ben" || got.GetRounds() != 7 ||
		!got.GetStartedAt().AsTime().Before(since) {
		t.Errorf("got %v", got)
	}
	checkRemaining(t, got.GetRemaining(), since)
	r.asks.err = fmt.Errorf("10.1.2.3: %w", syscall.ECONNREFUSED)
	_, err = r.client().ListErasures(t.Context(), keyed(acmeKey, &mnemev1.ListErasuresRequest{}))
	if connect.CodeOf(err) != connect.CodeUnavailable || strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("got %v", err)
	}
	_, err = r.client().ListErasures(t.Context(), keyed("", &mnemev1.ListErasuresRequest{}))
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("without a key: %v", err)
	}
}

func TestAScanCountsEveryStoreAndNamesTheTransport(t *testing.T) {
	r := newDataFixture(t)
	counts := func(key string) (n uint64) {
		res, err := r.client().ScanUser(t.Context(), keyed(key, &mnemev1.ScanUserRequest{UserId: "ana"}))
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Msg.GetCounts()) < 6 || len(res.Msg.GetTransport()) != 1 || !res.Msg.GetTransport()[0].GetTexts() ||
			res.Msg.GetTransport()[0].GetRetentionMs() != 3_600_000 {
			t.Errorf("got %v", res.Msg)
		}
		for _, c := range res.Msg.GetCounts() {
			n += c.GetCount()
		}
		return n
	}
	if counts(acmeKey) == 0 || counts(betaKey) != 0 {
		t.Errorf("the user's own tenant finds %d, another one %d", counts(acmeKey), counts(betaKey))
	}
}

func (r *dataFixture) export(t *testing.T, key, user string) []byte {
	t.Helper()
	stream, err := r.client().ExportUser(t.Context(), keyed(key, &mnemev1.ExportUserRequest{UserId: user}))
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for stream.Receive() {
		out = append(out, stream.Msg().GetData()...)
	}
	if err := errors.Join(stream.Err(), stream.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *dataFixture) load(ctx context.Context, key, user string, data []byte) error {
	pages, err := transfer.NewPages(bytes.NewReader(data))
	if err != nil {
		return err
	}
	var now *mnemev1.BankCounts
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		res, err := r.client().ImportUser(ctx, keyed(key, &mnemev1.ImportUserRequest{
			UserId: user, Header: string(pages.HeaderLine), Lines: page.Lines, FirstLine: uint64(page.First), SoFar: now,
		}))
		if err != nil {
			return err
		}
		now = res.Msg.GetSoFar()
		if last := bytes.HasSuffix(data, page.Lines); res.Msg.GetComplete() != last {
			return fmt.Errorf("the last page: %t, complete: %t", last, res.Msg.GetComplete())
		}
	}
}

func TestWhatWasExportedIsImportedElsewhere(t *testing.T) {
	r := newDataFixture(t)
	data := r.export(t, acmeKey, "ana")
	if n := bytes.Count(data, []byte("\n")); n < 3 {
		t.Fatalf("%d lines", n)
	}
	if err := r.load(t.Context(), betaKey, "ana", data); err != nil {
		t.Fatal(err)
	}
	if again := r.export(t, betaKey, "ana"); !bytes.Equal(again, data) {
		t.Errorf("exported\n%s\nimported and exported\n%s", data, again)
	}
	if err := r.load(t.Context(), betaKey, "ana", data); connect.CodeOf(err) != connect.CodeFailedPrecondition ||
		!strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second import gave %v", err)
	}
}

func TestOneOfTwoImportsAtATimeWins(t *testing.T) {
	r := newDataFixture(t)
	data := r.export(t, acmeKey, "ana")
	counting, proceed := r.hold()
	defer proceed()
	first := make(chan error, 1)
	go func() { first <- r.load(t.Context(), acmeKey, "new", data) }()
	<-counting // it has found the bank empty
	if err := r.load(t.Context(), acmeKey, "new", data); connect.CodeOf(err) != connect.CodeFailedPrecondition ||
		!strings.Contains(err.Error(), "another import") {
		t.Errorf("the second one, beside the first: %v", err)
	}
	if err := r.load(t.Context(), acmeKey, "other", data); err != nil {
		t.Errorf("an import into another user's bank: %v", err)
	}
	proceed()
	if err := <-first; err != nil {
		t.Errorf("the first one: %v", err)
	}
	if err := r.load(t.Context(), acmeKey, "new", data); !strings.Contains(fmt.Sprint(err), "not empty") {
		t.Errorf("a third one, after the first: %v", err)
	}
}

func TestAnImportWaitsForTheWriterAndNamesTheLine(t *testing.T) {
	r := newDataFixture(t)
	data := r.export(t, acmeKey, "ana")
	r.busy = true
	if err := r.load(t.Context(), acmeKey, "new", data); connect.CodeOf(err) != connect.CodeFailedPrecondition ||
		!strings.Contains(err.Error(), "being formed") {
		t.Errorf("got %v", err)
	}
	r.busy = false
	broken := bytes.Replace(data, []byte(`"status":"active"`), []byte(`"status":"lost"`), 1)
	if bytes.Equal(broken, data) {
		t.Fatal("there is no active entry")
	}
	if err := r.load(t.Context(), acmeKey, "new", broken); connect.CodeOf(err) != connect.CodeInvalidArgument ||
		!strings.Contains(err.Error(), "line 2: memory.status") {
		t.Errorf("got %v", err)
	}
	if n := bytes.Count(r.export(t, acmeKey, "new"), []byte("\n")); n != 1 {
		t.Errorf("refused imports left %d lines", n-1)
	}
}

// Data of an older version under such an id can be erased, and no new import uses the id.
func TestOnlyAnImportRefusesAHiddenUser(t *testing.T) {
	c, user := newDataFixture(t).client(), "an\u200ba"
	_, err := c.ImportUser(t.Context(), keyed(acmeKey, &mnemev1.ImportUserRequest{UserId: user}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument ||
		!strings.Contains(err.Error(), "user_id: contains a control or invisible character") {
		t.Errorf("an import: %v", err)
	}
	_, err = c.ScanUser(t.Context(), keyed(acmeKey, &mnemev1.ScanUserRequest{UserId: user}))
	if connect.CodeOf(err) == connect.CodeInvalidArgument {
		t.Errorf("a scan: %v", err)
	}
	if _, err := c.EraseUser(t.Context(), keyed(acmeKey, &mnemev1.EraseUserRequest{UserId: user})); err != nil {
		t.Errorf("an erasure: %v", err)
	}
}

func TestUserDataNeedsACredentialAndAUser(t *testing.T) {
	r := newDataFixture(t)
	c := r.client()
	for name, call := range map[string]func(key, user string) error{
		"EraseUser": func(key, user string) error {
			_, err := c.EraseUser(t.Context(), keyed(key, &mnemev1.EraseUserRequest{UserId: user}))
			return err
		},
		"GetErasure": func(key, user string) error {
			_, err := c.GetErasure(t.Context(), keyed(key, &mnemev1.GetErasureRequest{UserId: user, ErasureId: "x"}))
			return err
		},
		"ScanUser": func(key, user string) error {
			_, err := c.ScanUser(t.Context(), keyed(key, &mnemev1.ScanUserRequest{UserId: user}))
			return err
		},
		"ImportUser": func(key, user string) error {
			_, err := c.ImportUser(t.Context(), keyed(key, &mnemev1.ImportUserRequest{UserId: user}))
			return err
		},
		"ExportUser": func(key, user string) error {
			stream, err := c.ExportUser(t.Context(), keyed(key, &mnemev1.ExportUserRequest{UserId: user}))
			if err != nil {
				return err
			}
			for stream.Receive() {
			}
			return errors.Join(stream.Err(), stream.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"", "KEY-of-nobody"} {
				if err := call(key, "ana"); connect.CodeOf(err) != connect.CodeUnauthenticated {
					t.Errorf("with key %q: %v", key, err)
				}
			}
			if err := call(acmeKey, " "); connect.CodeOf(err) != connect.CodeInvalidArgument ||
				!strings.Contains(err.Error(), "user_id") {
				t.Errorf("with a blank user: %v", err)
			}
		})
	}
	if len(r.out.msgs) > 0 || strings.Contains(r.log.String(), "ERROR") {
		t.Errorf("refused requests had effects: %v, %s", r.out.msgs, r.log)
	}
}

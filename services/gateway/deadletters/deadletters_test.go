package deadletters_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/deadletters"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/services/gateway/rest"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// post is a broker with dead letters.
type post struct {
	*testing.T
	broker  *bustest.Broker
	out     bus.Publisher
	ins     *bus.Instruments
	letters *deadletters.Letters
	written int
}

func open(t *testing.T) *post {
	t.Helper()
	ins, err := bus.NewInstruments(bus.Telemetry{})
	if err != nil {
		t.Fatal(err)
	}
	broker := bustest.StartBroker(t, 3, contract.TopicDeadLetters, contract.TopicSessionEvents, contract.TopicSalientTurns)
	p := &post{T: t, broker: broker, out: broker.Publisher(), ins: ins}
	p.letters = p.reader(p.out, time.Nanosecond)
	return p
}

func (p *post) reader(out bus.Publisher, fresh time.Duration) *deadletters.Letters {
	return deadletters.New(deadletters.Parts{
		Log:     p.broker.Log(contract.TopicDeadLetters),
		Offsets: p.broker.Offsets(contract.GroupReplay, contract.TopicDeadLetters),
		Join:    p.join, Out: out, Instruments: p.ins, Fresh: fresh,
	})
}

func (p *post) join() (bus.Source, error) {
	return p.broker.Source(contract.GroupReplay, contract.TopicDeadLetters), nil
}

// by is a principal of a tenant with all scopes, perhaps for one user.
func (p *post) by(tenantID, user string, scopes ...access.Scope) context.Context {
	if len(scopes) == 0 {
		scopes = access.Scopes()
	}
	return access.NewContext(p.Context(), access.Principal{Tenant: tenant.Tenant{ID: tenantID}, KeyID: "k", User: user,
		Scopes: scopes})
}

// turnOf is a session event with a turn.
func turnOf(tenantID, user, id string) []byte {
	value, err := contract.SessionEvent{
		Envelope: contract.Envelope{EventID: "e-" + id, Scope: memory.Scope{Tenant: tenantID, User: user}, SessionID: "s"},
		Turn: &memory.Turn{ID: id, SessionID: "s", Speaker: "a", Role: memory.RoleUser, Text: "my secret words",
			Time: noon},
	}.Encode()
	if err != nil {
		panic(err)
	}
	return value
}

// letter is a dead letter that a case changes.
func letter(tenantID, user, turn string) *mnemev1.DeadLetter {
	return &mnemev1.DeadLetter{
		SchemaVersion: 1, Reason: "turn.text: is empty", Field: "turn.text", Handler: "saliency-filter",
		Topic: contract.TopicSessionEvents,
		Key:   []byte(tenantID + "/" + user), Value: turnOf(tenantID, user, turn),
	}
}

// write writes a dead letter and returns its id. Each is a second younger than the one before.
func (p *post) write(dead *mnemev1.DeadLetter) string {
	p.Helper()
	p.written++
	if dead.Id == "" {
		dead.Id = bus.DeadLetterID(dead.Topic, 0, int64(p.written))
	}
	if dead.Time == nil {
		dead.Time = timestamppb.New(noon.Add(time.Duration(p.written) * time.Second))
	}
	value, err := proto.Marshal(dead)
	if err == nil {
		err = p.out.Publish(p.Context(), bus.Message{Topic: contract.TopicDeadLetters, Key: dead.Key, Value: value})
	}
	if err != nil {
		p.Fatal(err)
	}
	return dead.Id
}

// ids lists all letters that a caller sees, by pages.
func (p *post) ids(ctx context.Context, limit int) (ids []string) {
	p.Helper()
	for cursor := ""; ; {
		page, next, err := p.letters.List(ctx, limit, cursor)
		if err != nil {
			p.Fatal(err)
		}
		for _, l := range page {
			ids = append(ids, l.ID)
		}
		if cursor = next; next == "" {
			return ids
		}
	}
}

// events are the values of the records of a topic.
func (p *post) events(topic string) (out []bus.Message) {
	p.Helper()
	if err := bus.ScanLog(p.Context(), p.broker.Log(topic), func(m bus.Message) { out = append(out, m) }); err != nil {
		p.Fatal(err)
	}
	return out
}

func TestListShowsTheTenantsOwnNewestFirst(t *testing.T) {
	p := open(t)
	var want []string
	for i := range 7 {
		want = append(want, p.write(letter("acme", fmt.Sprintf("user-%d", i%3), fmt.Sprint(i))))
		p.write(letter("other", "user-1", fmt.Sprint(i)))
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 2, 3, 7, 200} {
		if got := p.ids(p.by("acme", ""), limit); !slices.Equal(got, want) {
			t.Errorf("by %d: %v, want %v", limit, got, want)
		}
	}
	if got := p.ids(p.by("nobody", ""), 10); len(got) != 0 {
		t.Errorf("a tenant without letters sees %v", got)
	}
	page, _, err := p.letters.List(p.by("acme", ""), 1, "")
	if err != nil || len(page) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	wanted := deadletters.Letter{
		ID: want[0], Reason: "turn.text: is empty", Field: "turn.text", Handler: "saliency-filter",
		Topic: contract.TopicSessionEvents,
		User:  "user-0", Time: noon.Add(13 * time.Second), TurnID: "6",
	}
	if page[0] != wanted {
		t.Errorf("got %+v, want %+v", page[0], wanted)
	}
	if strings.Contains(fmt.Sprintf("%+v", page), "secret words") {
		t.Error("a letter shows what the user said")
	}
}

// become makes a letter another one.
func become(other *mnemev1.DeadLetter) func(*mnemev1.DeadLetter) {
	return func(l *mnemev1.DeadLetter) {
		proto.Reset(l)
		proto.Merge(l, other)
	}
}

func TestWhoseALetterIs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*mnemev1.DeadLetter)
		// user is the owner in acme's view. shown reports that acme sees the letter. own reports that the user's
		// key sees it.
		user       string
		shown, own bool
	}{
		"as it should be":        {func(*mnemev1.DeadLetter) {}, "ines", true, true},
		"a key that is none":     {func(l *mnemev1.DeadLetter) { l.Key = []byte("ines") }, "ines", true, true},
		"no key":                 {func(l *mnemev1.DeadLetter) { l.Key = nil }, "ines", true, true},
		"a record that is none":  {func(l *mnemev1.DeadLetter) { l.Value = []byte("no event \xff") }, "ines", true, true},
		"a key of another user":  {func(l *mnemev1.DeadLetter) { l.Key = []byte("acme/bob") }, "", true, false},
		"a record of no user":    {func(l *mnemev1.DeadLetter) { l.Value = turnOf("acme", "", "t") }, "ines", true, true},
		"a key of another":       {func(l *mnemev1.DeadLetter) { l.Key = []byte("other/ines") }, "", false, false},
		"a record of another":    {func(l *mnemev1.DeadLetter) { l.Value = turnOf("other", "ines", "t") }, "", false, false},
		"of another altogether":  {become(letter("other", "ines", "t")), "", false, false},
		"nobody's":               {func(l *mnemev1.DeadLetter) { l.Key, l.Value = nil, nil }, "", false, false},
		"of a later version":     {func(l *mnemev1.DeadLetter) { l.SchemaVersion = 2 }, "", false, false},
		"a tenant's name begins": {become(letter("acme-2", "ines", "t")), "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t)
			dead := letter("acme", "ines", "t")
			c.change(dead)
			id := p.write(dead)
			all, _, err := p.letters.List(p.by("acme", ""), 10, "")
			if err != nil || (len(all) == 1) != c.shown || c.shown && all[0].User != c.user {
				t.Errorf("the tenant sees %+v, %v", all, err)
			}
			if own := p.ids(p.by("acme", "ines"), 10); (len(own) == 1) != c.own {
				t.Errorf("the key of the user sees %v", own)
			}
			if others := p.ids(p.by("acme", "bob"), 10); len(others) != 0 {
				t.Errorf("the key of another user sees %v", others)
			}
			for _, ctx := range []context.Context{p.by("acme", "bob"), p.by("third", "")} {
				if err := p.letters.Replay(ctx, id); problem.From(err).Status != 404 {
					t.Errorf("a replay by another: %v", err)
				}
			}
		})
	}
}

func TestWhatBreaksARuleIsRefused(t *testing.T) {
	p := open(t)
	id := p.write(letter("acme", "ines", "t"))
	list := func(ctx context.Context, limit int, cursor string) error {
		_, _, err := p.letters.List(ctx, limit, cursor)
		return err
	}
	find := func(ctx context.Context, user string) error {
		_, _, err := p.letters.Find(ctx, user, "t")
		return err
	}
	for name, c := range map[string]struct {
		err    error
		status int
		field  string
	}{
		"list without a key":           {list(p.Context(), 10, ""), 401, ""},
		"list without admin":           {list(p.by("acme", "", access.Read), 10, ""), 403, ""},
		"replay without a key":         {p.letters.Replay(p.Context(), id), 401, ""},
		"replay without admin":         {p.letters.Replay(p.by("acme", "", access.Read), id), 403, ""},
		"replay of another tenant's":   {p.letters.Replay(p.by("other", ""), id), 404, ""},
		"replay of none":               {p.letters.Replay(p.by("acme", ""), "none"), 404, ""},
		"no letters":                   {list(p.by("acme", ""), 0, ""), 400, "limit"},
		"too many letters":             {list(p.by("acme", ""), deadletters.MaxLimit+1, ""), 400, "limit"},
		"a cursor that is none":        {list(p.by("acme", ""), 10, "x"), 400, "cursor"},
		"a cursor without an id":       {list(p.by("acme", ""), 10, "12-"), 400, "cursor"},
		"find without a key":           {find(p.Context(), "ines"), 401, ""},
		"find without read":            {find(p.by("acme", "", access.Admin), "ines"), 403, ""},
		"find of another user's":       {find(p.by("acme", "bob"), "ines"), 403, ""},
		"find of all for one user":     {find(p.by("acme", "bob"), ""), 403, ""},
		"list of a user's without adm": {list(p.by("acme", "ines", access.Read), 10, ""), 403, ""},
	} {
		if got := problem.From(c.err); c.err == nil || got.Status != c.status || got.Field != c.field {
			t.Errorf("%s: %d %q, want %d %q (%v)", name, got.Status, got.Field, c.status, c.field, c.err)
		}
	}
}

func TestFindOfATurn(t *testing.T) {
	p := open(t)
	salient := func(e contract.SalientEvent) *mnemev1.DeadLetter {
		e.Envelope = contract.Envelope{EventID: "e", Scope: memory.Scope{Tenant: "acme", User: "ines"}, SessionID: "s"}
		value, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		dead := letter("acme", "ines", "")
		dead.Topic, dead.Value = contract.TopicSalientTurns, value
		return dead
	}
	ids := map[string]string{}
	p.write(letter("acme", "ines", "twice"))
	ids["twice"] = p.write(letter("acme", "ines", "twice"))
	ids["salient"] = p.write(salient(contract.SalientEvent{
		Turn: &memory.Turn{ID: "salient", SessionID: "s", Speaker: "a", Role: memory.RoleUser, Text: "x", Time: noon},
	}))
	p.write(letter("acme", "bob", "bob's"))
	p.write(letter("other", "ines", "other's"))
	damaged := letter("acme", "ines", "damaged")
	damaged.Value = append(damaged.Value, 0xff)
	ids["damaged"] = p.write(damaged)
	for turn, id := range ids {
		l, ok, err := p.letters.Find(p.by("acme", "ines", access.Read), "ines", turn)
		if err != nil || !ok || l.ID != id || l.TurnID != turn || l.User != "ines" {
			t.Errorf("%s: %+v, %v, %v", turn, l, ok, err)
		}
	}
	for _, turn := range []string{"bob's", "other's", "none", ""} {
		if l, ok, err := p.letters.Find(p.by("acme", ""), "ines", turn); ok || err != nil {
			t.Errorf("%q: %+v, %v", turn, l, err)
		}
	}
	late := p.write(letter("acme", "ines", "late"))
	if l, ok, err := p.letters.Find(p.by("acme", ""), "ines", "late"); err != nil || !ok || l.ID != late {
		t.Errorf("what came since: %+v, %v, %v", l, ok, err)
	}
}

func TestReplayPutsOneLetterBack(t *testing.T) {
	p := open(t)
	var ids []string
	for i := range 9 {
		ids = append(ids, p.write(letter("acme", fmt.Sprintf("user-%d", i%3), fmt.Sprint(i))))
	}
	others := p.write(letter("other", "user-1", "x"))
	ctx := p.by("acme", "")
	if err := p.letters.Replay(ctx, ids[4]); err != nil {
		t.Fatal(err)
	}
	back := p.events(contract.TopicSessionEvents)
	if len(back) != 1 || string(back[0].Value) != string(turnOf("acme", "user-1", "4")) ||
		string(back[0].Key) != "acme/user-1" {
		t.Fatalf("back came %d records: %v", len(back), back)
	}
	headers := bus.HeaderCarrier{Headers: &back[0].Headers}
	if got := headers.Get(bus.ReplayedHeader); got != ids[4] {
		t.Errorf("the record is marked %q, want %q", got, ids[4])
	}
	want := slices.Delete(slices.Clone(ids), 4, 5)
	slices.Reverse(want)
	if got := p.ids(ctx, 3); !slices.Equal(got, want) {
		t.Errorf("then wait %v, want %v", got, want)
	}
	if got := p.ids(p.by("other", ""), 3); !slices.Equal(got, []string{others}) {
		t.Errorf("of the other tenant wait %v", got)
	}
	if _, ok, err := p.letters.Find(ctx, "user-1", "4"); ok || err != nil {
		t.Errorf("the turn has a letter still: %v", err)
	}
	if l, ok, err := p.letters.Find(ctx, "user-1", "1"); !ok || err != nil || l.ID != ids[1] {
		t.Errorf("the turn of a letter that was written anew: %+v, %v", l, err)
	}
	if err := p.letters.Replay(ctx, ids[4]); problem.From(err).Status != 404 {
		t.Errorf("once more: %v", err)
	}
	if err := p.letters.Replay(p.by("acme", "user-2"), ids[5]); err != nil {
		t.Errorf("by a key of the user that may: %v", err)
	}
	if n := len(p.events(contract.TopicSessionEvents)); n != 2 {
		t.Errorf("%d records came back", n)
	}
}

func TestWhatWasReplayedOrErasedDoesNotWait(t *testing.T) {
	p := open(t)
	for i := range 6 {
		p.write(letter("acme", fmt.Sprintf("user-%d", i%3), fmt.Sprint(i)))
	}
	source, _ := p.join()
	if _, err := bus.Replay(t.Context(), bus.ReplayConfig{KeyPrefix: "acme/user-0"}, source, p.out, p.ins); err != nil {
		t.Fatal(err)
	}
	if got := p.ids(p.by("acme", ""), 10); len(got) != 4 {
		t.Errorf("after a replay of 2 wait %d", len(got))
	}
	if _, ok, err := p.letters.Find(p.by("acme", ""), "user-1", "1"); !ok || err != nil {
		t.Errorf("before the erasure: %v", err)
	}
	match := func(key []byte, _ *mnemev1.DeadLetter) bool { return string(key) == "acme/user-1" }
	_, err := bus.EraseDeadLetters(t.Context(), bus.EraseConfig{Match: match, Idle: 10 * time.Millisecond}, p.join,
		p.broker.Log(contract.TopicDeadLetters), p.out, p.ins)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.ids(p.by("acme", ""), 10); len(got) != 2 {
		t.Errorf("after an erasure wait %d, want 2", len(got))
	}
	if l, ok, err := p.letters.Find(p.by("acme", ""), "user-1", "1"); ok || err != nil {
		t.Errorf("after the erasure: %+v, %v", l, err)
	}
	if _, ok, err := p.letters.Find(p.by("acme", ""), "user-2", "2"); !ok || err != nil {
		t.Errorf("another user's turn after the erasure: %v", err)
	}
}

func TestALetterThatIsThereTwiceIsOne(t *testing.T) {
	p := open(t)
	one := letter("acme", "ines", "t")
	id := p.write(one)
	p.write(one)
	if got := p.ids(p.by("acme", ""), 1); !slices.Equal(got, []string{id}) {
		t.Errorf("listed %v", got)
	}
	if err := p.letters.Replay(p.by("acme", ""), id); err != nil {
		t.Fatal(err)
	}
	if got, back := p.ids(p.by("acme", ""), 1), len(p.events(contract.TopicSessionEvents)); len(got) != 0 || back != 1 {
		t.Errorf("%v wait, %d came back", got, back)
	}
}

// A reused turn id makes several letters with one id. The last letter is listed and replayed.
func TestALetterThatCameAgainIsListedOnce(t *testing.T) {
	p := open(t)
	first, second := letter("acme", "ines", "t"), letter("acme", "ines", "t")
	first.Id, second.Id = "one", "one"
	p.write(first)
	other := p.write(letter("acme", "ines", "u"))
	p.write(second)
	for _, limit := range []int{1, 2, 200} {
		if got := p.ids(p.by("acme", ""), limit); !slices.Equal(got, []string{"one", other}) {
			t.Errorf("by %d: listed %v", limit, got)
		}
	}
	if list, _, err := p.letters.List(p.by("acme", ""), 1, ""); err != nil ||
		!list[0].Time.Equal(second.GetTime().AsTime()) {
		t.Errorf("listed %+v, %v; want the last one", list, err)
	}
}

// failing is a publisher that a topic refuses.
type failing struct {
	bus.Publisher
	topic string
	err   error
}

func (f failing) Publish(ctx context.Context, msgs ...bus.Message) error {
	if msgs[0].Topic == f.topic {
		return f.err
	}
	return f.Publisher.Publish(ctx, msgs...)
}

func TestWhatCannotBePutBackGoesOnWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"refused": {fault.Terminal("", "too large"), 409},
		"away":    {fmt.Errorf("kafka at host:9092: %w", fault.ErrUnavailable), 503},
		"broken":  {errors.New("kafka at host:9092"), 500},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t)
			id := p.write(letter("acme", "ines", "t"))
			letters := p.reader(failing{p.out, contract.TopicSessionEvents, c.err}, time.Nanosecond)
			err := letters.Replay(p.by("acme", ""), id)
			problem := problem.From(err)
			if problem.Status != c.status || strings.Contains(problem.Detail, "host") {
				t.Errorf("told %d %q (%v), want %d", problem.Status, problem.Detail, err, c.status)
			}
			if got := p.ids(p.by("acme", ""), 10); !slices.Equal(got, []string{id}) {
				t.Errorf("%v wait", got)
			}
			if err := p.letters.Replay(p.by("acme", ""), id); err != nil {
				t.Errorf("the next time: %v", err)
			}
		})
	}
}

func TestReplaysAtTheSameTime(t *testing.T) {
	p := open(t)
	second := p.reader(p.out, time.Nanosecond) // another replica
	var ids []string
	for i := range 6 {
		ids = append(ids, p.write(letter("acme", fmt.Sprintf("user-%d", i%2), fmt.Sprint(i))))
	}
	errs := make(chan error, len(ids))
	for i, id := range ids {
		of := p.letters
		if i%2 == 0 {
			of = second
		}
		go func() { errs <- of.Replay(p.by("acme", ""), id) }()
	}
	for range ids {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	seen := map[string]bool{}
	for _, m := range p.events(contract.TopicSessionEvents) {
		seen[string(m.Value)] = true
	}
	if len(seen) != len(ids) || len(p.ids(p.by("acme", ""), 10)) != 0 {
		t.Errorf("%d of %d came back, %v wait", len(seen), len(ids), p.ids(p.by("acme", ""), 10))
	}
}

// counting counts the requests for offsets.
type counting struct {
	deadletters.Offsets
	asked int
}

func (c *counting) Committed(ctx context.Context) (map[int]int64, error) {
	c.asked++
	return c.Offsets.Committed(ctx)
}

func TestFindAsksTheBusOnceAWhile(t *testing.T) {
	p := open(t)
	now := noon
	offsets := &counting{Offsets: p.broker.Offsets(contract.GroupReplay, contract.TopicDeadLetters)}
	letters := deadletters.New(deadletters.Parts{
		Log: p.broker.Log(contract.TopicDeadLetters), Offsets: offsets, Join: p.join, Out: p.out, Instruments: p.ins,
		Fresh: time.Minute,
		Now:   func() time.Time { return now },
	})
	for range 10 {
		if _, ok, err := letters.Find(p.by("acme", ""), "ines", "t"); ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}
	p.write(letter("acme", "ines", "t"))
	if _, ok, _ := letters.Find(p.by("acme", ""), "ines", "t"); ok || offsets.asked != 1 {
		t.Errorf("found %v, asked %d times", ok, offsets.asked)
	}
	now = now.Add(time.Minute)
	if _, ok, err := letters.Find(p.by("acme", ""), "ines", "t"); !ok || err != nil || offsets.asked != 2 {
		t.Errorf("a minute later: found %v, asked %d times, %v", ok, offsets.asked, err)
	}
}

func TestAsTheRESTAPIAsks(t *testing.T) {
	p := open(t)
	id := p.write(letter("acme", "ines", "t"))
	var api rest.DeadLetters = p.letters
	list, next, err := api.List(p.by("acme", ""), 10, "")
	if err != nil || next != "" || len(list) != 1 || list[0].ID != id || list[0].User != "ines" || list[0].TurnID != "t" {
		t.Errorf("%+v, %q, %v", list, next, err)
	}
	if l, ok, err := api.Find(p.by("acme", ""), "ines", "t"); err != nil || !ok || l != list[0] {
		t.Errorf("%+v, %v, %v", l, ok, err)
	}
	if err := api.Replay(p.by("acme", ""), id); err != nil {
		t.Error(err)
	}
}

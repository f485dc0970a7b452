package deadletters_test

import (
	"context"
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
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
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

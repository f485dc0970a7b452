package parallel_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	"github.com/mneme-memory/mneme/shared/formation/parallel"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/rmm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	scope = formationtest.Scope()
	day   = formationtest.Day()
)

// formers are the divisible embedded formers. In their judge, a statement changes another with which it shares a third
// of its words. The trained model decides the real changes; the grouping must keep related statements together.
func formers() map[string]formation.Former {
	quoting := func(strategy string) *embedded.Former { return formationtest.QuotingBy(strategy, changed) }
	return map[string]formation.Former{
		"salimory":  &salimory.Embedded{Former: quoting(salimory.Name)},
		"memory-r2": &memoryr2.Embedded{Former: quoting(memoryr2.Name)},
		"rmm":       rmm.NewEmbeddedOver(quoting(rmm.Name)),
	}
}

func changed(later, stored string) relation.Label {
	a, b, shared := text.ContentStems(later), text.StemSet(stored), 0
	for _, stem := range a {
		if b[stem] {
			shared++
		}
	}
	if shared < 2 || 3*shared < len(a) {
		return relation.Unrelated
	}
	return relation.Replaces
}

// apart has every group decided alone.
func apart() parallel.Options {
	return parallel.Options{ChunkTurns: 5, GroupCandidates: 1, Workers: 4}
}

// fake is a divisible former made of functions, which counts how it is used.
type fake struct {
	division formation.Division
	extract  func(context.Context, formation.Session) ([]formation.Candidate, error)
	decide   func(context.Context, formation.Bundle) (formation.Verdict, error)

	mu            sync.Mutex
	bundles       []formation.Bundle
	sessions      []formation.Session
	running, most int
}

func (f *fake) Version() string              { return "fake/1" }
func (f *fake) Division() formation.Division { return f.division }

func (f *fake) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	defer f.count(func() { f.sessions = append(f.sessions, in) })()
	return f.extract(ctx, in)
}

func (f *fake) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	defer f.count(func() { f.bundles = append(f.bundles, in) })()
	return f.decide(ctx, in)
}

func (f *fake) count(note func()) (done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	note()
	f.running++
	f.most = max(f.most, f.running)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
	}
}

// over counts how a former is used.
func over(f formation.Former) *fake {
	return &fake{division: formation.Division{Extract: true, Decide: true}, extract: f.Extract, decide: f.Decide}
}

// told is a session of Ana's and Bea's, one text each a turn.
func told(texts ...string) formation.Session {
	in := formation.Session{Scope: scope, ID: "s1"}
	for i, text := range texts {
		in.Turns = append(in.Turns, memory.Turn{
			ID: "turn-" + string(rune('a'+i)), SessionID: "s1", Speaker: []string{"Ana", "Bea"}[i%2], Role: memory.RoleUser,
			Text: text,
			Time: day.Add(time.Duration(i) * time.Minute),
		})
	}
	return in
}

// asText writes anything as JSON, to compare it.
func asText(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// asSet writes operations in an order that does not depend on theirs.
func asSet(t testing.TB, ops []memory.Operation) []string {
	t.Helper()
	var out []string
	for _, op := range ops {
		out = append(out, asText(t, op))
	}
	slices.Sort(out)
	return out
}

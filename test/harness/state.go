package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// State is the visible state of a tenant's users, a line per item: entries, sessions and working memory. Only write
// times and traces are excluded. Entries are named by the parts of their ids without tenant and user, so that states
// of different tenants compare.
type State []string

// ReadState reads the state of the sessions' users. It calls several services, so the result is comparable only while
// no work is in progress.
func ReadState(ctx context.Context, tenant string, c Client, sessions []dataset.Session) (State, error) {
	var out State
	users := map[string]bool{}
	for _, s := range sessions {
		users[s.User] = true
	}
	for user := range users {
		listed, err := c.ListMemories(ctx, connect.NewRequest(&mnemev1.ListMemoriesRequest{UserId: user, PageSize: 1000,
			Tiers: contract.TiersOf("all")}))
		if err != nil {
			return nil, fmt.Errorf("list memories: %w", err)
		}
		out = append(out, entries(memory.Scope{Tenant: tenant, User: user}, listed.Msg.GetMemories())...)
		recent, err := c.GetWorkingMemory(ctx, connect.NewRequest(&mnemev1.GetWorkingMemoryRequest{UserId: user}))
		if err != nil {
			return nil, fmt.Errorf("read working memory: %w", err)
		}
		for i, t := range recent.Msg.GetTurns() {
			out = append(out, fmt.Sprintf("%s recent %02d %s %q", user, i, t.GetTurnId(), t.GetText()))
		}
	}
	for _, s := range sessions {
		r, err := c.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: s.User, SessionId: s.ID}))
		if err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
		out = append(
			out,
			fmt.Sprintf("%s session %s %s turns=%d operations=%d", s.User, s.ID, r.Msg.GetState(), r.Msg.GetTurns(),
				r.Msg.GetOperations()),
		)
	}
	slices.Sort(out)
	return out, nil
}

// entries returns the lines of a user's entries.
func entries(scope memory.Scope, ms []*mnemev1.Memory) []string {
	names := map[string]string{}
	for _, m := range ms {
		names[m.GetId()] = name(scope, m)
	}
	var out []string
	for _, m := range ms {
		var before []string
		for _, id := range m.GetPredecessorIds() {
			before = append(before, names[id])
		}
		slices.Sort(before)
		out = append(out, fmt.Sprintf("%s entry %s v%d %s %s %q topic=%q keywords=%q session=%s sources=%v after=%v "+
			"valid=%s..%s",
			scope.User, names[m.GetId()], m.GetVersion(), m.GetStatus(), m.GetKind(), m.GetContent(), m.GetTopic(),
			m.GetKeywords(),
			m.GetSessionId(), m.GetSourceTurnIds(), before, stamp(m.GetValidFrom()), stamp(m.GetValidTo())))
	}
	return out
}

// maxIndex is more than the number of operations of any session here.
const maxIndex = 16

// name returns the sources and the index of an entry's derived id, or the id itself if it is not derived.
func name(scope memory.Scope, m *mnemev1.Memory) string {
	for index := range maxIndex {
		if memory.DeriveID(scope, m.GetSourceTurnIds(), index) == m.GetId() {
			return fmt.Sprintf("%v#%d", m.GetSourceTurnIds(), index)
		}
	}
	return m.GetId()
}

func stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Format(time.RFC3339Nano)
}

// Diff returns the missing and the unexpected lines.
func (want State) Diff(got State) string {
	count := map[string]int{}
	for _, line := range want {
		count[line]++
	}
	for _, line := range got {
		count[line]--
	}
	var out []string
	for line, n := range count {
		for ; n > 0; n-- {
			out = append(out, line+"  <- missing")
		}
		for ; n < 0; n++ {
			out = append(out, line+"  <- too much")
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// Has reports whether a line contains a part.
func (want State) Has(part string) bool {
	return slices.ContainsFunc(want, func(line string) bool { return strings.Contains(line, part) })
}

// Formed returns a function that counts the formed sessions. A call asks about the sessions that no earlier call saw
// formed. A failed request counts as not formed.
func Formed(c Client, sessions []dataset.Session) func(context.Context) int {
	pending := slices.Clone(sessions)
	return func(ctx context.Context) int {
		pending = slices.DeleteFunc(pending, func(s dataset.Session) bool {
			res, err := c.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: s.User, SessionId: s.ID}))
			return err == nil && res.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED
		})
		return len(sessions) - len(pending)
	}
}

// awaitFormed waits until all sessions are formed.
func awaitFormed(tb testing.TB, c Client, sessions []dataset.Session) {
	tb.Helper()
	formed := Formed(c, sessions)
	Await(tb, "all sessions are formed", func(ctx context.Context) (bool, error) {
		return formed(ctx) == len(sessions), nil
	})
}

// Quiet returns the state once all sessions are formed and it has stopped changing.
func Quiet(tb testing.TB, tenant string, c Client, sessions []dataset.Session) State {
	tb.Helper()
	awaitFormed(tb, c, sessions)
	var last State
	same := 0
	Await(tb, "the state is stable", func(ctx context.Context) (bool, error) {
		now, err := ReadState(ctx, tenant, c, sessions)
		if err != nil || last.Diff(now) != "" {
			same = 0
		} else {
			same++
		}
		last = now
		return same == 10, nil
	})
	return last
}

// AwaitState waits until all sessions are formed, and then for the wanted state. The last session's working memory is
// retired shortly after its formation.
func AwaitState(tb testing.TB, tenant string, c Client, sessions []dataset.Session, want State) {
	tb.Helper()
	awaitFormed(tb, c, sessions)
	AwaitSame(tb, func(ctx context.Context) (State, State, error) {
		got, err := ReadState(ctx, tenant, c, sessions)
		return want, got, err
	})
}

// AwaitSame waits until got equals want, and returns want.
func AwaitSame(tb testing.TB, read func(context.Context) (want, got State, err error)) (want State) {
	tb.Helper()
	var got State
	var err error
	short := time.Now().Add(tailTime)
	Await(tb, "the state is read", func(ctx context.Context) (bool, error) {
		want, got, err = read(ctx)
		return (err == nil && want.Diff(got) == "") || time.Now().After(short), nil
	})
	if err != nil {
		tb.Fatalf("read state: %v", err)
	}
	if d := want.Diff(got); d != "" {
		tb.Errorf("the state is not that of the undisturbed run:\n%s", d)
	}
	return want
}

// tailTime is far longer than the last retirement takes.
const tailTime = 20 * time.Second

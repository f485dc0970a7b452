package fault_test

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
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/test/harness"
)

// state is everything a tenant can see of its users' memories, a line each: entries, sessions and working memory.
// Only when something was written, and in which trace, is left out. Entries are named by what their ids derive from
// beside tenant and user, so that the states of tenants compare.
type state []string

// read reads the state. Several services are asked, so it is only comparable when nothing is under way.
func read(ctx context.Context, tenant string, c harness.Client, sessions []dataset.Session) (state, error) {
	var out state
	for _, s := range speakers {
		listed, err := c.ListMemories(ctx, connect.NewRequest(&mnemev1.ListMemoriesRequest{UserId: s.user, PageSize: 1000}))
		if err != nil {
			return nil, fmt.Errorf("list memories: %w", err)
		}
		out = append(out, entries(memory.Scope{Tenant: tenant, User: s.user}, listed.Msg.GetMemories())...)
		recent, err := c.GetWorkingMemory(ctx, connect.NewRequest(&mnemev1.GetWorkingMemoryRequest{UserId: s.user}))
		if err != nil {
			return nil, fmt.Errorf("read working memory: %w", err)
		}
		for i, t := range recent.Msg.GetTurns() {
			out = append(out, fmt.Sprintf("%s recent %02d %s %q", s.user, i, t.GetTurnId(), t.GetText()))
		}
	}
	for _, s := range sessions {
		r, err := c.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: s.User, SessionId: s.ID}))
		if err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
		out = append(
			out,
			fmt.Sprintf("%s session %s %s turns=%d operations=%d", s.User, s.ID, r.Msg.GetState(), r.Msg.GetTurns(), r.Msg.GetOperations()),
		)
	}
	slices.Sort(out)
	return out, nil
}

// entries are a user's entries.
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
		out = append(out, fmt.Sprintf("%s entry %s v%d %s %s %q topic=%q keywords=%q session=%s sources=%v after=%v valid=%s..%s",
			scope.User, names[m.GetId()], m.GetVersion(), m.GetStatus(), m.GetKind(), m.GetContent(), m.GetTopic(), m.GetKeywords(),
			m.GetSessionId(), m.GetSourceTurnIds(), before, moment(m.GetValidFrom()), moment(m.GetValidTo())))
	}
	return out
}

// maxIndex is more than any session here has operations.
const maxIndex = 16

// name is the sources and the index that an entry's id derives from; the id itself where it derives from none.
func name(scope memory.Scope, m *mnemev1.Memory) string {
	for index := range maxIndex {
		if memory.DeriveID(scope, m.GetSourceTurnIds(), index) == m.GetId() {
			return fmt.Sprintf("%v#%d", m.GetSourceTurnIds(), index)
		}
	}
	return m.GetId()
}

func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Format(time.RFC3339Nano)
}

// diff tells what is missing and what is too much.
func (want state) diff(got state) string {
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

// formed counts the sessions that are formed; services that are unavailable count nothing.
func formed(ctx context.Context, c harness.Client, sessions []dataset.Session) int {
	n := 0
	for _, s := range sessions {
		res, err := c.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: s.User, SessionId: s.ID}))
		if err == nil && res.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED {
			n++
		}
	}
	return n
}

// settled waits until all sessions are formed and then for the state that is wanted: the last session's working
// memory is retired just after it is formed.
func settled(tb testing.TB, tenant string, c harness.Client, sessions []dataset.Session, want state) {
	tb.Helper()
	await(tb, "all sessions are formed", func(ctx context.Context) bool { return formed(ctx, c, sessions) == len(sessions) })
	var got state
	var err error
	short := time.Now().Add(tailTime)
	waitErr := until(context.Background(), func(ctx context.Context) bool {
		got, err = read(ctx, tenant, c, sessions)
		return (err == nil && want.diff(got) == "") || time.Now().After(short)
	})
	if err != nil || waitErr != nil {
		tb.Fatalf("read state: %v, %v", err, waitErr)
	}
	if d := want.diff(got); d != "" {
		tb.Errorf("the state is not that of the undisturbed run:\n%s", d)
	}
}

// tailTime is far longer than the last retirement takes.
const tailTime = 20 * time.Second

func (want state) has(part string) bool {
	return slices.ContainsFunc(want, func(line string) bool { return strings.Contains(line, part) })
}

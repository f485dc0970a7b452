package banktest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

func coreCases() []testCase {
	return []testCase{
		{"a user without a core block has the zero block", noCore},
		{"the newest version of the core block is read", newestCore},
		{"no more than so many versions of the core block are kept", boundedCore},
		{"a repeated or late write of the core block changes nothing", lateCore},
		{"the core block is the user's own", foreignCore},
		{"a core block beyond its capacity, or with lines of nothing, is refused", largeCore},
	}
}

func block(version int, text string) *memory.Core {
	return &memory.Core{
		Content: text, Version: version, UpdatedAt: epoch.Add(time.Duration(version) * time.Hour).UTC(),
		Sources:   []string{"t1", "t2"},
		SessionID: "session", OperationID: "op", PolicyVersion: "test/1",
		Lines: []memory.CoreLine{{Text: text, Memories: []string{"m1", "m2"}}},
	}
}

func writeCore(t *testing.T, b bank.Bank, scope memory.Scope, c *memory.Core) {
	t.Helper()
	if err := b.Write(t.Context(), scope, memory.Write{Core: c}); err != nil {
		t.Fatal(err)
	}
}

func wantCore(t *testing.T, b bank.Bank, scope memory.Scope, want memory.Core) {
	t.Helper()
	got, err := b.Core(t.Context(), scope)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func noCore(t *testing.T, b bank.Bank) {
	scope := newScope()
	wantCore(t, b, scope, memory.Core{})
	write(t, b, scope, memory.Write{Put: []memory.Memory{entry(scope, 1, "Ana lives in Porto.")}})
	wantCore(t, b, scope, memory.Core{})
}

func newestCore(t *testing.T, b bank.Bank) {
	scope := newScope()
	for v := 1; v <= 11; v++ { // ten comes after nine, not after one
		writeCore(t, b, scope, block(v, strings.Repeat("é", v)))
		wantCore(t, b, scope, *block(v, strings.Repeat("é", v)))
	}
}

func boundedCore(t *testing.T, b bank.Bank) {
	scope := newScope()
	const last = memory.CoreVersions + 3
	for v := 1; v <= last; v++ {
		writeCore(t, b, scope, block(v, "text"))
	}
	writeCore(t, b, scope, block(last, "text"))
	wantCore(t, b, scope, *block(last, "text"))
	if kept, err := b.Count(t.Context(), scope); err != nil || kept.Core > memory.CoreVersions {
		t.Errorf("%d versions are kept, %v, want %d at most", kept.Core, err, memory.CoreVersions)
	}
}

func lateCore(t *testing.T, b bank.Bank) {
	scope := newScope()
	writeCore(t, b, scope, block(1, "one"))
	writeCore(t, b, scope, block(2, "two"))
	writeCore(t, b, scope, block(1, "one"))
	writeCore(t, b, scope, block(2, "two"))
	wantCore(t, b, scope, *block(2, "two"))
}

func foreignCore(t *testing.T, b bank.Bank) {
	scope := newScope()
	writeCore(t, b, scope, block(1, "one"))
	wantCore(t, b, memory.Scope{Tenant: scope.Tenant, User: "ben"}, memory.Core{})
	wantCore(t, b, memory.Scope{Tenant: newScope().Tenant, User: scope.User}, memory.Core{})
}

func largeCore(t *testing.T, b bank.Bank) {
	scope := newScope()
	bare, other := block(1, "x"), block(1, "x")
	bare.Lines[0].Memories, other.Content = nil, "y"
	for _, c := range []*memory.Core{block(1, strings.Repeat("é", memory.CoreCapacity+1)), block(0, "x"), bare, other} {
		if err := b.Write(t.Context(), scope, memory.Write{Core: c}); !fault.IsTerminal(err) ||
			fault.Field(err) != "write.core" {
			t.Errorf("got %v, want a terminal error about write.core", err)
		}
	}
	writeCore(t, b, scope, block(1, strings.Repeat("é", memory.CoreCapacity)))
}

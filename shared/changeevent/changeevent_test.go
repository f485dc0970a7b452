package changeevent_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/changeevent"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestWhatIsToldOfAChange(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	told := []changeevent.Type{}
	for op, want := range map[memory.OpKind]changeevent.Type{
		memory.OpAdd: changeevent.MemoryAdded, memory.OpUpdate: changeevent.MemoryUpdated,
		memory.OpMerge:  changeevent.MemoryMerged,
		memory.OpDelete: changeevent.MemoryDeleted, memory.OpRelease: changeevent.MemoryReleased,
		memory.OpErase:  changeevent.UserErased,
		memory.OpAppend: changeevent.CoreChanged, memory.OpReplace: changeevent.CoreChanged,
		memory.OpRewrite: changeevent.CoreChanged,
	} {
		c := contract.MemoryChange{
			Envelope:  contract.Envelope{EventID: "e1", Scope: memory.Scope{Tenant: "acme", User: "ines"}},
			Operation: op, MemoryID: "m1", Time: at,
		}
		value, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		e, ok, err := changeevent.Of(c.Key(), value)
		var data struct {
			ID       string   `json:"id"`
			MemoryID string   `json:"memory_id"`
			UserID   string   `json:"user_id"`
			Closed   []string `json:"closed_ids"`
		}
		if err != nil || !ok || e.Type != want || e.ID != "e1" || e.Scope != c.Scope || !e.Time.Equal(at) {
			t.Errorf("%s: %+v, %t, %v", op, e, ok, err)
		}
		if err := json.Unmarshal(e.Data, &data); err != nil || data.ID != "e1" || data.UserID != "ines" ||
			data.Closed == nil {
			t.Errorf("%s: data %s, %v", op, e.Data, err)
		}
		told = append(told, e.Type)
		c.Tier = memory.TierTalk
		if value, err = c.Encode(); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := changeevent.Of(c.Key(), value); ok || err != nil {
			t.Errorf("%s of talk: an event is %t, %v, want none", op, ok, err)
		}
	}
	for _, want := range changeevent.Types() {
		if !slices.Contains(told, want) {
			t.Errorf("nothing is %s", want)
		}
	}
	if _, _, err := changeevent.Of([]byte("acme/ines"), []byte("x")); !fault.IsTerminal(err) {
		t.Errorf("a record that is no change: %v", err)
	}
}

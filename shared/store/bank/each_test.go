package bank_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

var errGone = errors.New("gone")

// leaving answers only the first page.
type leaving struct{ bank.Bank }

func (l leaving) List(ctx context.Context, s memory.Scope, o bank.ListOptions) (bank.Page, error) {
	if o.Token != "" {
		return bank.Page{}, errGone
	}
	return l.Bank.List(ctx, s, o)
}

func TestEachGoesThroughAllPages(t *testing.T) {
	b, scope := inmem.New(1), memory.Scope{Tenant: "acme", User: "ana"}
	at := time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)
	var w memory.Write
	var ids, turns []string
	for i := range 7 {
		turn := fmt.Sprint("t", i)
		m := memory.Memory{
			ID: memory.DeriveID(scope, []string{turn}, 0), Kind: memory.KindFact, Content: "Ana likes tea.",
			Status: memory.StatusActive, Version: 1,
			RecordedAt: at.Add(time.Duration(i) * time.Second), ValidFrom: at, Sources: []string{turn}, SessionID: "s",
			Vector: memory.Vector{1},
		}
		w.Put, ids, turns = append(w.Put, m), append(ids, m.ID), append(turns, turn)
		w.Turns = append(w.Turns, memory.Turn{ID: turn, SessionID: "s", Speaker: "Ana", Role: memory.RoleUser,
			Text: "I like tea.", Time: at})
	}
	if err := b.Write(t.Context(), scope, w); err != nil {
		t.Fatal(err)
	}
	var got, said []string
	for m, err := range bank.EachMemory(t.Context(), b, scope, bank.ListOptions{Limit: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.ID)
	}
	for turn, err := range bank.EachTurn(t.Context(), b, scope, bank.PageOptions{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, turn.ID)
	}
	slices.Sort(said)
	if !slices.Equal(got, ids) || !slices.Equal(said, turns) {
		t.Errorf("got %v and %v, want %v and %v", got, said, ids, turns)
	}
	seen := 0
	var last error
	for _, err := range bank.EachMemory(t.Context(), leaving{b}, scope, bank.ListOptions{Limit: 3}) {
		if last = err; err == nil {
			seen++
		}
	}
	if seen != 3 || !errors.Is(last, errGone) {
		t.Errorf("saw %d and %v; want a page, and then that the rest is gone", seen, last)
	}
}

package formation

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/guard"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func TestZZ(t *testing.T) {
	model := relation.Shipped()
	th := model.Thresholds()
	fmt.Println("thresholds", th)
	cases, err := corpus.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []float64{th.Certain, 0.5, 0.7} {
		p := Pipeline{Former: guard.New(embedded.NewFormerWith(embedded.IdentityOf("salimory"), model, c, th.Possible)), Strategy: "salimory", Embedder: builtin.New()}
		r, err := MeasureCases(context.Background(), p, cases)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("certain %.2f: kept %d/%d closed %d/%d\n", c, r.Kept, r.Keep, r.Closed, r.Close)
		if c == th.Certain {
			for _, w := range r.Wrong {
				fmt.Println("  ", w)
			}
		}
	}
	if os.Getenv("PAIRS") == "" {
		return
	}
	pairs, err := corpus.Pairs()
	if err != nil {
		t.Fatal(err)
	}
	var held []corpus.Pair
	for _, p := range pairs {
		if p.Split() == corpus.Heldout && p.StoredBy == corpus.ByUser {
			held = append(held, p)
		}
	}
	held = held[:min(400, len(held))]
	pl := Pipeline{Former: guard.New(embedded.NewFormer(embedded.IdentityOf("salimory"))), Strategy: "salimory", Embedder: builtin.New()}
	changes, right, wrong, looks, any := 0, 0, 0, 0, 0
	for i, p := range held {
		at := time.Date(2025, 3, 4, 18, 0, 0, 0, time.UTC)
		s := dataset.Subject{Scope: memory.Scope{Tenant: "e", User: fmt.Sprint("u", i)}}
		one := dataset.Session{User: s.Scope.User, ID: "s1"}
		for k := range 12 {
			q := held[(i+k*7)%len(held)].Stored
			if k == 0 {
				q = p.Stored
			}
			one.Turns = append(one.Turns, memory.Turn{ID: fmt.Sprint("a", k), SessionID: "s1", Speaker: "Kim", Role: memory.RoleUser, Text: q, Time: at.Add(time.Duration(k) * time.Minute)})
		}
		who, role := "Kim", memory.RoleUser
		switch p.LaterBy {
		case corpus.ByAssistant:
			who, role = "Assistant", memory.RoleAssistant
		case corpus.ByOther:
			who = "Lee"
		}
		two := dataset.Session{User: s.Scope.User, ID: "s2", Turns: []memory.Turn{{ID: "b0", SessionID: "s2", Speaker: who, Role: role, Text: p.Later, Time: at.AddDate(0, 1, 0)}}}
		s.Sessions = []dataset.Session{one, two}
		f, err := pl.Form(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		hit, other := false, false
		for _, m := range f.Entries {
			if m.Status == memory.StatusSuperseded || m.Status == memory.StatusRetracted {
				if slices.Contains(m.Sources, "a0") {
					hit = true
				} else {
					other = true
				}
			}
		}
		if p.Label == "replaces" || p.Label == "ends" {
			changes++
			if hit {
				right++
			}
			if other {
				wrong++
			}
		} else {
			looks++
			if hit || other {
				any++
			}
		}
	}
	fmt.Printf("held out: %d changes, right entry %.1f%%, another %.1f%%; %d look-alikes, close anything %.1f%%\n", changes, 100*float64(right)/float64(changes), 100*float64(wrong)/float64(changes), looks, 100*float64(any)/float64(looks))
}

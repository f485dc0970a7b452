package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/test/harness"
)

// strategyTenants returns a tenant for each strategy with each policy.
func strategyTenants() []harness.Tenant {
	var out []harness.Tenant
	for _, s := range tenant.Strategies() {
		for _, p := range tenant.Policies() {
			out = append(out, harness.Tenant{ID: string(s) + "-" + string(p), Strategy: s, Policy: p})
		}
	}
	return out
}

// Every strategy, with both policies, processes two sessions through all services. Recall returns the statements,
// marked with the strategy and linked to their turns. The banks of two strategies differ.
func TestEveryStrategyGoesTheWholeWay(t *testing.T) {
	for _, who := range strategyTenants() {
		t.Run(who.ID, func(t *testing.T) {
			t.Parallel()
			user := "olga of " + who.ID
			first := harness.Talk(
				user,
				"w1",
				"Olga",
				said,
				"I live in Porto with my dog Biscuit.",
				"I work as a nurse in a clinic.",
				"When I bake bread I let the dough rest for 12 hours.",
				"I'm allergic to peanuts.",
			)
			second := harness.Talk(
				user,
				"w2",
				"Olga",
				said.AddDate(0, 1, 0),
				"I moved to Braga last week, and my dog Biscuit likes it.",
				"My sister Eva got married yesterday.",
			)
			shared.Publish(t, who.ID, first, second)
			shared.AwaitFormed(t, who.ID, first, second)
			memories := shared.Memories(t, who.ID, user)
			if len(memories) == 0 {
				t.Fatal("nothing is remembered")
			}
			turns := map[string]bool{}
			for _, s := range append(first.Turns, second.Turns...) {
				turns[s.ID] = true
			}
			for _, m := range memories {
				if m.GetStrategy() != string(who.Strategy) || !strings.HasPrefix(m.GetPolicyVersion(), string(who.Strategy)) ||
					len(m.GetSourceTurnIds()) == 0 {
					t.Errorf(
						"%q is marked %s, %s, with %d sources",
						m.GetContent(),
						m.GetStrategy(),
						m.GetPolicyVersion(),
						len(m.GetSourceTurnIds()),
					)
				}
				for _, id := range m.GetSourceTurnIds() {
					if !turns[id] {
						t.Errorf("%q comes from %s, which nobody said", m.GetContent(), id)
					}
				}
			}
			c := shared.Client(who.ID)
			if got := recallOf(t, c, user, "What is the name of Olga's dog?"); !strings.Contains(got.GetProfile(), "Biscuit") ||
				len(got.GetDegraded()) > 0 {
				t.Errorf("profile %q, degraded %q; want the dog's name", got.GetProfile(), got.GetDegraded())
			}
			core, err := c.GetCore(t.Context(), request(&mnemev1.GetCoreRequest{UserId: user}))
			if err != nil || core.Msg.GetCore().GetVersion() == 0 ||
				time.Since(core.Msg.GetCore().GetUpdatedAt().AsTime()) > time.Hour {
				t.Fatalf("core block %v, %v", core, err)
			}
			if who.Strategy.WritesCore() {
				return
			}
			lines := core.Msg.GetCore().GetLines()
			if len(lines) == 0 || !strings.Contains(lines[0].GetText(), "peanuts") {
				t.Fatalf("the core block has %v", lines)
			}
			// A request without a shared word still gets the memory once, with its citation. It comes from the core,
			// or from the model's choice.
			got := recallOf(t, c, user, "Suggest a snack for tonight.")
			top := got.GetSections()[0]
			cited := slices.ContainsFunc(got.GetCited(), func(m *mnemev1.CitedMemory) bool {
				return m.GetMemory().GetId() == lines[0].GetMemoryIds()[0]
			})
			if !cited || strings.Count(got.GetProfile(), "peanuts") != 1 ||
				who.Policy == tenant.PolicyEmbedded && (top.GetName() != "core" ||
					!strings.Contains(top.GetLines()[0], "peanuts")) {
				t.Errorf("profile %q", got.GetProfile())
			}
		})
	}
}

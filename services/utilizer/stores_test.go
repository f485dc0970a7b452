package utilizer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// told returns a recaller with a user who told these statements, one session each. The shared prior ranks.
func told(t *testing.T, role memory.Role, other string, said ...string) *utilizer.Recaller {
	t.Helper()
	vectors, err := builtin.New().Embed(t.Context(), said)
	if err != nil {
		t.Fatal(err)
	}
	var w memory.Write
	for i, text := range said {
		turn := fmt.Sprint("said", i)
		at := now.AddDate(0, 0, i-40)
		w.Put = append(w.Put, memory.Memory{
			ID: memory.DeriveID(
				ana,
				[]string{turn},
				0,
			), Kind: memory.KindFact, Content: text, Speaker: "Ana", Status: memory.StatusActive, Version: 1,
			RecordedAt: at, ValidFrom: at, Sources: []string{turn}, SessionID: turn, Vector: vectors[i],
		})
		w.Turns = append(w.Turns,
			memory.Turn{ID: turn, SessionID: turn, Speaker: "Ana", Role: memory.RoleUser, Text: text, Time: at},
			memory.Turn{ID: turn + "b", SessionID: turn, Speaker: other, Role: role, Text: "I see.", Time: at.Add(1)})
	}
	r := newRecaller(t)
	r.Bank = bankinmem.New(builtin.Dimension)
	if err := r.Bank.Write(t.Context(), ana, w); err != nil {
		t.Fatal(err)
	}
	r.Indexes, r.Ranker, r.OwnPlaces = newIndexCache(t, r.Bank, roomy), local{r.Prior}, 2
	return r
}

// trip has statements about one trip, and constraints of the traveller.
var trip = []string{
	"For the trip to Naples we looked at trains to Naples.", "The Naples trip costs too little to be true.",
	"The trip to Naples is in May.",
	"My colleague told of a trip to Naples.", "A trip to Naples takes a day.", "We read of Naples and its harbour.",
	"Naples was full of people.",
	"I am allergic to peanuts and shellfish.", "I never fly, I prefer the night train.",
}

func asks(query string) utilizer.Request {
	return utilizer.Request{User: "ana", Query: query, Candidates: 20, Memories: 5, WordBudget: 400}
}

func evidence(t *testing.T, r *utilizer.Recaller, q utilizer.Request) []string {
	t.Helper()
	got, err := r.Recall(t.Context(), acme, q)
	if err != nil || len(got.Degraded) > 0 {
		t.Fatalf("got %v, %v", got.Degraded, err)
	}
	return contents(got.Evidence.Memories)
}

func TestConstraintsHavePlacesOfTheirOwn(t *testing.T) {
	q := asks("Plan the trip to Naples and places to eat in Naples, on the trip to Naples.")
	r := told(t, memory.RoleAssistant, "Assistant", trip...)
	got := evidence(t, r, q)
	if !slices.ContainsFunc(got, func(s string) bool {
		return strings.Contains(s, "allergic")
	}) || len(got) <= q.Memories ||
		len(got) > q.Memories+4 {
		t.Errorf("shows %q, want the allergy behind the best five, and at most four more", got)
	}
	r.OwnPlaces = 0
	if got := evidence(t, r, q); len(got) != q.Memories {
		t.Errorf("without places of their own shows %q, want the best five", got)
	}
	r.OwnPlaces = 2
	one := q
	one.Memories = 1
	if got := evidence(t, r, one); len(got) != 1 {
		t.Errorf("who asks for one memory is shown %q", got)
	}
	friends := told(t, memory.RoleUser, "Bruno", trip...)
	if got := evidence(t, friends, q); len(got) != q.Memories {
		t.Errorf("between friends shows %q, want the best five", got)
	}
}

func TestTheFloorLeavesOutWhatARequestHardlyNeeds(t *testing.T) {
	said := []string{"I am allergic to peanuts and shellfish.", "The printer is jammed again.", "Thanks, that was all."}
	q := asks("What could I cook with peanuts or shellfish for my allergic self?")
	r := told(t, memory.RoleAssistant, "Assistant", said...)
	if got := evidence(t, r, q); len(got) != len(said) {
		t.Fatalf("without a floor shows %q", got)
	}
	r.Floor = 0.15
	if got := evidence(t, r, q); len(got) != 1 || !strings.Contains(got[0], "allergic") {
		t.Errorf("shows %q, want the allergy alone", got)
	}
	// A tenant's weights may have any scale: their first memories stay, and the same memories are removed.
	r.Ranker = local{ranking.Weights{FeatureSet: r.Prior.FeatureSet, W: scaled(r.Prior.W, 1e-3)}}
	if got := evidence(t, r, q); len(got) != 1 || !strings.Contains(got[0], "allergic") {
		t.Errorf("with smaller weights shows %q, want the allergy alone", got)
	}
	r.Ranker = reversing{}
	if got := evidence(t, r, q); len(got) != 2 || strings.Contains(got[0], "allergic") ||
		!strings.Contains(got[1], "allergic") {
		t.Errorf("with other weights shows %q, want what they put first, and the allergy", got)
	}
	friends := told(t, memory.RoleUser, "Bruno", said...)
	friends.Floor = 0.15
	if got := evidence(t, friends, q); len(got) != len(said) {
		t.Errorf("between friends shows %q, want all", got)
	}
}

// A model reads the results of every question, so a tenant with a model has the floor for questions about the user,
// too.
func TestAModelGetsNoMemoriesThatAQuestionHardlyNeeds(t *testing.T) {
	r := told(t, memory.RoleAssistant, "Assistant", "I am allergic to peanuts and shellfish.",
		"The printer is jammed again.",
		"Thanks, that was all.")
	r.Floor = 0.15
	q := asks("What am I allergic to, peanuts or shellfish?")
	if got := evidence(t, r, q); len(got) != 3 {
		t.Errorf("without a model shows %q, want all", got)
	}
	modelled := acme
	modelled.Policy = tenant.PolicyLLM
	got, err := r.Recall(t.Context(), modelled, q)
	if shown := contents(got.Evidence.Memories); err != nil || len(shown) != 1 || !strings.Contains(shown[0], "allergic") {
		t.Errorf("with a model shows %q, %v; want the allergy alone", shown, err)
	}
}

// edit replaces the bank by one with changed memories.
func edit(t *testing.T, r *utilizer.Recaller, change func(*memory.Memory)) {
	t.Helper()
	page, err := r.Bank.List(t.Context(), ana, bank.ListOptions{Limit: bank.MaxLimit, WithVectors: true})
	if err != nil {
		t.Fatal(err)
	}
	turns, err := r.Bank.ListTurns(t.Context(), ana, bank.PageOptions{Limit: bank.MaxLimit})
	if err != nil {
		t.Fatal(err)
	}
	for i := range page.Memories {
		change(&page.Memories[i])
	}
	r.Bank = bankinmem.New(builtin.Dimension)
	if err := r.Bank.Write(t.Context(), ana, memory.Write{Put: page.Memories, Turns: turns.Turns}); err != nil {
		t.Fatal(err)
	}
	r.Indexes = newIndexCache(t, r.Bank, roomy)
}

// An entry that is no constraint and no preference gets no separate place. Neither does talk.
func TestNothingElseHasAPlaceOfItsOwn(t *testing.T) {
	said := append(slices.Clone(trip[:6]), "I am allergic to peanuts and shellfish.",
		"I'm not a fan of beaches, I prefer mountains.")
	for name, c := range map[string]struct {
		kind memory.Kind
		tier memory.Tier
		want int
	}{
		"a preference": {memory.KindPreference, memory.TierMemory, 2}, "a fact": {memory.KindFact, memory.TierMemory, 1},
		"talk": {memory.KindPreference, memory.TierTalk, 0},
	} {
		r := told(t, memory.RoleAssistant, "Assistant", said...)
		edit(t, r, func(m *memory.Memory) {
			if strings.Contains(m.Content, "allergic") || strings.Contains(m.Content, "prefer") {
				m.Kind, m.Tier = c.kind, c.tier
			}
		})
		q := asks("Plan the trip to Naples and places to eat in Naples, on the trip to Naples.")
		q.Memories = 3
		if got := evidence(t, r, q); len(got) != q.Memories+c.want {
			t.Errorf("%s: shows %q, want the best three and %d more", name, got, c.want)
		}
	}
}

// The word budget decides how many memories a profile shows. A caller's number is an upper bound.
func TestTheProfileFillsItsBudget(t *testing.T) {
	var said []string
	for i := range 28 {
		said = append(said, fmt.Sprintf("I keep box %d with old maps in the cellar.", i))
	}
	f := newFixture(t)
	r := told(t, memory.RoleUser, "Bruno", said...)
	f.Bank, f.Indexes, f.Ranker = r.Bank, r.Indexes, r.Ranker
	for _, c := range []struct{ memories, words, least, most int }{{0, 0, 20, 20}, {5, 0, 5, 5}, {10, 0, 10, 10},
		{0, 60, 3, 6}} {
		got, err := f.as(acmeKey).Recall(t.Context(), ask(&mnemev1.RecallRequest{
			UserId: "ana", Query: "Which maps does Ana keep in the cellar?",
			Memories: uint32(c.memories), WordBudget: uint32(c.words), //nolint:gosec // small
		}))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Msg.GetCited()); n < c.least || n > c.most {
			t.Errorf("%d memories and %d words: shows %d, want %d to %d", c.memories, c.words, n, c.least, c.most)
		}
	}
}

// The number of candidates has room for exploration and for all memories, unless the caller sets it.
func TestTheDefaultNumberOfCandidates(t *testing.T) {
	for _, c := range []struct {
		candidates, memories         uint32
		wantCandidates, wantMemories int
	}{{0, 0, 30, 20}, {0, 20, 30, 20}, {0, 5, 30, 5}, {0, 60, 60, 60}, {20, 0, 20, 20}, {10, 0, 10, 10}} {
		candidates, memories, err := utilizer.Limits(&mnemev1.RecallRequest{
			UserId: "ana", Query: "Hello?", Memories: c.memories, Candidates: c.candidates,
		})
		if err != nil || candidates != c.wantCandidates || memories != c.wantMemories {
			t.Errorf("%+v: got %d candidates, %d memories, %v", c, candidates, memories, err)
		}
	}
}

// A memory that answers has a likelihood of more than half, and an unrelated one has less.
func TestTheLikelihoodOfAnUnrelatedMemoryIsLow(t *testing.T) {
	said := []string{
		"I am allergic to peanuts and shellfish.", "The printer in the office is jammed again.",
		"My sister Clara lives in Ghent.",
		"I bought a red canoe for the lake.", "We repainted the kitchen in March.", "I play chess on Thursdays.",
	}
	r := told(t, memory.RoleUser, "Bruno", said...)
	for query, want := range map[string]string{
		"What is Ana allergic to?": "allergic", "Where does Clara, the sister of Ana, live?": "Clara",
		"What did Ana buy for the lake?": "canoe",
	} {
		q := asks(query)
		q.Memories = 20
		got, err := r.Recall(t.Context(), acme, q)
		if err != nil || len(got.Ranked) != len(said) {
			t.Fatalf("%s: got %d memories, %v", query, len(got.Ranked), err)
		}
		for _, s := range got.Ranked {
			if l := ranking.Likelihood(s.Score); l > 0.5 != strings.Contains(s.Memory.Content, want) {
				t.Errorf("%s: %q has the score %.2f and the likelihood %.2f", query, s.Memory.Content, s.Score, l)
			}
		}
	}
}

// drawing shows the last memory to explore.
type drawing struct{ local }

func (d drawing) Rank(ctx context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	order, err := d.local.Rank(ctx, a, m)
	order.Explored = a.Candidates[order.Places[len(order.Places)-1]].ID
	return order, err
}

func TestTheFloorLeavesWhatIsThereToExplore(t *testing.T) {
	said := []string{"I am allergic to peanuts and shellfish.", "The printer is jammed again.", "Thanks, that was all."}
	r := told(t, memory.RoleAssistant, "Assistant", said...)
	r.Floor, r.Ranker = 0.15, drawing{local{r.Prior}}
	got, err := r.Recall(t.Context(), acme, asks("What could I cook with peanuts or shellfish for my allergic self?"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(got.Profile.Cited, func(m memory.Memory) bool {
		return m.ID == got.Explored
	}) || len(got.Profile.Cited) != 2 {
		t.Errorf("shows %q, want the first and what is explored, %s", contents(got.Profile.Cited), got.Explored)
	}
}

func scaled(w []float32, by float32) []float32 {
	out := slices.Clone(w)
	for i := range out {
		out[i] *= by
	}
	return out
}

// A search result does not show other speakers. If one of two friends tells everything, they do not count as a user
// with an assistant.
func TestFriendsAreNotTakenForOneUserBeforeTheirIndexIsReady(t *testing.T) {
	r := told(t, memory.RoleUser, "Bruno", trip...)
	small := roomy
	small.Entries = 1
	r.Indexes = newIndexCache(t, r.Bank, small)
	got, err := r.Recall(t.Context(), acme, asks(
		"Plan the trip to Naples and places to eat in Naples, on the trip to Naples."))
	if err != nil || !got.Searched || got.Evidence.Request || len(got.Evidence.Memories) != 5 {
		t.Errorf("searched %v, request %v, %d memories, %v", got.Searched, got.Evidence.Request, len(got.Evidence.Memories),
			err)
	}
}

package utilizer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// unlisted is a bank that cannot list the entries of turns.
type unlisted struct{ bank.Bank }

func (unlisted) List(context.Context, memory.Scope, bank.ListOptions) (bank.Page, error) {
	return bank.Page{}, errUnavailable
}

// closes stores a memory of the turn "told" that no longer holds, with valid ones. value is the dialogue that they
// share.
func closes(t *testing.T, r *utilizer.Recaller, said, value, closed string, holds ...string) {
	t.Helper()
	statements := append([]string{closed}, holds...)
	vectors, err := builtin.New().Embed(t.Context(), statements)
	if err != nil {
		t.Fatal(err)
	}
	turn := memory.Turn{ID: "told", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: said, Time: now}
	w := memory.Write{Turns: []memory.Turn{turn}}
	for i, content := range statements {
		w.Put = append(w.Put, memory.Memory{
			ID: memory.DeriveID(ana, []string{"told"}, i), Kind: memory.KindFact, Content: content, Value: value,
			Status:  memory.StatusActive,
			Version: 1, RecordedAt: now, ValidFrom: now, Sources: []string{"told"}, SessionID: "s1", Vector: vectors[i],
		})
	}
	w.Close = []memory.Closing{{ID: w.Put[0].ID, Status: memory.StatusSuperseded, ValidTo: now.Add(time.Hour),
		OperationID: "op"}}
	for _, part := range []memory.Write{{Put: w.Put, Turns: w.Turns}, {Close: w.Close}} {
		if err := r.Bank.Write(t.Context(), ana, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Window.Append(t.Context(), ana, []memory.Turn{turn}); err != nil {
		t.Fatal(err)
	}
}

func TestWhatNoLongerHoldsDoesNotComeBackAsDialogue(t *testing.T) {
	for name, c := range map[string]struct {
		said, value, closed string
		holds               []string
		kept, left          string
	}{
		"a sentence": {"I rent in Faro. I restore harps of 1890.", "", "I rent in Faro.",
			[]string{"I restore harps of 1890."}, "1890", "Faro"},
		"a clause": {"I rent in Faro and I'm a fan of Benfica. My harp is from 1890.", "", "I rent in Faro",
			[]string{"My harp is from 1890."},
			"1890", "Faro"},
		"more than was said in it": {"I rent in Faro! I restore harps.", "", "I rent in Faro! It is near Olhão.",
			[]string{"I restore harps."},
			"restore", "Faro"},
		"in other words": {"I've got a small flat in Faro! I restore harps.", "", "Ana lives in a flat in Faro.",
			[]string{"Ana restores harps."}, "restore", "Faro"},
		"told by what holds as well": {"I restore harps in Faro.", "", "I restore harps in Faro.",
			[]string{"I restore harps in Faro."},
			"Faro", "Lisbon"},
		"nothing else": {"I rent in Faro.", "", "I rent in Faro.", []string{"Ana restores harps."}, "", "Faro"},
		"the dialogue of a memory": {"I restore harps.", "Ana (2026-03-01): I rent in Faro. I restore harps of 1890.",
			"I rent in Faro.",
			[]string{"I restore harps of 1890."}, "1890", "Faro"},
	} {
		t.Run(name, func(t *testing.T) {
			for way, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
				"the bank's search": {}} {
				r := newRecaller(t)
				closes(t, r, c.said, c.value, c.closed, c.holds...)
				r.Indexes = newIndexCache(t, r.Bank, room)
				q := utilizer.Request{User: ana.User, Query: "Does Ana restore harps?", Candidates: 20, Memories: 20,
					WordBudget: 250}
				if raw := raws(t, r, q); !strings.Contains(raw, c.kept) || strings.Contains(raw, c.left) {
					t.Errorf("%s: the raw words are %q, want %q in them and not %q", way, raw, c.kept, c.left)
				}
				q.Query = "Did Ana restore harps before?"
				if raw := raws(t, r, q); c.kept != "Faro" && !strings.Contains(raw, c.left) {
					t.Errorf("%s: of the past, the raw words are %q", way, raw)
				}
			}
		})
	}
}

// The sentence behind a valid memory may also have a statement that no longer holds. The rest of its turn is then no
// source of the memory, and is left out.
func TestADialogueThatNoLongerSupportsItsMemoryIsLeftOut(t *testing.T) {
	const said = "Thanks! We took in two kittens and Ruben keeps halal now. She always liked jazz."
	for name, value := range map[string]string{"turns": "", "a stored dialogue": "Ana (2026-03-01): " + said} {
		for way, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
			"the bank's search": {}} {
			r := newRecaller(t)
			closes(t, r, said, value, "Ana took in two kittens.", "Ruben, Ana's son, keeps halal.",
				"Ana's mother always liked jazz.")
			r.Indexes = newIndexCache(t, r.Bank, room)
			got, err := r.Recall(t.Context(), acme, utilizer.Request{User: ana.User,
				Query:      "Does Ruben keep halal, and who likes jazz?",
				Candidates: 20, Memories: 20, WordBudget: 250})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range got.Evidence.Memories {
				if strings.Contains(m.Content, "halal") && m.Value != "" {
					t.Errorf("%s, %s: %q is beside %q", name, way, m.Value, m.Content)
				}
				if strings.Contains(m.Content, "jazz") && value != "" && !strings.Contains(m.Value, "jazz") {
					t.Errorf("%s, %s: %q has lost its dialogue %q", name, way, m.Content, m.Value)
				}
			}
		}
	}
}

// A turn that lost its only sentence about a memory is left out, and the memory's other turns stay.
func TestTheRestOfATurnWithoutItsMemoryIsLeftOut(t *testing.T) {
	r := newRecaller(t)
	said := []string{"Chickpeas, great! I sail to Texel in June with Otto.", "We cancelled Texel, the boat leaks."}
	contents := []string{"Ana sails to Texel with Otto in June.",
		"Ana's sail to Texel in June is cancelled, because the boat leaks."}
	vectors, err := builtin.New().Embed(t.Context(), contents)
	if err != nil {
		t.Fatal(err)
	}
	var first string
	for i, content := range contents {
		at, id := now.AddDate(0, 0, i-20), fmt.Sprint("sail", i)
		m := memory.Memory{ID: memory.DeriveID(ana, []string{id}, 0), Kind: memory.KindEpisodic, Content: content,
			Version: i + 1,
			Status:  memory.StatusActive, RecordedAt: at, ValidFrom: at, Sources: []string{"sail0", id}[1-i:], SessionID: id,
			Vector: vectors[i]}
		w := memory.Write{Put: []memory.Memory{m}, Turns: []memory.Turn{
			{ID: id, SessionID: id, Speaker: "Ana", Role: memory.RoleUser, Text: said[i], Time: at}}}
		if i == 1 {
			w.Put[0].Predecessors = []string{first}
			w.Close = []memory.Closing{{ID: first, Status: memory.StatusSuperseded, ValidTo: at, OperationID: "op"}}
		}
		if first = m.ID; r.Bank.Write(t.Context(), ana, w) != nil {
			t.Fatal("the bank refuses the write")
		}
	}
	for way, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
		"the bank's search": {}} {
		r.Indexes = newIndexCache(t, r.Bank, room)
		got, err := r.Recall(t.Context(), acme, utilizer.Request{User: ana.User, Query: "Does Ana sail to Texel?",
			Candidates: 20, Memories: 20,
			WordBudget: 250})
		at := slices.IndexFunc(got.Evidence.Memories, func(m memory.Memory) bool { return m.Content == contents[1] })
		if err != nil || at < 0 || !strings.HasSuffix(got.Evidence.Memories[at].Value, said[1]) ||
			strings.Contains(got.Evidence.Memories[at].Value, "Chickpeas") {
			t.Errorf("%s: got %+v, %v", way, got.Evidence.Memories, err)
		}
	}
}

// raws returns the raw words of the turn "told" in a recall.
func raws(t *testing.T, r *utilizer.Recaller, q utilizer.Request) string {
	t.Helper()
	got, err := r.Recall(t.Context(), acme, q)
	if err != nil || len(got.Degraded) != 0 {
		t.Fatalf("says %q, %v", got.Degraded, err)
	}
	var out strings.Builder
	for _, m := range got.Evidence.Memories {
		if m.Sources[0] == "told" {
			out.WriteString(m.Value + "\n")
		}
	}
	for _, turn := range got.Evidence.Window {
		out.WriteString(turn.Text + "\n")
	}
	return out.String()
}

func TestWithoutKnowingWhatNoLongerHoldsNoDialogueIsShown(t *testing.T) {
	r := newRecaller(t)
	r.Bank = unlisted{r.Bank}
	r.Indexes = newIndexCache(t, r.Bank, utilizer.IndexCacheOptions{})
	got, err := r.Recall(t.Context(), acme, where)
	if err != nil || len(got.Degraded) != 1 || got.Degraded[0] != "dialogue_unavailable" ||
		len(got.Evidence.Memories) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, m := range got.Evidence.Memories {
		if m.Value != "" {
			t.Errorf("shows %q", m.Value)
		}
	}
}

func TestOnlyTheTurnsOfWhatIsShownAreLookedUp(t *testing.T) {
	for name, c := range map[string]struct {
		room     utilizer.IndexCacheOptions
		unranked bool
		want     int
	}{
		"from the index": {roomy, false, 0},
		// with the one of the window
		"from a search":               {utilizer.IndexCacheOptions{}, false, where.Memories + 1},
		"from a search, in its order": {roomy, true, 1},
	} {
		r, b := newCounted(t, c.room)
		q := where
		q.Unranked = c.unranked
		if _, err := r.Recall(t.Context(), acme, q); err != nil || b.sources != c.want {
			t.Errorf("%s: the bank was asked of %d turns, want %d: %v", name, b.sources, c.want, err)
		}
	}
}

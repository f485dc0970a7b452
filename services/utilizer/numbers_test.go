package utilizer_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// listening keeps the requests to the ranker.
type listening struct {
	utilizer.Ranker
	asks []utilizer.Ask
}

func (l *listening) Rank(ctx context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	l.asks = append(l.asks, a)
	return l.Ranker.Rank(ctx, a, m)
}

// listen records the requests to a recaller's ranker.
func listen(r *utilizer.Recaller) *listening {
	l := &listening{Ranker: r.Ranker}
	r.Ranker = l
	return l
}

// places returns the ids of a request's candidates.
func places(a utilizer.Ask) []string {
	var out []string
	for _, c := range a.Candidates {
		out = append(out, c.ID)
	}
	return out
}

func TestWhatIsLearnedFromIsWhatWasRanked(t *testing.T) {
	r := newFixture(t)
	ranker := listen(r.Recaller)
	c := r.as(acmeKey)
	answer, err := c.Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana",
		Query: "Where does Ana live?"}}))
	if err != nil || len(ranker.asks) != 1 {
		t.Fatalf("got %v after %d asks, %v", answer, len(ranker.asks), err)
	}
	told, asked := answer.Msg.GetRecall(), ranker.asks[0]
	if told.GetRecallId() == "" || told.GetRecallId() != asked.RecallID || told.GetWeightsVersion() != "test/1" ||
		asked.User != "ana" ||
		asked.FeatureSet != r.Prior.FeatureSet {
		t.Errorf("told recall %q by %q, asked %+v", told.GetRecallId(), told.GetWeightsVersion(), asked)
	}
	var shown []string
	for _, m := range told.GetCited() {
		shown = append(shown, m.GetMemory().GetId())
		if got := m.GetMemory().GetSourceTurnIds(); len(got) != 1 || m.GetMemory().GetId() != memory.DeriveID(ana, got, 0) {
			t.Errorf("citation %d comes from %q", m.GetIndex(), got)
		}
	}
	report := &mnemev1.ReportCitationsRequest{UserId: "ana", RecallId: told.GetRecallId(), ShownIds: shown,
		CitedIds: shown[:1]}
	if _, err := c.ReportCitations(t.Context(), ask(report)); err != nil || len(r.out.msgs) != 2 {
		t.Fatalf("%d records, %v", len(r.out.msgs), err)
	}
	for i, m := range r.out.msgs {
		f, err := contract.DecodeFeedback(m.Key, m.Value, now)
		if err != nil || f.RecallID != asked.RecallID || !slices.Equal(f.Shown, shown) || len(f.Cited) == 0 {
			t.Errorf("record %d is %+v, %v", i, f, err)
		}
		for _, id := range append(f.Shown, f.Cited...) {
			if !slices.Contains(places(asked), id) {
				t.Errorf("record %d names %s, which had no place", i, id)
			}
		}
	}
}

func TestTheWeightsAreNotNamedWhereTheyDidNotOrder(t *testing.T) {
	r := newRecaller(t)
	r.Ranker = unavailableRanker{}
	if got, err := r.Recall(t.Context(), acme, where); err != nil || got.Weights != "" || len(got.Ranked) != 2 ||
		got.Ranked[0].Score <= got.Ranked[1].Score {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMemoriesOfOneTurnTakeOnePlace(t *testing.T) {
	for name, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
		"the bank's search": {}} {
		t.Run(name, func(t *testing.T) {
			r := newRecaller(t)
			ranker := listen(r)
			r.Indexes = newIndexCache(t, r.Bank, room)
			tell(t, r, "I moved the piano upstairs, and the harp, too.", "Ana moved the piano upstairs.",
				"Ana moved the harp upstairs.")
			q := where
			q.Query, q.Memories, q.Candidates = "Where is the harp now?", 10, 10
			got, err := r.Recall(t.Context(), acme, q)
			if err != nil {
				t.Fatal(err)
			}
			var of []string
			for _, m := range got.Evidence.Memories {
				if slices.Contains(m.Sources, "told") {
					of = append(of, m.Content)
				}
			}
			if !slices.Equal(of, []string{"Ana moved the harp upstairs."}) {
				t.Errorf("of the turn, %q is shown", of)
			}
			if ids := places(ranker.asks[0]); len(ids) != len(slices.Compact(slices.Sorted(slices.Values(ids)))) ||
				room.Bytes > 0 && len(ids) != len(facts)+1 {
				t.Errorf("%d places", len(ids))
			}
		})
	}
}

// tell stores a turn of ana with statements from it.
func tell(t *testing.T, r *utilizer.Recaller, text string, statements ...string) {
	t.Helper()
	vectors, err := builtin.New().Embed(t.Context(), statements)
	if err != nil {
		t.Fatal(err)
	}
	w := memory.Write{Turns: []memory.Turn{{ID: "told", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: text,
		Caption: "a  harp", Time: now}}}
	for i, content := range statements {
		w.Put = append(w.Put, memory.Memory{
			ID: memory.DeriveID(ana, []string{"told"}, i), Kind: memory.KindFact, Content: content, Status: memory.StatusActive,
			Version:    1,
			RecordedAt: now, ValidFrom: now, Sources: []string{"told"}, SessionID: "s1", Vector: vectors[i],
		})
	}
	if err := r.Bank.Write(t.Context(), ana, w); err != nil {
		t.Fatal(err)
	}
}

// For a question about several things, the reranker spreads its places over sessions. For a single fact it does not.
func TestPlacesAreSpreadWhereSeveralThingsAreAskedFor(t *testing.T) {
	r := newRecaller(t)
	ranker := listen(r)
	tell(t, r, "I moved the piano upstairs.", "Ana moved the piano upstairs.")
	for query, several := range map[string]bool{"Which instruments has Ana moved?": true,
		"Where is the piano of Ana?": false} {
		ranker.asks = nil
		q := where
		q.Query, q.Candidates = query, 10
		if _, err := r.Recall(t.Context(), acme, q); err != nil {
			t.Fatal(err)
		}
		candidates := ranker.asks[0].Candidates
		alone := func(c utilizer.Numbered) bool { return c.Group == 0 }
		if len(candidates) != len(facts)+1 || slices.ContainsFunc(candidates, alone) == several {
			t.Errorf("%q: candidates %+v, want groups: %v", query, candidates, several)
		}
	}
}

func TestPlacesAreSpreadWithoutTheRerankerToo(t *testing.T) {
	q := where
	q.Query, q.Candidates, q.Memories = "Which instruments has Ana moved?", 10, 10
	moved := func() *utilizer.Recaller {
		r := newRecaller(t)
		for i, content := range []string{"Ana moved the drum.", "Ana moved the cello.", "Ana moved the harp.",
			"Ana moved the flute."} {
			vectors, err := builtin.New().Embed(t.Context(), []string{content})
			if err != nil {
				t.Fatal(err)
			}
			turn := memory.Turn{ID: "m" + strconv.Itoa(i), SessionID: "s" + strconv.Itoa(1+i/3), Speaker: "Ana",
				Role: memory.RoleUser,
				Text: content, Time: now}
			w := memory.Write{Turns: []memory.Turn{turn}, Put: []memory.Memory{{
				ID: memory.DeriveID(ana, []string{turn.ID}, 0), Kind: memory.KindFact, Content: content,
				Status: memory.StatusActive, Version: 1, RecordedAt: now, ValidFrom: now, Sources: []string{turn.ID},
				SessionID: turn.SessionID, Vector: vectors[0],
			}}}
			if err := r.Bank.Write(t.Context(), ana, w); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	r := moved()
	ranker := listen(r)
	if _, err := r.Recall(t.Context(), acme, q); err != nil {
		t.Fatal(err)
	}
	var candidates []ranking.Candidate
	var scores []float64
	var groups []uint32
	for _, c := range ranker.asks[0].Candidates {
		candidates = append(candidates, ranking.Candidate{ID: c.ID, Cosine: c.Cosine})
		scores, groups = append(scores, c.Score), append(groups, c.Group)
	}
	byScore := ranking.Top(candidates, scores, len(candidates))
	ranking.Spread(candidates, scores, groups, ranking.DefaultSpread)
	want := ranking.Top(candidates, scores, len(candidates))
	if slices.Equal(byScore, want) {
		t.Fatalf("nothing is spread of scores %v of sessions %v: ask for more", scores, groups)
	}
	r = moved()
	r.Ranker = unavailableRanker{}
	got, err := r.Recall(t.Context(), acme, q)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range got.Evidence.Memories {
		if m.ID != candidates[want[i]].ID {
			t.Errorf("place %d has %q, want %q", i, m.Content, candidates[want[i]].ID)
		}
	}
}

func TestWhatIsShownCarriesItsDialogue(t *testing.T) {
	r := newRecaller(t)
	tell(t, r, "I moved\nthe harp.", "Ana moved the harp upstairs.")
	q := where
	q.Query = "Where is the harp?"
	q.Memories = q.Candidates
	got, err := r.Recall(t.Context(), acme, q)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(got.Evidence.Memories, func(m memory.Memory) bool { return slices.Contains(m.Sources, "told") })
	if at < 0 || got.Evidence.Memories[at].Value != "Ana (2026-03-01): I moved the harp. [picture: a harp]" {
		t.Errorf("shown is %+v", got.Evidence.Memories)
	}
	for _, m := range got.Evidence.Memories {
		if m.Vector != nil {
			t.Errorf("%q is handed on with its vector", m.Content)
		}
	}
}

func TestADialogueIsNotLongerThanAMemoryMayCarry(t *testing.T) {
	turn := func(text string) memory.Turn { return memory.Turn{Speaker: "Ana", Text: text, Time: now} }
	const ana = "Ana (2026-03-01): "
	long := strings.Repeat("é", memory.MaxValueBytes)
	half := strings.Repeat("x", memory.MaxValueBytes/2)
	for name, c := range map[string]struct {
		turns []memory.Turn
		want  func(string) bool
	}{
		"none": {nil, func(s string) bool { return s == "" }},
		"one that is too long": {[]memory.Turn{turn(long)},
			func(s string) bool { return strings.HasPrefix(s, ana+"éé") && strings.HasSuffix(s, "é…") }},
		"words": {[]memory.Turn{turn(strings.Repeat("words ", memory.MaxValueBytes))},
			func(s string) bool { return strings.HasSuffix(s, " words…") }},
		"too many": {[]memory.Turn{turn("first"), turn(half), turn("last")},
			func(s string) bool { return strings.HasPrefix(s, ana+"first\n"+ana+"x") }},
		"the first goes": {[]memory.Turn{turn(half), turn(half), turn("last")},
			func(s string) bool { return s == ana+half+"\n"+ana+"last" }},
		"the last is the long": {[]memory.Turn{turn("first"), turn(long)}, func(s string) bool {
			return strings.HasPrefix(s, ana+"é")
		}},
		"just so long": {[]memory.Turn{turn(strings.Repeat("x", memory.MaxValueBytes-len(ana)))},
			func(s string) bool { return len(s) == memory.MaxValueBytes && !strings.HasSuffix(s, "…") }},
	} {
		t.Run(name, func(t *testing.T) {
			if got := utilizer.Dialogue(c.turns); !c.want(got) || len(got) > memory.MaxValueBytes || !utf8.ValidString(got) {
				t.Errorf("got %d bytes: %.40q … %.20q", len(got), got, got[max(0, len(got)-20):])
			}
		})
	}
}

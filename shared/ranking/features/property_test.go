package features_test

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// odd also draws texts that no user would write.
var odd = rapid.OneOf(
	rapid.SampledFrom([]string{
		"", " ", "?", "I", "Ida", "Ida's", "Zoë \u0301\u0301", "\xff\xfe", "e\u0301te\u0301", "\u202e\u0000", "What kind of",
		"how many",
		"1999-13-45", "12 July 2023",
		"the of and", "-'-'-", "when when", "人物 は どこ", "a-b-c-d", "What violins and guitars did Ida's brother play in 2023?",
		"...!?", "MAY Will",
	}),
	rapid.String(),
)

var when = rapid.OneOf(rapid.Just(time.Time{}), rapid.Map(rapid.Int64Range(-1e11, 1e11), func(s int64) time.Time {
	return time.Unix(s, 0).UTC()
}))

var vector = rapid.OneOf(rapid.Just([]float32(nil)), rapid.SliceOfN(rapid.Float32(), 3, 3),
	rapid.SliceOfN(rapid.Float32Range(-1, 1), 3, 3),
	rapid.Just([]float32{float32(math.NaN()), 1, 0}), rapid.Just([]float32{float32(math.Inf(1)), 1, 0}),
	rapid.Just([]float32{1}))

func drawTalk(t *rapid.T) *talk {
	c := &talk{}
	id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", ""})
	for range rapid.IntRange(0, 6).Draw(t, "turns") {
		c.turns = append(c.turns, memory.Turn{
			ID: id.Draw(t, "turn"), SessionID: id.Draw(t, "session"), Speaker: odd.Draw(t, "speaker"),
			Text: odd.Draw(t, "text"), Caption: odd.Draw(t, "caption"),
			Role: rapid.SampledFrom([]memory.Role{memory.RoleUser, memory.RoleAssistant, ""}).Draw(t, "role"),
			Time: when.Draw(t, "time"),
		})
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "memories") {
		c.memories = append(c.memories, memory.Memory{
			ID: fmt.Sprint(i), Content: odd.Draw(t, "content"), Value: odd.Draw(t, "value"), Topic: odd.Draw(t, "topic"),
			Keywords: []string{odd.Draw(t, "keyword")},
			Sources:  rapid.SliceOfN(id, 0, 3).Draw(t, "sources"), SessionID: id.Draw(t, "session"),
			ValidFrom: when.Draw(t, "from"), Vector: vector.Draw(t, "vector"),
			Status: rapid.SampledFrom([]memory.Status{memory.StatusActive, memory.StatusSuperseded, ""}).Draw(t, "status"),
			EventTime: memory.EventTime{
				Time: when.Draw(t, "event"), End: when.Draw(t, "end"),
				Precision: rapid.SampledFrom([]memory.Precision{"", "day", "month", "year"}).Draw(t, "precision"),
			},
		})
	}
	return c
}

func TestAnyInputGivesFiniteFeaturesTheSameEachTime(t *testing.T) {
	table := wordvector.Shipped()
	rapid.Check(t, func(t *rapid.T) {
		c := drawTalk(t)
		q := drawQuery(t)
		q.Past = true
		x := features.New(table, c.memories, c.turns)
		if x.Len() != len(c.memories) || x.Bytes() <= 0 {
			t.Fatalf("%d of %d memories in %d bytes", x.Len(), len(c.memories), x.Bytes())
		}
		rows, cosines := x.Numbers(q)
		for i, row := range rows {
			if !(cosines[i] >= -1 && cosines[i] <= 1) {
				t.Fatalf("cosine %v", cosines[i])
			}
			for k, v := range row {
				if !finite(float64(v)) || v < -20 || v > 20 {
					t.Fatalf("%s is %v", features.NumberNames()[k], v)
				}
			}
		}
		weights := make([]float32, len(features.Names()))
		first := x.Candidates(q, weights, 100)
		told := 0
		for _, f := range first {
			told += 1 + len(f.Siblings)
		}
		if told != len(c.memories) {
			t.Fatalf("%d of %d memories came back", told, len(c.memories))
		}
		if again := features.New(table, c.memories, c.turns).Candidates(q, weights, 100); !same(first, again) {
			t.Fatal("another index of the same gives other candidates")
		}
	})
}

func drawQuery(t *rapid.T) features.Query {
	q := askingAt(when.Draw(t, "now"), odd.Draw(t, "query"))
	q.Vector = vector.Draw(t, "of the query")
	return q
}

// afterMessages returns a query as it is understood after these messages.
func afterMessages(q features.Query, messages ...memory.Message) query.Query {
	return askingAt(q.Now, q.Text, messages...).Query
}

// Three kinds of conversation change nothing: one without words, one with the query alone, and one that a complete
// query does not need.
func TestWithoutWordsToAddTheCandidatesAreTheSame(t *testing.T) {
	table, weights := wordvector.Shipped(), make([]float32, len(features.Names()))
	for i := range weights {
		weights[i] = 1
	}
	full := "Which painter of the village by the harbour had a concert, a dinner and a journey planned for the summer with the teacher?"
	rapid.Check(t, func(t *rapid.T) {
		c := drawTalk(t)
		x := features.New(table, c.memories, c.turns)
		q := drawQuery(t)
		want := x.Candidates(q, weights, 100)
		q.Query = afterMessages(q, rapid.SampledFrom([][]memory.Message{
			{}, {{Role: memory.RoleUser, Content: q.Text}},
			{{Role: memory.RoleAssistant, Content: "..."}, {Role: memory.RoleUser, Content: q.Text}},
		}).Draw(t, "messages")...)
		if got := x.Candidates(q, weights, 100); !same(want, got) {
			t.Fatalf("%v changes the candidates", q.Messages)
		}
		q.Query = askingAt(q.Now, full).Query
		want = x.Candidates(q, weights, 100)
		q.Query = afterMessages(
			q,
			memory.Message{Role: memory.RoleUser, Content: odd.Draw(t, "said")},
			memory.Message{Role: memory.RoleAssistant, Content: odd.Draw(t, "replied")},
		)
		if got := x.Candidates(q, weights, 100); !same(want, got) {
			t.Fatalf("%v changes the candidates of a full query", q.Messages)
		}
	})
}

// same compares results. It leaves out vectors with NaN, which equals no value.
func same(a, b []features.Candidate) bool {
	return slices.EqualFunc(a, b, func(a, b features.Candidate) bool {
		return a.Memory.ID == b.Memory.ID && a.Cosine == b.Cosine && len(a.Siblings) == len(b.Siblings) &&
			reflect.DeepEqual(a.Features, b.Features)
	})
}

func TestOrderOfMemoriesAndTurnsDoesNotMatter(t *testing.T) {
	c := chatter(40)
	q := asking("Which violin did Bruno repair at the harbour?")
	want := rowsOf(features.New(wordvector.Shipped(), c.memories, c.turns), q)
	slices.Reverse(c.memories)
	slices.Reverse(c.turns)
	got := rowsOf(features.New(wordvector.Shipped(), c.memories, c.turns), q)
	for id, row := range want {
		for name, v := range row {
			if d := got[id][name] - v; d > 1e-4 || d < -1e-4 {
				t.Errorf("%s of %s: %v and %v", name, id, v, got[id][name])
			}
		}
	}
}

func TestBytesAreNearToWhatIsTaken(t *testing.T) {
	table := wordvector.Shipped()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := chatter(3000)
	x := features.New(table, c.memories, c.turns)
	c = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	taken := float64(after.HeapAlloc) - float64(before.HeapAlloc)
	share := float64(x.Bytes()) / taken
	t.Logf("%d bytes estimated, %.0f taken: %.2f", x.Bytes(), taken, share)
	if share < 0.5 || share > 2 {
		t.Errorf("estimate is %.2f of what is taken", share)
	}
	runtime.KeepAlive(x)
}

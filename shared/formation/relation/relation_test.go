package relation_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

func user(text string) relation.Statement {
	return relation.Statement{Text: text, Role: memory.RoleUser, Speaker: "ana"}
}

func TestShippedTellsPlainChangesFromLookAlikes(t *testing.T) {
	m := relation.Shipped()
	for _, c := range []struct {
		stored, later string
		changes       bool
	}{
		{"I work as a nurse at the children's hospital", "I quit the hospital last month, I'm a florist now", true},
		{"I go swimming every Tuesday with Marta", "we stopped going swimming, the pool closed for good", true},
		{"I live in Porto with my sister", "my cousin moved to Lisbon, what should I bring her?", false},
		{"I have two cats", "do cats like pumpkin?", false},
		{"I drink my coffee black", "black coffee for me, as always", false},
	} {
		r := m.Judge(user(c.later), []relation.Statement{user(c.stored)})[0]
		sum := 0.0
		for _, p := range r {
			sum += p
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("probabilities of %q sum to %g", c.later, sum)
		}
		if certain := r.Change() >= m.Thresholds().Certain; certain != c.changes {
			t.Errorf("%q => %q: change %.3f, threshold %.3f, want a change: %t", c.stored, c.later, r.Change(),
				m.Thresholds().Certain, c.changes)
		}
	}
}

func TestJudgeTakesAnyText(t *testing.T) {
	m := relation.Shipped()
	texts := []string{"", " ", "?!", "\xff\xfe", "我住在柏林", "😀😀", strings.Repeat("word ", 5000), "a"}
	for _, a := range texts {
		for _, b := range texts {
			r := m.Judge(user(a), []relation.Statement{user(b)})[0]
			for _, p := range r {
				if !(p >= 0 && p <= 1) {
					t.Fatalf("%.20q, %.20q: %v", a, b, r)
				}
			}
			if again := m.Compare(m.Read(user(a)), []relation.Reading{m.Read(user(b))})[0]; again != r {
				t.Errorf("%.20q, %.20q: %v, then %v", a, b, r, again)
			}
		}
	}
}

func TestEncodeWritesWhatParseReads(t *testing.T) {
	first, err := relation.Shipped().Encode()
	if err != nil {
		t.Fatal(err)
	}
	m, err := relation.Parse(first, wordvector.Shipped())
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Encode()
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("read and written again, the model is another one: %v", err)
	}
}

func TestParseRefusesWhatIsNoModel(t *testing.T) {
	good, err := relation.Shipped().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "another file": []byte("GIF89a"), "cut": good[:len(good)/2], "too long": append(bytes.Clone(good), 0),
		"other features":  bytes.Replace(good, []byte(`"features":`), []byte(`"textures":`), 1),
		"a long list":     []byte("MRL1\xff\xff\xff\xff"),
		"no head":         append([]byte("MRL1\x02\x00\x00\x00[]"), good[:0]...),
		"keys out of row": swapped(good),
	} {
		if _, err := relation.Parse(data, wordvector.Shipped()); !errors.Is(err, relation.ErrModel) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// swapped has two words' keys changed places.
func swapped(good []byte) []byte {
	out := bytes.Clone(good)
	at := 4 + 4 + int(uint32(good[4])|uint32(good[5])<<8|uint32(good[6])<<16) + 4
	first := bytes.Clone(out[at : at+4])
	copy(out[at:], out[at+4:at+8])
	copy(out[at+4:], first)
	return out
}

func TestLabelsHaveNames(t *testing.T) {
	for l := range relation.Label(relation.Labels) {
		if got, err := relation.ParseLabel(l.String()); err != nil || got != l {
			t.Errorf("%s: got %v, %v", l, got, err)
		}
	}
	if _, err := relation.ParseLabel("contradicts"); err == nil {
		t.Error("a label of its own was taken")
	}
	if s := relation.Label(9).String(); s != "label 9" {
		t.Errorf("label 9 is %q", s)
	}
}

func FuzzParse(f *testing.F) {
	table, err := wordvector.Parse([]byte("MWV1\x01\x00\x00\x00\x02\x00\x00\x00cat\n12"))
	if err != nil {
		f.Fatal(err)
	}
	lexicon := relation.NewLexicon(table, []string{"a cat", "the cat"}, 1, 1)
	w := &relation.Weights{}
	n := lexicon.Dense()
	w.Dense = relation.Numbers{Mean: make([]float32, n), Scale: make([]float32, n),
		Weights: make([][relation.Outputs]float32, n)}
	w.Sparse[0] = relation.Block{Keys: []uint32{7}, Rarities: []uint8{1}, Weights: make([][relation.Outputs]int8, 1)}
	m, err := relation.New(lexicon, w, relation.Choice{Temperature: 1,
		Thresholds: relation.Thresholds{Certain: 0.9, Possible: 0.5}}, "none")
	if err != nil {
		f.Fatal(err)
	}
	good, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "my cat died", "I have a cat")
	f.Add([]byte("MRL1"), "", "")
	f.Fuzz(func(t *testing.T, data []byte, later, stored string) {
		m, err := relation.Parse(data, table)
		if err != nil {
			if !errors.Is(err, relation.ErrModel) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		r := m.Judge(relation.Statement{Text: later}, []relation.Statement{{Text: stored}})[0]
		if !(r.Change() >= 0 && r.Change() <= 1+1e-9) {
			t.Errorf("change %g", r.Change())
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	m := relation.Shipped()
	later := user("so the union elections came round and I let DeShawn have it, no more grievance binders in my trunk")
	stored := user("I'm the union steward for B shift, and I coach the under tens on Sundays")
	for b.Loop() {
		m.Judge(later, []relation.Statement{stored})
	}
}

func BenchmarkCompare(b *testing.B) {
	m := relation.Shipped()
	later := m.Read(user("so the union elections came round and I let DeShawn have it, no more grievance binders in my trunk"))
	stored := m.Read(user("I'm the union steward for B shift, and I coach the under tens on Sundays"))
	for b.Loop() {
		m.Compare(later, []relation.Reading{stored})
	}
}

func BenchmarkShipped(b *testing.B) {
	data, err := relation.Shipped().Encode()
	if err != nil {
		b.Fatal(err)
	}
	table := wordvector.Shipped()
	for b.Loop() {
		if _, err := relation.Parse(data, table); err != nil {
			b.Fatal(err)
		}
	}
}

func TestASessionJudgesLikeItsModel(t *testing.T) {
	m := relation.Shipped()
	session := m.Session()
	stored := []relation.Statement{user("I live in Porto"), user("I have two cats"), user("I work as a nurse")}
	for _, said := range []string{"I moved to Braga", "one of the cats died", "I moved to Braga",
		"what is the capital of Peru?"} {
		want, got := m.Judge(user(said), stored), session.Judge(user(said), stored)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q, %q: %v, want %v", said, stored[i].Text, got[i], want[i])
			}
		}
	}
}

package wordvector_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// direction is the sum of the contributions of a text's words.
func direction(t *testing.T, said string) []float32 {
	t.Helper()
	table, s := wordvector.Shipped(), wordvector.ShippedSentences()
	sum := make([]float32, s.Dimension())
	for w := range strings.FieldsSeq(strings.ToLower(said)) {
		if i, ok := table.Find(w); ok && !text.IsStopWord(w) {
			s.Add(sum, i, 1)
		}
	}
	return sum
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func TestTextsAboutLikeThingsAreNear(t *testing.T) {
	for _, c := range [][3]string{
		{"suggest a restaurant for dinner", "i never eat shellfish", "the printer is out of paper again"},
		{"plan a weekend in the mountains", "my knee hurts on long hikes", "we switched our bank accounts"},
		{"which laptop should i buy", "i write all my code on linux", "grandma bakes plum cake"},
	} {
		request := direction(t, c[0])
		if near, far := cosine(request, direction(t, c[1])), cosine(request, direction(t, c[2])); near <= far {
			t.Errorf("%q is as near to %q (%.2f) as to %q (%.2f)", c[0], c[2], far, c[1], near)
		}
	}
}

func TestParseSentencesRefuses(t *testing.T) {
	one := func(length float32) string {
		return "MSV1\x01\x00\x00\x00\x01\x00\x00\x00" +
			string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(length))) + "a"
	}
	if _, err := wordvector.ParseSentences([]byte(one(1)), 1); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{
		"nothing": "", "another file": "GIF89a......", "the words of another table": "MSV1\x00\x00\x00\x00\x01\x00\x00\x00",
		"numbers missing": one(1)[:16], "too much": one(1) + "b", "no dimension": "MSV1\x01\x00\x00\x00\x00\x00\x00\x00abcd",
		"no length": one(float32(math.NaN())), "a length below 0": one(-1),
	} {
		if _, err := wordvector.ParseSentences([]byte(raw), 1); !errors.Is(err, wordvector.ErrFormat) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

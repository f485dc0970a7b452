package text_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestPiecesAreWordsOrTwoCharacters(t *testing.T) {
	for said, want := range map[string][]string{
		"":                  nil,
		"I live  in Porto.": {"I", " live", " in", " Porto."},
		"- 2 cups (250 g)":  {"-", " 2", " cups", " (250", " g)"},
		"私はポルトに住んでいます。": {"私は", "ポル", "トに", "住ん", "でい", "ます。"},
		"2023年にLisbonへ": {"2023", "年に", "Lisbon", "へ"},
		"나는 포르투에 산다":    {"나는", " 포르투에", " 산다"},
	} {
		if got := text.Pieces(said); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

func TestJoinedPiecesReadAsTheText(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		said := rapid.String().Draw(r, "said")
		if got, want := strings.Join(text.Pieces(said), ""), strings.Join(strings.Fields(said), " "); got != want {
			r.Fatalf("got %q, want %q", got, want)
		}
	})
}

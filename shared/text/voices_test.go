package text_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestVoices(t *testing.T) {
	for said, want := range map[string][2]string{
		"I moved to Braga. My cat likes it.":                  {"I moved to Braga. My cat likes it.", ""},
		"> come to Delft\nI said yes":                         {"I said yes", "> come to Delft"},
		"Tom says that Ana moved to Oslo. I doubt it.":        {"Tom says that\n I doubt it.", "Ana moved to Oslo."},
		"Laut dem Brief wohnt Ana in Oslo.":                   {"Laut", "dem Brief wohnt Ana in Oslo."},
		"The user is vegan":                                   {"", "The user is vegan"},
		"Users like it, and I am one.":                        {"Users like it, and I am one.", ""},
		`I read "The Importance of Being Earnest" twice`:      {`I read "The Importance of Being Earnest" twice`, ""},
		`I read "ana has moved to Oslo for good" twice`:       {"I read   twice", `"ana has moved to Oslo for good"`},
		`"I dislike floral patterns on my clothes."`:          {`"I dislike floral patterns on my clothes."`, ""},
		"I wrote this:\n```go\nx := 1\n```\nIt works.":        {"I wrote this:\n\nIt works.", "```go\nx := 1\n```"},
		"Assistant: noted\nI live in Rome":                    {"I live in Rome", "Assistant: noted"},
		"Anna: I have a cat\nBen: oh no way":                  {"", "Anna: I have a cat\nBen: oh no way"},
		"Note: I am vegan and happy":                          {"Note: I am vegan and happy", ""},
		"Look!\nFrom: Tom\nSubject: you\n\nYou live in Oslo.": {"Look!", "From: Tom\nSubject: you\n\nYou live in Oslo."},
		"He told me 'I quit the bank, I am free'. Good.":      {"He told me Good.", "'I quit the bank, I am free' ."},
		"the kids' toys and my parents' old car":              {"the kids' toys and my parents' old car", ""},
		"She said she is off dairy. I am not.":                {"She said I am not.", "she is off dairy."},
		"translate to German: I moved to Lisbon":              {"translate to German:", "I moved to Lisbon"},
		"":                                                    {"", ""},
	} {
		own, others := text.Voices(said)
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		if squeeze(own) != squeeze(want[0]) || squeeze(others) != squeeze(want[1]) {
			t.Errorf("%q: got %q and %q, want %q and %q", said, own, others, want[0], want[1])
		}
	}
}

func FuzzVoices(f *testing.F) {
	f.Add("> a\n\"b c d e f\" ```x")
	f.Fuzz(func(t *testing.T, said string) {
		own, others := text.Voices(said)
		count := func(s string) int { return len(strings.Join(strings.Fields(s), "")) }
		if count(own)+count(others) != count(said) {
			t.Errorf("%q is parted into %q and %q: letters are lost or doubled", said, own, others)
		}
	})
}

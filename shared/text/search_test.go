package text_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/text"
)

func TestSearchTerms(t *testing.T) {
	for said, want := range map[string]string{
		"":                                     "",
		"What is it, and where are they?":      "",
		"Where does Ines live now?":            "ine live",
		"Ana's swimming; she SWIMS":            "ana swim swim",
		"Omar’s mother-in-law":                 "omar mother law",
		"on 2023-05-01 at 7:30":                "2023-05-01 2023 05 01 7:30",
		"$1,250.50 for 3 tickets":              "1,250.50 3 ticket",
		"São Tomé, Zoë's café":                 "sao tome zoe cafe",
		"She may go in May, if Will will":      "go may will",
		"Will she go to Porto?":                "go porto",
		"Will Ana sing? May I come?":           "ana sing come",
		"Will likes tea. May 2023 was cold":    "will like tea may 2023 cold",
		"Is it Will's? Will, come":             "will will come",
		"Does Don know what I don't?":          "don know",
		"Don plans it; DON'T, Don t":           "don plan",
		"Tell me: Will she go?":                "tell go",
		"Tell me, Will anybody go?":            "tell anybodi go",
		"Where Will She Go?":                   "go",
		"When And Where Will Ana Go To It":     "ana go",
		"When Will Ana go?":                    "ana go",
		"Will nobody go? Will no one go?":      "nobodi go one go",
		"Will dinner be late? Will 3 do?":      "dinner late 3",
		"Will was late. May they come?":        "will late come",
		"Ana, Will and Don: met when Will did": "ana will don met will",
		"Where does Can live? Can Ana go?":     "can live ana go",
		"Is An here? An hour. Or my Do":        "an hour do",
		"日本 🚲 \x00 \xff":                       "日本",
		"one\u00a0two\u2003three":              "one two three",
		strings.Repeat("the of and it ", 9):    "",
	} {
		if got := strings.Join(text.SearchTerms(said), " "); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

// FuzzSearchTerms checks that terms can be joined by blanks and split again. The terms of a text do not depend on
// other texts around it.
func FuzzSearchTerms(f *testing.F) {
	for _, seed := range []string{"Where does Ines live now?", "2023-05-01", "São-Tomé’s", "a\xffb-\x00", "May-be",
		"日本-東京", "'''-'s", "ﬁn½"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		terms := text.SearchTerms(said)
		if again := strings.Fields(strings.Join(terms, " ")); !slices.Equal(again, terms) {
			t.Fatalf("terms %q do not survive being joined: %q", terms, again)
		}
		for _, term := range terms {
			if utf8.ValidString(said) && !utf8.ValidString(term) {
				t.Fatalf("term %q is not valid UTF-8", term)
			}
		}
		if twice := text.SearchTerms(said + " . " + said); len(twice) != 2*len(terms) {
			t.Fatalf("twice the text has %d terms, want %d", len(twice), 2*len(terms))
		}
	})
}

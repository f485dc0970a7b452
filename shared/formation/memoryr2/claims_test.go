package memoryr2_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
)

func TestDropped(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		want     []string
	}{
		"nothing lost":                  {"Ana lives in Porto.", "Ana lives in Porto with Eva.", nil},
		"other words and order":         {"Ana plays the Cello.", "A cello is what Ana plays.", nil},
		"name lost":                     {"Ana lives in Porto.", "Ana lives in Braga.", []string{"porto"}},
		"value kept as the past":        {"Ana lives in Porto.", "Ana lives in Braga, before that in Porto.", nil},
		"possessive":                    {"Ana's dog Rex is old.", "Ana has an old dog, Rex.", nil},
		"hyphenated name in two words":  {"Ana saw Spider-Man.", "Ana saw Spider Man.", nil},
		"two words for hyphenated":      {"Ana saw Spider Man.", "Ana saw Spider-Man.", nil},
		"function word at the start":    {"The dog of Ana is old.", "Ana has an old dog.", nil},
		"abbreviation like a word":      {"Ana works in IT.", "Ana works.", []string{"it"}},
		"number lost":                   {"Ana has 3 cats.", "Ana has cats.", []string{"3"}},
		"number in words":               {"Ana has three cats.", "Ana has 3 cats.", nil},
		"number in digits":              {"Ana has 3 cats.", "Ana has three cats.", nil},
		"number in words lost":          {"Ana has three cats.", "Ana has cats.", []string{"3"}},
		"separators":                    {"Ana earns 3,000 euros.", "Ana earns 3000 euros.", nil},
		"trailing zeros":                {"It costs 2.50.", "It costs 2.5.", nil},
		"unit at the number":            {"Ana gets up at 5am.", "Ana gets up at 5 in the morning.", nil},
		"number is another":             {"Ana is 30.", "Ana is 31.", []string{"30"}},
		"each lost claim once":          {"Porto, Porto and 3, 3.", "", []string{"porto", "3"}},
		"date in another form":          {"Eva married on 3 May 2024.", "Eva married on 2024-05-03.", nil},
		"date lost":                     {"Eva married on 3 May 2024.", "Eva married.", []string{"2024-05-03"}},
		"date is another":               {"Eva married on 3 May 2024.", "Eva married on 4 May 2024.", []string{"2024-05-03"}},
		"month made exact":              {"Eva married in May 2024.", "Eva married on 3 May 2024.", nil},
		"day made vague":                {"Eva married on 3 May 2024.", "Eva married in May 2024.", []string{"2024-05-03"}},
		"date without a year":           {"Eva's birthday is on May 3.", "Eva's birthday is in spring.", []string{"3"}},
		"relative time keeps its words": {"Ana runs every Monday.", "Ana runs.", []string{"monday"}},
		"all of an empty one":           {"", "Ana.", nil},
		"all lost":                      {"Ana met Ben in 2019.", "", []string{"2019", "ana", "ben"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := memoryr2.Dropped(tc.old, tc.new); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A text that is kept whole loses no claim, and no text loses more claims than it has.
func FuzzDropped(f *testing.F) {
	for _, s := range []string{"Ana lives in Porto.", "Eva married on 3 May 2024, two years ago.", "5am 3,000 2.50 0.0 00",
		"Spider-Man's IT ’s", "last Monday\xff", ""} {
		f.Add(s, "Ana met Ben in 2019.")
	}
	f.Fuzz(func(t *testing.T, old, other string) {
		if lost := memoryr2.Dropped(old, old); len(lost) > 0 {
			t.Errorf("%q loses %q to itself", old, lost)
		}
		if lost := memoryr2.Dropped(old, other+" \n "+old); len(lost) > 0 {
			t.Errorf("%q loses %q in a text that holds it", old, lost)
		}
		all := memoryr2.Dropped(old, "")
		for i, claim := range memoryr2.Dropped(old, other) {
			if claim == "" || !slices.Contains(all, claim) {
				t.Errorf("claim %d, %q, is not one of %q", i, claim, all)
			}
		}
	})
}

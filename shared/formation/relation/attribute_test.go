package relation_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/relation"
)

func TestSameAttributeIsAboutOneValueAtATime(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"I live in Ghent.", "I now live in Leuven.", true},
		{"I work as a plumber", "Hi! I work as a baker these days", true},
		{"My deposit is 900 euros.", "my deposit is now 950 euros", true},
		{"Our favourite park is the old one.", "Our favourite park is Elm Park.", true},
		{"I’m 41.", "I am 42.", true},
		{"I live in Ghent.", "I live in a small flat.", false},
		{"I live in Ghent.", "My brother and I met in Leuven.", false},
		{"My deposit is 900 euros.", "My rent is 900 euros.", false},
		{"My sister is a nurse.", "My sister is a mother.", false},
		{"I like green.", "I like blue.", false},
		{"I have three goats.", "I have four goats.", false},
	} {
		if got := relation.SameAttribute(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %t, want %t", c.a, c.b, got, c.want)
		}
	}
}

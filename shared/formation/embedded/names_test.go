package embedded_test

import (
	"strings"
	"testing"
)

// TestTheBeginningOfANameSwallowsNoWord has the same told by people of different names: what is kept must not depend on them.
func TestTheBeginningOfANameSwallowsNoWord(t *testing.T) {
	for _, c := range []struct{ plain, name, told string }{
		{"Pedro", "Carlos", "It is a lovely car."},
		{"Pedro", "Carlos", "I sold the car."},
		{"Pedro", "Arturo", "It was such an amazing art."},
		{"Pedro", "Catherine", "It is a wonderful cat."},
		{"Pedro", "Dogan", "I walk the dog."},
		{"Pedro", "Benjamin", "Thanks, Ben, I walk the dog."},
	} {
		want := contents(extract(t, session(c.plain+": "+strings.ReplaceAll(c.told, "Ben", "Pedro"), "Eva: Oh?")))
		got := contents(extract(t, session(c.name+": "+c.told, "Eva: Oh?")))
		if strings.ReplaceAll(got, c.name, c.plain) != want {
			t.Errorf("%s: %q: got %q, told by %s it is %q", c.name, c.told, got, c.plain, want)
		}
	}
}

package template_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/synthesis/template"
)

func known(name string) (string, bool) {
	v, ok := map[string]string{"pet": "owl", "city": "Bergen"}[name]
	return v, ok
}

func TestFillLeavesAlternativesAndWhatIsNotKnown(t *testing.T) {
	got := template.Fill("[I saw {a:pet}|{who} saw {a:dog}] in {city}", known)
	if want := "[I saw an owl|{who} saw {a:dog}] in Bergen"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChooseTakesOneOfEach(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 200 {
		seen[template.Choose(r, "[a|[b|c]] {d}")] = true
	}
	if len(seen) != 3 || !seen["a {d}"] || !seen["b {d}"] || !seen["c {d}"] {
		t.Errorf("chosen were %v", seen)
	}
}

func TestExpandResolvesWhatIsTaken(t *testing.T) {
	p, err := template.Parse("[{pet}|{city}]")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	got := p.Expand(rand.New(rand.NewPCG(1, 2)), func(name string) string {
		asked = append(asked, name)
		v, _ := known(name)
		return v
	})
	var all []string
	p.Refs(func(name string) { all = append(all, name) })
	if want, _ := known(asked[0]); len(asked) != 1 || got != want || !slices.Equal(all, []string{"pet", "city"}) {
		t.Errorf("%q, asked for %q of %q", got, asked, all)
	}
}

func TestSentencesAreNeat(t *testing.T) {
	if got := template.Capitalise(template.Tidy(
		"hi  there !  well , yes . 3 owls. ok")); got != "Hi there! Well, yes. 3 owls. Ok" {
		t.Errorf("%q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "plain", "{a}", "{a:b}", "[a|{b}|]", "[[a|b]|c]", "{", "[", "]", "|", "[a", "{}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := template.Parse(s)
		if err != nil {
			return
		}
		nothing := func(string) (string, bool) { return "", false }
		if again := template.Fill(s, nothing); again != s && !strings.ContainsAny(s, "|]") {
			t.Errorf("%q becomes %q where nothing is filled in", s, again)
		}
		if again, err := template.Parse(template.Fill(s, nothing)); err != nil ||
			again.Source != template.Fill(again.Source, nothing) {
			t.Errorf("%q (%q) parses to %q, error %v", s, p.Source, again.Source, err)
		}
	})
}

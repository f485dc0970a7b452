package baseline_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/baseline"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// said numbers texts from 1.
func said(texts ...string) []score.Shown {
	var out []score.Shown
	for i, text := range texts {
		out = append(out, score.Shown{Sources: []string{string(rune('1' + i))}, Text: text})
	}
	return out
}

func found(s *baseline.Search, query string) string {
	var ids []string
	for _, one := range s.Find(query) {
		ids = append(ids, one.Sources...)
	}
	return strings.Join(ids, " ")
}

func TestWords(t *testing.T) {
	turns := said("Iris: I bought a tandem, a green one",
		"Iris: We were cycling all day long on the tandem that I told you about",
		"Bo: Look two tandems", "Bo: Good night")
	stemmed, plain := baseline.Words(turns, text.SearchTerms), baseline.Words(turns, baseline.PlainTerms)
	for name, c := range map[string]struct{ got, want string }{
		"rare and short first":          {found(stemmed, "Whose tandem?"), "3 1 2"},
		"by stem":                       {found(stemmed, "Who cycled?"), "2"},
		"by speaker":                    {found(stemmed, "What did Bo show, a tandem?"), "3 4 1 2"},
		"stop words find nothing":       {found(stemmed, "What did we do?"), ""},
		"plain has no stems":            {found(plain, "cycled"), ""},
		"plain takes stop words":        {found(plain, "all"), "2"},
		"a word asked twice counts one": {found(stemmed, "tandem tandem night"), found(stemmed, "night tandem")},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
	if got := baseline.Words(nil, baseline.PlainTerms).Find("x"); len(got) != 0 {
		t.Errorf("found %v among nothing", got)
	}
}

func TestSoftMatchFindsWhatIsMeantInOtherWords(t *testing.T) {
	turns := said("We paid the mortgage.", "My violin needs new strings.", "It is what it is.")
	soft := baseline.SoftMatch(turns, wordvector.Shipped())
	if got := found(soft, "Which musical instrument is it?"); !strings.HasPrefix(got, "2") || strings.Contains(got, "3") {
		t.Errorf("found %q, want the violin first, and not what has stop words alone", got)
	}
	if got := found(soft, "What is it?"); got != "" {
		t.Errorf("stop words find %q", got)
	}
}

func TestPreferencesPutsWhatIsPreferredFirst(t *testing.T) {
	turns := said("The train to Oslo left at nine.", "I never take the train, I prefer the bus.", "We slept.")
	words := baseline.Words(turns, text.SearchTerms)
	if got := found(words, "a train"); got != "1 2" {
		t.Fatalf("by words %q, want the shorter first", got)
	}
	if got := found(baseline.Preferences(turns, text.SearchTerms, wordvector.Shipped()), "a train"); got != "2 1 3" {
		t.Errorf("found %q, want what tells a preference first, and all", got)
	}
}

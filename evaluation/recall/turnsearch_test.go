package recall_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/recall"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

func found(s *recall.TurnSearch, query string) string {
	var ids []string
	for _, one := range s.Find(query) {
		ids = append(ids, one.Sources...)
	}
	return strings.Join(ids, " ")
}

func TestTurnSearch(t *testing.T) {
	turns := []memory.Turn{
		{ID: "1", Speaker: "Iris", Text: "I bought a tandem, a green one"},
		{ID: "2", Speaker: "Iris", Text: "We were cycling all day long on the tandem that I told you about"},
		{ID: "3", Speaker: "Bo", Text: "Look", Caption: "two tandems"}, {ID: "4", Speaker: "Bo", Text: "Good night"},
	}
	whole := func(t memory.Turn) string { return t.Speaker + " " + t.Text + " " + t.Caption }
	plain := func(t memory.Turn) string { return t.Text }
	stemmed, bare := recall.NewTurnSearch(turns, whole, text.SearchTerms), recall.NewTurnSearch(turns, plain, recall.PlainTerms)
	for name, c := range map[string]struct{ got, want string }{
		"rare and short first":          {found(stemmed, "Whose tandem?"), "3 1 2"},
		"by stem":                       {found(stemmed, "Who cycled?"), "2"},
		"by speaker and caption":        {found(stemmed, "What did Bo show, a tandem?"), "3 4 1 2"},
		"stop words find nothing":       {found(stemmed, "What did we do?"), ""},
		"plain has no stems":            {found(bare, "cycled"), ""},
		"plain has no captions":         {found(bare, "tandems"), ""},
		"plain takes stop words":        {found(bare, "all"), "2"},
		"a word asked twice counts one": {found(stemmed, "tandem tandem night"), found(stemmed, "night tandem")},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
	if got := recall.NewTurnSearch(nil, plain, recall.PlainTerms).Find("x"); len(got) != 0 {
		t.Errorf("found %v among no turns", got)
	}
}

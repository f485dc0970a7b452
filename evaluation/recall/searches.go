package recall

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/evaluation/baseline"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// Names of the baselines that search the turns, and of baselines over a file's observations. In conversations with an
// assistant, the last two search only the user's turns.
const (
	BaselineStemmed      = "bm25 over turns, stemmed"
	BaselinePlain        = "bm25 over turns, plain"
	BaselineUser         = "bm25 over user turns, stemmed"
	BaselineObservations = "bm25 over the file's observations, stemmed"
	BaselineSoft         = "soft match of word vectors"
	BaselinePreferences  = "bm25 + soft match + preference words"
	overTurns            = " over turns"
	overUserTurns        = " over user turns"
)

// searches returns the baselines of one user, by name. assisted says that an assistant takes part in the file's
// conversations.
func searches(
	turns []memory.Turn, assisted bool, observed map[string][]dataset.Observation,
) map[string]*baseline.Search {
	out := map[string]*baseline.Search{
		BaselineStemmed: baseline.Words(documents(turns, spoken), text.SearchTerms),
		BaselinePlain:   baseline.Words(documents(turns, textOf), baseline.PlainTerms),
	}
	over := overTurns
	if assisted {
		over = overUserTurns
		turns = slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return t.Role == memory.RoleAssistant })
		out[BaselineUser] = baseline.Words(documents(turns, spoken), text.SearchTerms)
	}
	all := documents(turns, spoken)
	out[BaselineSoft+over] = baseline.SoftMatch(all, wordvector.Shipped())
	out[BaselinePreferences+over] = baseline.Preferences(all, text.SearchTerms, wordvector.Shipped())
	if observed != nil {
		var sentences []score.Shown
		for _, session := range observed {
			for _, o := range session {
				sentences = append(sentences, score.Shown{Sources: o.Turns, Text: o.Text})
			}
		}
		slices.SortFunc(sentences, func(a, b score.Shown) int { return strings.Compare(a.Text, b.Text) })
		out[BaselineObservations] = baseline.Words(sentences, text.SearchTerms)
	}
	return out
}

// documents makes documents of turns. text returns the text to compare and to show.
func documents(turns []memory.Turn, text func(memory.Turn) string) []score.Shown {
	out := make([]score.Shown, len(turns))
	for i, t := range turns {
		out[i] = score.Shown{Sources: []string{t.ID}, Text: text(t)}
	}
	return out
}

// spoken returns a readable turn: the speaker, the text, and the image caption.
func spoken(t memory.Turn) string {
	return strings.TrimSpace(t.Speaker + ": " + textOf(t) + " " + t.Caption)
}

// textOf returns a turn's text only.
func textOf(t memory.Turn) string { return t.Text }

// history returns all turns, newest first.
func history(turns []memory.Turn) []score.Shown {
	sorted := slices.Clone(turns)
	slices.SortStableFunc(sorted, func(a, b memory.Turn) int { return a.Time.Compare(b.Time) })
	slices.Reverse(sorted)
	return documents(sorted, spoken)
}

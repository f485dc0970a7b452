package corpus_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/lab/corpus"
)

func TestSmallTalkIsWhatNoQuestionRestsOn(t *testing.T) {
	c := corpus.Chat{
		Speakers: []string{"Ana", "Bo"},
		Sessions: []corpus.ChatSession{{Turns: []corpus.ChatTurn{
			{Text: "Good morning to you! Yes. How is the weather in Porto today?"},
			{Speaker: 1, Text: "I have sold my old car."},
		}}},
		Questions: []corpus.ChatQuestion{{Evidence: []string{"1:2"}}},
	}
	if got, want := c.SmallTalk(), []string{"Good morning to you!",
		"How is the weather in Porto today?"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChatsHaveQuestionsOfEveryKind(t *testing.T) {
	for split, least := range map[corpus.Split]int{corpus.Train: 1500, corpus.Heldout: 500} {
		chats, err := corpus.Chats(split)
		if err != nil {
			t.Fatal(err)
		}
		kinds, all := map[string]int{}, 0
		for _, c := range chats {
			s := c.Subject()
			ids := s.TurnIDs()
			for _, q := range s.Questions {
				for _, e := range q.Evidence {
					if !ids[e] {
						t.Errorf("%s: %q rests on %s, which is no turn", c.ID, q.Text, e)
					}
				}
				kinds[q.Category]++
				all++
			}
		}
		if all < least {
			t.Errorf("%s has %d questions, want %d or more", split, all, least)
		}
		for _, kind := range []string{"single", "multi", "when", "open"} {
			if share := float64(kinds[kind]) / float64(all); share < 0.1 || share > 0.45 {
				t.Errorf("%s: %.1f %% of the questions are of kind %s", split, 100*share, kind)
			}
		}
	}
}

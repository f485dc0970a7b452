package corpus_test

import (
	"testing"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/text"
)

func TestConversationsInOtherLanguagesCanBeMeasuredOn(t *testing.T) {
	all, err := corpus.Languages()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		answerable, unanswerable, crossing := 0, 0, 0
		for _, q := range l.Subject.Questions {
			switch {
			case q.Unanswerable:
				unanswerable++
			case !q.HasEvidence():
				t.Errorf("%s: %q names no turn", l.Language, q.Text)
			case q.Category == "open-domain":
				crossing++
			default:
				answerable++
			}
		}
		turns := len(l.Subject.TurnIDs())
		if len(l.Subject.Sessions) < 8 || turns < 128 || answerable < 20 || unanswerable < 4 || crossing < 2 {
			t.Errorf("%s: %d sessions of %d turns, %d questions, %d in another language, %d without an answer: want more",
				l.Language,
				len(l.Subject.Sessions), turns, answerable, crossing, unanswerable)
		}
	}
}

func TestTurnsAreInTheLanguageOfTheirConversation(t *testing.T) {
	english, other := 0, 0
	for _, d := range dialogues(t) {
		var whole text.Tally
		for _, turn := range d.Turns {
			whole.Add(text.TallyWords(text.Words(turn.Text)))
		}
		if whole.Language(text.English) != text.English {
			continue
		}
		for i, turn := range d.Turns {
			english++
			if got := text.Detect(turn.Text, text.English); got != text.English {
				other++
				t.Logf("%s:%d is taken for %s: %q", d.ID, i, got, turn.Text)
			}
		}
	}
	if english < 1000 || other > english/100 { // some quote other languages, or code
		t.Errorf("%d of %d turns of English conversations are taken for another language", other, english)
	}
	all, err := corpus.Languages()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		usual, n := tally(l.Subject.Sessions).Language(text.English), 0
		for _, s := range l.Subject.Sessions {
			for _, turn := range s.Turns {
				if text.Detect(turn.Text, usual).String() == l.Language {
					n++
				}
			}
		}
		if turns := len(l.Subject.TurnIDs()); n < turns*97/100 {
			t.Errorf("%s: the language of %d of %d turns is told, want nearly all", l.Language, n, turns)
		}
	}
}

func tally(sessions []dataset.Session) (whole text.Tally) {
	for _, s := range sessions {
		for _, turn := range s.Turns {
			whole.Add(text.TallyWords(text.Words(turn.Text)))
		}
	}
	return whole
}

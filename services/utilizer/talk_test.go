package utilizer_test

import (
	"strings"
	"testing"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/memory"
)

// A follow-up query finds memories by the messages before it, with an index and with a bank search.
func TestAFollowUpCallsUpWhatTheTalkIsAbout(t *testing.T) {
	for name, memories := range map[string]int{"index": roomy.Entries, "search": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRecaller(t)
			o := roomy
			o.Entries = memories
			r.Indexes = newIndexCache(t, r.Bank, o)
			r.Ranker = unavailableRanker{}
			q := where
			q.Query, q.Memories = "Any other ideas?", 1
			q.Messages = []memory.Message{
				{Role: memory.RoleUser, Content: "A snack with peanuts?"},
				{Role: memory.RoleAssistant, Content: "A candy bar?"},
			}
			got, err := r.Recall(t.Context(), acme, q)
			if err != nil || got.Searched != (name == "search") {
				t.Fatalf("searched is %t, %v", got.Searched, err)
			}
			if c := contents(got.Evidence.Memories); len(c) != 1 || !strings.Contains(c[0], "peanuts") {
				t.Errorf("%v is called up", c)
			}
			if got.Evidence.Query.Text != q.Query || len(got.Evidence.Query.Messages) != 2 {
				t.Errorf("the policies see %q and %v", got.Evidence.Query.Text, got.Evidence.Query.Messages)
			}
		})
	}
}

// A recent turn is shown although it has no memory yet. It is shown only once if it is also in the request.
func TestWhatWasJustSaidIsShownOnce(t *testing.T) {
	r := newRecaller(t)
	q := where
	q.Query = "What should I not forget?"
	recent := func(messages ...memory.Message) string {
		q.Messages = messages
		got, err := r.Recall(t.Context(), acme, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got.Profile.Sections {
			if s.Name == "recent" {
				return strings.Join(s.Lines, " ")
			}
		}
		return ""
	}
	other := memory.Message{Role: memory.RoleUser, Content: "I have an umbrella."}
	if lines := recent(other); !strings.Contains(lines, "packing for Braga") || strings.Contains(lines, "umbrella") {
		t.Errorf("shows %q", lines)
	}
	if lines := recent(other, memory.Message{Role: memory.RoleUser, Content: " I am packing\nfor Braga. "}); lines != "" {
		t.Errorf("shows %q once more", lines)
	}
	if turns, err := r.Window.Recent(t.Context(), ana, now); err != nil || len(turns) != 1 {
		t.Errorf("working memory has %v, %v", turns, err)
	}
}

// The messages are not stored: not in the log, not in the bank or the window, and not in feedback.
func TestMessagesAreNotKept(t *testing.T) {
	r := newFixture(t)
	req := &mnemev1.RecallRequest{UserId: "ana", Query: "and for her?",
		Messages: talkOf("user", "Where does my sister Zuleika live?")}
	answer, err := r.as(acmeKey).Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: req}))
	if err != nil {
		t.Fatal(err)
	}
	kept := answer.Msg.String() + r.log.String()
	for _, m := range r.out.msgs {
		kept += string(m.Value)
	}
	list, err := r.as(acmeKey).ListMemories(t.Context(), ask(&mnemev1.ListMemoriesRequest{UserId: "ana"}))
	if err != nil {
		t.Fatal(err)
	}
	if kept += list.Msg.String(); strings.Contains(kept, "Zuleika") || len(r.out.msgs) == 0 {
		t.Errorf("a message is kept in %s", kept)
	}
}

package requests_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/requests"
	"github.com/mneme-memory/mneme/local/cli/sample"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
)

// A newcomer's first questions find their memories and get answers, about a user by name and by the user.
func TestTheSampleAnswersItsQuestions(t *testing.T) {
	sessions, err := sample.Sessions()
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]map[string]string{
		"ines": {
			"Where does Ines live now?": "Lisbon", "Where do I live?": "Lisbon", "What is Ines allergic to?": "peanuts",
			"What is my dog's name?": "Bolota", "Which coffee do I like best?": "espresso",
			"When did Ines hike at Sete Cidades?": "24 May",
			"What does Ines do for work?":         "head nurse", "Where did Ines live before?": "Porto",
		},
		"jonas": {"What car does Jonas drive?": "Kia", "What does Jonas do on Sunday mornings?": "Sunday"},
	}
	var users []dataset.Subject
	for user, questions := range asked {
		s := dataset.Subject{Scope: memory.Scope{Tenant: "acme", User: user}}
		for _, session := range sessions {
			if session.User == user {
				s.Sessions = append(s.Sessions, session)
			}
		}
		for query := range questions { // questions about the number of evidence turns
			last := s.Sessions[len(s.Sessions)-1]
			q := dataset.Question{Text: query, Evidence: []string{last.Turns[0].ID}, AskedAt: last.End().Add(time.Hour)}
			s.Questions = append(s.Questions, q)
		}
		users = append(users, s)
	}
	got, err := requests.Profiles(t.Context(), users, requests.DefaultLimits())
	if err != nil || len(got) != 10 {
		t.Fatalf("%d profiles, %v", len(got), err)
	}
	generator := embedded.NewGenerator()
	for _, a := range got {
		answer, err := generator.Answer(t.Context(), memory.Scope{Tenant: "acme", User: a.User}, a.Result.Evidence,
			a.Result.Profile)
		if want := asked[a.User][a.Question.Text]; err != nil || !strings.Contains(answer.Text, want) {
			t.Errorf("%s: %q, %v, want %s", a.Question.Text, answer.Text, err, want)
		}
	}
}

package training

import (
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/rehearsal"
	"github.com/mneme-memory/mneme/shared/memory"
)

// talksAUser is the number of noted talks that make up the sessions of one user.
const talksAUser = 10

// askers returns users with noted talks of one writer each, and the questions about the talks. Several people stand
// behind the talks of one user, under one name.
func askers() ([]dataset.Subject, error) {
	talks, err := corpus.AskedTalks()
	if err != nil {
		return nil, err
	}
	var out []dataset.Subject
	for from := 0; from < len(talks); {
		to := from
		for to < len(talks) && to-from < talksAUser && talks[to].Batch == talks[from].Batch {
			to++
		}
		out = append(out, asker(fmt.Sprintf("%s-%d", talks[from].Batch, from), talks[from:to]))
		from = to
	}
	return out, nil
}

// asker is one user with talks nine days apart.
func asker(user string, talks []corpus.AskedTalk) dataset.Subject {
	const apart = 9 // days
	start := time.Date(2025, 1, 6, 18, 0, 0, 0, time.UTC)
	s := dataset.Subject{Scope: memory.Scope{Tenant: "training", User: user}}
	for i, talk := range talks {
		one := dataset.Session{User: user, ID: fmt.Sprintf("%s:%d", user, i)}
		idOf := func(turn string) string { return fmt.Sprintf("%d:%s", i, turn) }
		day, date := 0, ""
		for k, u := range talk.Turns {
			if u.Date != "" && u.Date != date {
				if date != "" {
					day++
				}
				date = u.Date
			}
			t := memory.Turn{
				ID: idOf(u.ID), SessionID: one.ID, Role: memory.RoleUser, Speaker: u.Who, Text: u.Text,
				Time: start.AddDate(0, 0, apart*i+day).Add(time.Duration(k) * time.Minute),
			}
			switch u.Who {
			case "user", talk.User:
				t.Speaker = talks[0].User
			case "assistant":
				t.Role, t.Speaker = memory.RoleAssistant, ""
			}
			one.Turns = append(one.Turns, t)
		}
		s.Sessions = append(s.Sessions, one)
		for _, asked := range talk.Questions {
			q := dataset.Question{Text: asked.Question, Category: asked.Kind, AskedAt: start.AddDate(0, 0, apart*len(talks)+40)}
			for _, id := range asked.Evidence {
				q.Evidence = append(q.Evidence, idOf(id))
			}
			s.Questions = append(s.Questions, q)
		}
	}
	return s
}

// groupings are sessions of other lengths for the same talks: each talk is a session, four talks, eight turns, or all.
// Otherwise the ranker learns that one talk about one subject is one session.
func groupings() []rehearsal.Grouping {
	return []rehearsal.Grouping{
		nil,
		func(session, _ int) string { return fmt.Sprint(session / 4) },
		func(session, turn int) string { return fmt.Sprintf("%d/%d", session, turn/8) },
		func(int, int) string { return "one" },
	}
}

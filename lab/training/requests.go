package training

import (
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/shared/memory"
)

// dialoguesAUser is the number of dialogues with an assistant that make up the sessions of one user.
const dialoguesAUser = 28

// assisted returns the dialogues of a split with an assistant.
func assisted(split corpus.Split) ([]corpus.Dialogue, error) {
	all, err := corpus.Dialogues()
	if err != nil {
		return nil, err
	}
	further, err := corpus.Preferences()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Concat(all, further), func(d corpus.Dialogue) bool {
		return d.Split() != split || d.Turns[0].Speaker != ""
	}), nil
}

// requesters returns users of an assistant: joined dialogues of a split, with later requests and the turns that a
// good answer needs. Several people stand behind the dialogues of one user, under one name. No request asks about the
// person.
func requesters(split corpus.Split) ([]dataset.Subject, error) {
	return Requesters(split, dialoguesAUser)
}

// Requesters returns users with so many dialogues of a split, and their later requests.
func Requesters(split corpus.Split, dialogues int) ([]dataset.Subject, error) {
	all, err := assisted(split)
	if err != nil {
		return nil, err
	}
	byBatch := map[string][]corpus.Dialogue{}
	var batches []string
	for _, d := range all {
		if byBatch[d.Batch] == nil {
			batches = append(batches, d.Batch)
		}
		byBatch[d.Batch] = append(byBatch[d.Batch], d)
	}
	var mixed []corpus.Dialogue // one of each batch in turn, so that a user has all kinds
	for i := 0; len(mixed) < len(all); i++ {
		before := len(mixed)
		for _, b := range batches {
			if i < len(byBatch[b]) {
				mixed = append(mixed, byBatch[b][i])
			}
		}
		if len(mixed) == before {
			break
		}
	}
	var out []dataset.Subject
	for from := 0; from < len(mixed); from += dialogues {
		scope := memory.Scope{Tenant: "training", User: fmt.Sprintf("%s-%d", split, len(out))}
		out = append(out, requester(scope, mixed[from:min(len(mixed), from+dialogues)]))
	}
	return out, nil
}

// requester is one user with dialogues nine days apart.
func requester(scope memory.Scope, dialogues []corpus.Dialogue) dataset.Subject {
	const apart = 9 // days
	start := time.Date(2025, 1, 6, 18, 0, 0, 0, time.UTC)
	asked := start.AddDate(0, 0, apart*len(dialogues)+3)
	s := dataset.Subject{Scope: scope}
	for i, d := range dialogues {
		session := dataset.Session{ID: d.ID}
		labelled := d.Labelled()
		for k, l := range labelled {
			t := l.Turn
			if t.Role != memory.RoleAssistant {
				t.Speaker = dialogues[0].Person
			}
			t.Time = start.AddDate(0, 0, apart*i).Add(time.Duration(k) * time.Minute)
			session.Turns = append(session.Turns, t)
		}
		s.Sessions = append(s.Sessions, session)
		for _, r := range d.Requests {
			q := dataset.Question{Text: r.Text, AskedAt: asked}
			for _, n := range r.Needs {
				q.Evidence = append(q.Evidence, labelled[n].Turn.ID)
			}
			s.Questions = append(s.Questions, q)
		}
	}
	return s
}

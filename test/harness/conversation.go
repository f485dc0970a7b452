package harness

import (
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Life holds the facts about the user in Conversation.
type Life struct {
	Name, City, NextCity, Job, Pet, Drink, NextDrink string
}

// Lives gives different users different lives. The same number always gives the same life.
func Lives(n int) Life {
	pick := func(step int, of ...string) string { return of[(n+step)%len(of)] }
	return Life{
		Name:     pick(0, "Mirela", "Tomas", "Ayla", "Henrik", "Noor"),
		City:     pick(0, "Ghent", "Turku", "Split", "Graz", "Cork"),
		NextCity: pick(1, "Bergen", "Utrecht", "Lyon", "Gdansk", "Leeds"),
		Job:      pick(0, "carpenter", "botanist", "tailor", "pilot", "librarian"),
		Pet:      pick(0, "Biscuit", "Maple", "Comet", "Pepper", "Olive"),
		Drink: pick(
			0,
			"green tea",
			"black coffee",
			"apple juice",
			"ginger ale",
		), NextDrink: pick(1, "mint tea", "oat milk", "lemonade", "cocoa"),
	}
}

// Conversation returns three sessions of a user over three months. They have facts, likes, an event, small talk, and
// in the last session an update. Session and turn ids begin with "s1", "s2" and "s3".
func Conversation(user string, l Life) []dataset.Session {
	at := time.Date(2025, time.March, 3, 18, 0, 0, 0, time.UTC)
	return []dataset.Session{
		Talk(user, "s1", l.Name, at, "Hi there!", "I live in "+l.City+".", "I work as a "+l.Job+".", "Haha, okay."),
		Talk(user, "s2", l.Name, at.AddDate(0, 1, 2), "Good morning!", "My dog's name is "+l.Pet+".",
			"My favourite drink is "+l.Drink+".", "Yesterday I ran into my neighbour Oskar at the market.", "Thanks, bye!"),
		Talk(user, "s3", l.Name, at.AddDate(0, 2, 5), "Hello again.", "I moved to "+l.NextCity+" last week.",
			"My favourite drink is "+l.NextDrink+" now."),
	}
}

// Talk returns a session with the given texts of one speaker, a minute apart, without an assistant's turns.
func Talk(user, id, speaker string, at time.Time, said ...string) dataset.Session {
	s := dataset.Session{User: user, ID: id}
	for i, text := range said {
		s.Turns = append(s.Turns, memory.Turn{
			ID: fmt.Sprintf(
				"%s:%d",
				id,
				i+1,
			), Speaker: speaker, Role: memory.RoleUser, Text: text, Time: at.Add(time.Duration(i) * time.Minute),
		})
	}
	return s
}

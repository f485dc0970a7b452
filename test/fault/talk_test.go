package fault_test

import (
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/test/harness"
)

// speakers are the users of every case; their conversations differ in all names.
var speakers = []struct{ user, name string }{
	{"u1", "Ilse"}, {"u2", "Marek"}, {"u3", "Sanna"}, {"u4", "Teodor"},
}

// rounds is the number of each user's sessions.
const rounds = 6

// talks returns the sessions of all users, round by round: facts, a like, small talk, updates of the same facts,
// denials, and a question. The order within a user decides the final contents of the bank.
func talks() []dataset.Session {
	cities := []string{"Ghent", "Turku", "Split", "Graz", "Cork", "Bergen", "Utrecht"}
	jobs := []string{"carpenter", "botanist", "tailor", "pilot", "librarian", "nurse"}
	drinks := []string{"green tea", "black coffee", "apple juice", "ginger ale", "cocoa", "lemonade"}
	pets := []string{"Biscuit", "Maple", "Comet", "Pepper", "Olive"}
	said := func(round, n int) []string {
		switch round {
		case 0:
			return []string{"Hi there!", "I live in " + cities[n] + ".", "I work as a " + jobs[n] + ".", "Haha, okay."}
		case 1:
			return []string{"Good morning!", "My favourite drink is " + drinks[n] + ".", "I have a dog called " + pets[n] + "."}
		case 2:
			return []string{"I moved to " + cities[n+1] + " last week.", "How was your day?"}
		case 3:
			return []string{"Yesterday I ran into my neighbour Oskar at the market.",
				"My favourite drink is " + drinks[n+1] + " now."}
		case 4:
			return []string{"I don't live in " + cities[n+1] + " anymore.", "Thanks!"}
		default:
			return []string{"I live in " + cities[n+2] + " now.", "I started working as a " + jobs[n+1] + " on Monday.", "Bye!"}
		}
	}
	start := time.Date(2025, time.March, 3, 18, 0, 0, 0, time.UTC)
	var out []dataset.Session
	for round := range rounds {
		for n, s := range speakers {
			at := start.AddDate(0, 0, 9*round)
			out = append(out, harness.Talk(s.user, fmt.Sprintf("s%d", round+1), s.name, at, said(round, n)...))
		}
	}
	return out
}

// upTo is the number of sessions in the first rounds of all users.
func upTo(n int) int { return n * len(speakers) }

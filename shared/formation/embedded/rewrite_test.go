package embedded_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
)

func TestExtractRewritesToTheThirdPerson(t *testing.T) {
	for _, c := range []struct{ said, want string }{
		{"I like green tea.", "Ana likes green tea."},
		{"I don't like coffee.", "Ana does not like coffee."},
		{"I'm a nurse.", "Ana is a nurse."},
		{"I’m allergic to peanuts.", "Ana is allergic to peanuts."},
		{"I've lived in Oslo for years.", "Ana has lived in Oslo for years."},
		{"I'll bake a cake.", "Ana will bake a cake."},
		{"I'd like a kitten.", "Ana would like a kitten."},
		{"I'd been to Peru before.", "Ana had been to Peru before."},
		{"I am a painter.", "Ana is a painter."},
		{"I was a dancer.", "Ana was a dancer."},
		{"I have two cats.", "Ana has two cats."},
		{"I haven't seen Rome.", "Ana has not seen Rome."},
		{"I do yoga.", "Ana does yoga."},
		{"I go to the gym.", "Ana goes to the gym."},
		{"I can't eat gluten.", "Ana can't eat gluten."},
		{"I study physics.", "Ana studies physics."},
		{"I play chess.", "Ana plays chess."},
		{"I teach maths.", "Ana teaches maths."},
		{"I fix old radios.", "Ana fixes old radios."},
		{"I bought a red bicycle.", "Ana bought a red bicycle."},
		{"I need a new laptop.", "Ana needs a new laptop."},
		{"I planted tulips.", "Ana planted tulips."},
		{"I really love opera.", "Ana really loves opera."},
		{"I usually drink espresso.", "Ana usually drinks espresso."},
		{"I never eat meat.", "Ana never eats meat."},
		{"I no longer play tennis.", "Ana no longer plays tennis."},
		{"I run and swim.", "Ana runs and swims."},
		{"I work at Siemens and love hiking.", "Ana works at Siemens and loves hiking."},
		{"I think I need glasses.", "Ana thinks Ana needs glasses."},
		{"I want to learn Greek.", "Ana wants to learn Greek."},
		{"I retook the driving exam.", "Ana retook the driving exam."},
		{"My sister lives in Lyon.", "Ana's sister lives in Lyon."},
		{"The blue car is mine.", "The blue car is Ana's."},
		{"Tom gave me a guitar.", "Tom gave Ana a guitar."},
		{"I taught myself piano.", "Ana taught themself piano."},
		{"My wife and I went to Malta.", "Ana's wife and Ana went to Malta."},
		{"Max and I adopted a puppy and we call it Bo.", "Max and Ana adopted a puppy and they call it Bo."},
		{"We visited Prague.", "Ana and others visited Prague."},
		{"We visited Prague and we saw our cousins.", "Ana and others visited Prague and they saw their cousins."},
		{"Our kitchen has a green door.", "Ana's kitchen has a green door."},
		{"We're renting a cabin.", "Ana and others are renting a cabin."},
		{"You should try my paella.", "Ben should try Ana's paella."},
		{"I borrowed your ladder.", "Ana borrowed Ben's ladder."},
		{"I think you're a good cook.", "Ana thinks Ben is a good cook."},
		{"You and I will paint the fence.", "Ben and Ana will paint the fence."},
		{"Yeah, I sold the boat.", "Ana sold the boat."},
		{"Well, actually, I moved to Bern.", "Ana moved to Bern."},
		{"Hey Ben, I found a flat!", "Ana found a flat!"},
		{"Hi Ben! I found a flat!", "Ana found a flat!"},
		{"I broke my arm, Ben.", "Ana broke Ana's arm."},
		{"By the way, my brother is a pilot.", "Ana's brother is a pilot."},
		{"\"I finished the novel.\"", "Ana finished the novel."},
		{"Oh wow, I won the raffle!", "Ana won the raffle!"},
		{"Thanks! I got a new job.", "Ana got a new job."},
		{"Went to the opera with my aunt.", "Ana went to the opera with Ana's aunt."},
		{"Just bought a canoe!", "Ana just bought a canoe!"},
		{"Planning a trip to Kenya.", "Ana is planning a trip to Kenya."},
		{"Been painting the fence.", "Ana has been painting the fence."},
		{"Painting calms the mind.", "Ana said: Painting calms the mind."},
		{"The kids loved the zoo.", "Ana said: The kids loved the zoo."},
		{"I went hiking. It was steep.", "Ana went hiking. It was steep."},
		{"I saw a film last week.", "Ana saw a film last week (week of 2023-05-15)."},
		{"We go camping next month.", "Ana and others go camping next month (2023-06)."},
		{"I paid $1,250.50 for it", "Ana paid $1,250.50 for it."},
		{"I ate 東京 ramen 🍜", "Ana ate 東京 ramen 🍜."},
		{"i love jazz", "Ana loves jazz."},
		{"im a baker", "Ana is a baker."},
	} {
		got := extract(t, session("Ana: "+c.said, "Ben: ok"))
		if contents(got) != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.said, contents(got), c.want)
		}
	}
}

func TestExtractUsesTheQuestionBefore(t *testing.T) {
	for _, c := range []struct{ asked, answered, want string }{
		{"What's your dog's name?", "Rex!", "Ana's dog's name is Rex!"},
		{"What is your favourite colour?", "Teal.", "Ana's favourite colour is Teal."},
		{"Where did you park?", "Near the harbour.", `Ana said, asked "Where did you park?": Near the harbour.`},
	} {
		in := session("Ben: "+c.asked, "Ana: "+c.answered)
		got := extract(t, in)
		last := got[len(got)-1]
		if last.Content != c.want || len(last.Sources) != 2 || last.Sources[0] != "t2" {
			t.Errorf("%q %q: got %+v, want %q from t2 and t1", c.asked, c.answered, last, c.want)
		}
	}
}

func TestExtractLeavesOutWhatTellsNothing(t *testing.T) {
	for _, said := range []string{"Hi!", "Thanks, Ben!", "Wow, that's great!", "How are you?", "What did you do?",
		"Yeah, totally.", "Bye!", "👍👍", "...", "ok ok"} {
		if got := extract(t, session("Ana: "+said, "Ben: ok")); len(got) != 0 {
			t.Errorf("%q: got %q, want nothing", said, contents(got))
		}
	}
}

func TestExtractSharesCaptions(t *testing.T) {
	in := session("Ana: ", "Ana: I adopted a cat.")
	in.Turns[0].Caption = "a photo of a bowl of soup"
	in.Turns[1].Caption = "a grey cat on a sofa"
	want := "Ana shared a photo: a bowl of soup. | Ana adopted a cat. Ana shared a photo: a grey cat on a sofa."
	if got := contents(extract(t, in)); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestExtractNamesRolesWithoutNames(t *testing.T) {
	in := session("user: I like rye bread.", "assistant: Your flight leaves from gate 12.")
	in.Turns[1].Role = memory.RoleAssistant
	want := "The user likes rye bread. | The assistant said: the user's flight leaves from gate 12."
	if got := contents(extract(t, in)); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

package query_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func user(said string) memory.Message { return memory.Message{Role: memory.RoleUser, Content: said} }

func assistant(said string) memory.Message {
	return memory.Message{Role: memory.RoleAssistant, Content: said}
}

// understand reads a query with the messages before it.
func understand(text string, messages []memory.Message) query.Query {
	return query.Understand(query.Input{Text: text, Messages: messages})
}

// isSelf reports whether the first part is the query with full weight.
func isSelf(q query.Query, text string) bool {
	return q.Parts[0].Text == text && q.Parts[0].Weight == 1
}

// weightOf is the weight of the first part that has the words, or 0.
func weightOf(r query.Query, words string) float32 {
	for _, p := range r.Parts {
		if strings.Contains(p.Text, words) {
			return p.Weight
		}
	}
	return 0
}

func TestAQueryThatSaysLittleLeansOnTheTalk(t *testing.T) {
	talk := []memory.Message{user("Where shall we go skiing?"), assistant("Perhaps to Zermatt?"),
		user("We prefer cheap guest houses.")}
	last := float32(2)
	for _, query := range []string{
		"others?", "other villages?", "other villages with a station?",
		"Which villages with a station have gyms and saunas open on Mondays?",
	} {
		w := weightOf(understand(query, talk), "guest houses")
		if w >= last {
			t.Errorf("%q leaves %v to the talk, want less than %v", query, w, last)
		}
		last = w
	}
	if last != 0 {
		t.Errorf("a full query leaves %v to the talk", last)
	}
	r := understand("any ideas?", talk)
	near, far, theirs := weightOf(r, "guest houses"), weightOf(r, "skiing"), weightOf(r, "Zermatt")
	if !(near > far && far > theirs && theirs > 0) {
		t.Errorf("the user's last message counts %v, the one before %v, the assistant's between them %v", near, far, theirs)
	}
	if !isSelf(r, "any ideas?") || !strings.HasPrefix(r.Resolved, "any ideas?") {
		t.Errorf("the query does not come first: %+v", r)
	}
}

func TestAPronounMeansWhomTheTalkNames(t *testing.T) {
	talk := []memory.Message{
		user("My sister comes on Friday with her friend Oluwaseun, I cook."), assistant("What about Zermatt cheese?"),
	}
	for query, want := range map[string]string{
		"and for her?": "sister friend Oluwaseun", "and for him?": "friend Oluwaseun",
		"will they like that?": "sister friend Oluwaseun",
		"is that cheap?":       "", "Does Bruno's violin fit into her car?": "",
	} {
		if got := understand(query, talk).People.Text; got != want {
			t.Errorf("%q means %q, want %q", query, got, want)
		}
	}
	if got := understand("and for her?", talk[1:]).People.Text; got != "Zermatt" {
		t.Errorf("where the user names nobody, it means %q", got)
	}
}

func TestAPlaceInAListMeansWhatStandsThere(t *testing.T) {
	for offer, want := range map[string]map[string]string{
		"I found these: 1. the Thai place 2) a pizzeria 3. sushi": {
			"what about the second one?": "a pizzeria", "and the last?": "sushi",
			"number three then": "sushi", "option 1": "the Thai place",
		},
		"Try:\n- the Thai place\n- a pizzeria": {"the first sounds good": "the Thai place",
			"and the third?": ""},
		"We could have a curry, a pizza, or sushi. What's better?": {"the latter": "sushi", "the 2nd": "a pizza"},
		"Good question.": {"the second one?": ""},
	} {
		for query, item := range want {
			r := understand(query, []memory.Message{user("Dinner?"), assistant(offer)})
			got := ""
			for _, p := range r.Parts[1:] {
				if p.Weight > 0.5 && p.Text != "Dinner?" {
					got = strings.TrimSpace(p.Text)
				}
			}
			if got != item {
				t.Errorf("%q after %q means %q, want %q", query, offer, got, item)
			}
		}
	}
}

func TestABareQueryAsksAsTheOneBefore(t *testing.T) {
	talk := []memory.Message{user("When did Tom move?"), assistant("In May.")}
	for query, want := range map[string]string{
		"And Ana?": "When did Tom move? And Ana?", "And her cat?": "When did Tom move? And her cat?",
		"And what did Ana paint?": "And what did Ana paint?",
	} {
		if got := understand(query, talk).Question.Text; got != want {
			t.Errorf("%q asks %q, want %q", query, got, want)
		}
	}
}

var drawn = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) memory.Message {
	return memory.Message{
		Role: rapid.SampledFrom([]memory.Role{memory.RoleUser, memory.RoleAssistant, memory.RoleTool, ""}).Draw(t, "role"),
		Content: rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"1. a 2. b 3.", "- \n- ", ",,,or", "My sister Ana",
			"\xff"})).
			Draw(t, "content"),
	}
}), 0, 8)

var queries = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "and her?", "the last", "both", "number 5",
	"\xff", "Ana"}))

func TestAnyTalkIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		query, messages := queries.Draw(t, "query"), drawn.Draw(t, "messages")
		r := understand(query, messages)
		if !isSelf(r, query) || !strings.HasPrefix(r.Resolved, query) ||
			!strings.HasSuffix(r.Question.Text, query) {
			t.Fatalf("the query is not what it was: %+v", r)
		}
		last := float32(1)
		for _, p := range r.Parts {
			if !(p.Weight > 0 && p.Weight <= last) {
				t.Fatalf("a part counts %v behind one of %v", p.Weight, last)
			}
			last = p.Weight
		}
	})
}

func TestAQueryWithoutTalkIsAllThatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		query := queries.Draw(t, "query")
		for _, messages := range [][]memory.Message{nil, {}, {user(query)}} {
			r := understand(query, messages)
			if len(r.Parts) != 1 || r.Resolved != query || r.Question.Text != query || r.People.Text != "" {
				t.Fatalf("%v makes it %+v", messages, r)
			}
		}
	})
}

// A position word refers to a list only where the query has few content words and names no time.
func TestAWordForATimeOrAThingIsNoPlaceInAList(t *testing.T) {
	messages := []memory.Message{{Role: memory.RoleAssistant,
		Content: "Happy to help with the carburettor, or with anything else."}}
	for _, query := range []string{"What did the dentist say about my second molar?", "What did I buy last week?",
		"And the first time?"} {
		for _, p := range understand(query, messages).Parts[1:] {
			if p.Weight > 0.5 {
				t.Errorf("%q is taken to mean %q", query, p.Text)
			}
		}
	}
}

// The text begins with the query, and the text of a long conversation is bounded.
func TestTheTextBeginsWithTheQueryAndIsBounded(t *testing.T) {
	var messages []memory.Message
	for range 6 {
		messages = append(messages, memory.Message{Role: memory.RoleUser,
			Content: strings.Repeat("the old boiler hums ", 200)})
	}
	if got := understand("And for her?", messages).Resolved; !strings.HasPrefix(got, "And for her?") || len(got) > 2000 {
		t.Errorf("%d bytes, %.40q", len(got), got)
	}
}

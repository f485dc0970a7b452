package features_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// grouped are the groups of all memories by their ids, for a query.
func grouped(c *talk, query string) map[string]uint32 {
	out := map[string]uint32{}
	x := features.New(wordvector.Shipped(), c.memories, c.turns)
	for _, c := range x.Candidates(asking(query), make([]float32, len(features.Names())), x.Len()) {
		out[c.Memory.ID] = c.Group
	}
	return out
}

// Where a question asks for all of a kind, memories of one session form a group. A question for one thing has no
// groups.
func TestQuestionsForSeveralThingsGroupBySession(t *testing.T) {
	c := &talk{}
	one, same := c.say(0, "Ida", "I planted leeks.").ID, c.say(0, "Bruno", "I mowed the lawn.").ID
	other := c.say(1, "Ida", "I picked the first plums.").ID
	for query, several := range map[string]bool{
		"What vegetables has Ida planted?":                   true,
		"Which of the old trees in the garden does Ida like": true,
		"Where has Ida been?":                                true,
		"Who are the neighbours?":                            false,
		"What are the neighbours called?":                    true,
		"How many trees are there?":                          true,
		"What do Ida and Bruno both like?":                   true,
		"What kinds of plum does she grow?":                  true,
		"What did Ida plant?":                                false,
		"When did Ida plant leeks?":                          false,
		"What is this bus called?":                           false,
		"How old is the tree?":                               false,
		"What did the children do?":                          false,
		"Tell me about the garden.":                          false,
		"Welche Pflanzen haben die Kinder gepflanzt?":        false,
		"": false,
	} {
		of := grouped(c, query)
		if got := of[one] != 0; got != several || of[one] != of[same] || several == (of[one] == of[other]) {
			t.Errorf("%q: groups %v, want any: %v", query, of, several)
		}
	}
}

// The facts that a request to an assistant must respect come from several sessions. A question for a fact needs the
// fact alone.
func TestRequestsToAnAssistantGroupBySession(t *testing.T) {
	c := &talk{}
	one, other := c.say(0, "Ida", "I cannot stand coriander.").ID, c.say(1, "Ida", "We eat at seven.").ID
	c.say(1, "Assistant", "Noted.")
	for query, several := range map[string]bool{
		"Suggest something for dinner.":         true,
		"Could you plan our weekend?":           true,
		"When do we eat?":                       false,
		"What did I say about coriander?":       false,
		"Which restaurants would suit us best?": true,
	} {
		of := grouped(c, query)
		if (of[one] != 0) != several || several == (of[one] == of[other]) {
			t.Errorf("%q: groups %v, want any: %v", query, of, several)
		}
	}
}

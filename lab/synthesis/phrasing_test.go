package synthesis_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// typed has one person's first and later statements.
var typed = [][]synthesis.Phrasing{{
	{Told: "Six hens in the garden, all warrens", Later: []synthesis.Later{
		{Said: "Fox got in sunday night, every last one of them", Evolution: synthesis.EvolutionEnd},
		{Said: "the neighbour's hens got loose again", Evolution: synthesis.EvolutionNear},
	}},
	{Told: "I drive the number 83 bus", Later: []synthesis.Later{
		{Said: "they've me on the 46a from monday", Evolution: synthesis.EvolutionShift},
	}},
	{Told: "Our Nia teaches in Cardiff", Later: []synthesis.Later{
		{Said: "Nia's got the biggest class of the school", Evolution: synthesis.EvolutionExpand},
	}},
	{Told: "is it?"},
}, {
	{Told: "My flat is on the fourth floor", Later: []synthesis.Later{
		{Said: "ground floor now, with a hedge", Evolution: synthesis.EvolutionShift},
	}},
	{Told: "I take the bus to the quarry"},
}}

func TestPeopleTellWhatPeopleTyped(t *testing.T) {
	people, err := synthesis.Generate(synthesis.Options{Seed: 5, Persons: 12, Clean: true, Phrasings: typed})
	if err != nil {
		t.Fatal(err)
	}
	count := map[synthesis.Evolution]int{}
	for _, p := range people {
		said := map[string]string{}
		times := map[string]int{}
		for _, s := range p.Sessions {
			for _, turn := range s.Turns {
				said[turn.ID] = turn.Text
			}
		}
		for i, target := range p.Targets {
			count[target.Evolution]++
			words := strings.TrimRight(target.Statement, ".")
			if !strings.Contains(strings.ToLower(said[target.Turns[0]]), strings.ToLower(words)) {
				t.Errorf("%q is told as %q", words, said[target.Turns[0]])
			}
			if times[words]++; times[words] > 1 {
				t.Errorf("%q is said twice", words)
			}
			if target.Evolution == synthesis.EvolutionEnd && (target.Predecessor < 0 || target.Predecessor >= i) {
				t.Errorf("%q ends target %d", words, target.Predecessor)
			}
		}
		for i, target := range p.Subject("acme").Targets {
			if p.Targets[i].Evolution == synthesis.EvolutionExpand && (target.IsUpdate() || target.Operation != memory.OpAdd) {
				t.Errorf("%q is an update", p.Targets[i].Statement)
			}
		}
	}
	for _, e := range []synthesis.Evolution{
		synthesis.EvolutionNew, synthesis.EvolutionEnd, synthesis.EvolutionShift, synthesis.EvolutionExpand,
		synthesis.EvolutionNear,
	} {
		if count[e] == 0 {
			t.Errorf("nobody tells a statement of kind %s", e)
		}
	}
}

func TestALaterStatementEvolvesInAKnownWay(t *testing.T) {
	_, err := synthesis.New(synthesis.Options{Phrasings: [][]synthesis.Phrasing{{
		{Told: "I keep bees", Later: []synthesis.Later{{Said: "and wasps", Evolution: "swarm"}}},
	}}})
	if !fault.IsTerminal(err) || !strings.Contains(err.Error(), "phrasings[0][0]") {
		t.Errorf("got %v, want a terminal error that names the phrasing", err)
	}
}

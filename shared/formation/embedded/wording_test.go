package embedded_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestTheSameInOtherWordsIsOneMemory(t *testing.T) {
	for _, c := range []struct {
		known, said string
		kind        memory.OpKind
	}{
		{"I don't eat pork.", "I do not eat pork.", memory.OpNone},
		{"We have 4 hens.", "We have four hens.", memory.OpNone},
		{"He's afraid of dogs.", "He is afraid of dogs!", memory.OpNone},
		{"I work as a baker at Kornblum.", "At Kornblum I work as a baker.", memory.OpNone},
		{"I live in Ghent.", "Ghent is where I live.", memory.OpNone},
		{"My brother's name is Emil.", "My brother is called Emil.", memory.OpNone},
		{"Ghent is where I live.", "As you know, my home is in Ghent.", memory.OpUpdate},
		{"We have four hens.", "We have five hens.", memory.OpAdd},
		{"I eat pork.", "I do not eat pork.", memory.OpAdd},
		{"My brother's name is Emil.", "My uncle's name is Emil.", memory.OpAdd},
		{"I live in Ghent.", "I lived in Ghent.", memory.OpAdd},
		{"I don't eat pork.", "I don't eat beef.", memory.OpAdd},
		{"Nina taught Otto the harp.", "Otto taught Nina the harp.", memory.OpAdd},
		{"I lived in Ghent.", "I live in Ghent.", memory.OpAdd},
		{"I had a dog.", "I have a dog.", memory.OpAdd},
		{"I have a dog.", "I have a dog and a cat.", memory.OpAdd},
	} {
		in := session("Ana: " + c.said)
		b := formation.Bundle{Session: in}
		for _, candidate := range extract(t, in) {
			b.Related = append(b.Related, formation.Related{Candidate: candidate,
				Memories: []memory.Memory{stored("known", c.known)}})
		}
		v, err := embedded.NewFormer(embedded.IdentityOf("salimory")).Decide(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if op := v.Operations[0]; op.Kind != c.kind {
			t.Errorf("%q after %q: %s (%s), want %s", c.said, c.known, op.Kind, op.Reason, c.kind)
		}
	}
}

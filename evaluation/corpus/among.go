package corpus

import (
	"math/rand/v2"

	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Among is a later statement with the stored ones that it is held against.
type Among struct {
	Later  relation.Statement
	Stored []relation.Statement
	// Looks is the index of the stored one that it changes, extends or restates, or only looks as if; -1 is none.
	Looks int
	// Label is what it does to that one.
	Label relation.Label
	// Kind says in the writer's words what makes the case.
	Kind string
	// Batch is the file's name without ending.
	Batch string
	// Weight is what it counts in training, Again whether the same later statement stands in another set.
	Weight float64
	Again  bool
}

// Alone returns each pair by itself.
func Alone(pairs []Pair) []Among {
	var out []Among
	for _, p := range pairs {
		later, stored := p.Statements()
		out = append(out, Among{
			Later: later, Stored: []relation.Statement{stored}, Label: p.Relation(), Kind: p.Kind, Batch: p.Batch, Weight: 1,
		})
	}
	return out
}

// AmongStrangers returns each pair with the stored statement among n others of the batch, drawn by a seed.
func AmongStrangers(pairs []Pair, n int, seed uint64) []Among {
	batches := map[string][]Pair{}
	for _, p := range pairs {
		batches[p.Batch] = append(batches[p.Batch], p)
	}
	random := rand.New(rand.NewPCG(seed, 4))
	out := Alone(pairs)
	for i := range out {
		batch := batches[out[i].Batch]
		for range n {
			if p := batch[random.IntN(len(batch))]; p.Stored != out[i].Stored[0].Text {
				_, s := p.Statements()
				s.Speaker = out[i].Stored[0].Speaker
				out[i].Stored = append(out[i].Stored, s)
			}
		}
		out[i].Again = true
	}
	return out
}

// InBanks returns the later statements of banks, each with its whole bank.
func InBanks(banks []Bank) []Among {
	var out []Among
	for _, b := range banks {
		var stored []relation.Statement
		for _, s := range b.Stored {
			stored = append(stored, statement(s, ByUser))
		}
		for _, l := range b.Later {
			out = append(out, Among{
				Later: statement(l.Text, ByUser), Stored: stored, Looks: l.Entry, Label: l.Relation(), Kind: l.Kind, Batch: b.Batch, Weight: 1,
			})
		}
	}
	return out
}

package corpus

import (
	"math/rand/v2"

	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// Among is a later statement with stored ones that it may change.
type Among struct {
	Later  relation.Statement
	Stored []relation.Statement
	// Looks is the index of the stored statement that it changes, extends or restates, or only seems to. -1 means no
	// such statement.
	Looks int
	// Label is the effect on that statement.
	Label relation.Label
	// Part has the words of that statement that hold no more. It is empty without a change, and where the part is
	// unknown.
	Part string
	// Kind is the writer's name of the case.
	Kind string
	// Batch is the name of the file without its ending.
	Batch string
}

// AmongStrangers returns each pair with the stored statement among n others of the batch, drawn by a seed.
func AmongStrangers(pairs []Pair, n int, seed uint64) []Among {
	batches := map[string][]Pair{}
	for _, p := range pairs {
		batches[p.Batch] = append(batches[p.Batch], p)
	}
	random := rand.New(rand.NewPCG(seed, 4))
	var out []Among
	for _, p := range pairs {
		later, stored := p.Statements()
		a := Among{Later: later, Stored: []relation.Statement{stored}, Label: p.Relation(), Part: p.Part, Kind: p.Kind,
			Batch: p.Batch}
		batch := batches[p.Batch]
		for range n {
			if other := batch[random.IntN(len(batch))]; other.Stored != p.Stored {
				_, s := other.Statements()
				s.Speaker = stored.Speaker
				a.Stored = append(a.Stored, s)
			}
		}
		out = append(out, a)
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
				Later: statement(l.Text, ByUser), Stored: stored, Looks: l.Entry, Label: l.Relation(), Part: l.Part, Kind: l.Kind,
				Batch: b.Batch,
			})
		}
	}
	return out
}

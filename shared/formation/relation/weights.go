package relation

import (
	"fmt"
	"math"
	"slices"
)

// RarityStep is the unit of a rarity: a feature's inverse document frequency in nats is its rarity times this.
const RarityStep = 1.0 / 16

// Block has the weights of the sparse features of one kind.
type Block struct {
	// Keys are the features, ascending.
	Keys []uint32
	// Rarities are their inverse document frequencies in steps of RarityStep; none is 0.
	Rarities []uint8
	// Weights are by feature and output, in units of Scale.
	Weights [][Outputs]int8
	// Scale is the addition to a logit for a weight of 1, for a feature that makes up all of its block.
	Scale [Outputs]float32
	// Length is the scaled length of the block's vector.
	Length float32

	// slots find a key: the index plus 1, by the key's low bits, in the next free place.
	slots []uint32
}

// Numbers has the weights of the dense features.
type Numbers struct {
	// Mean is taken off a number, and the rest multiplied by Scale.
	Mean, Scale []float32
	// Weights are by number and output.
	Weights [][Outputs]float32
}

// Outputs are the labels but Unrelated, in order from Same.
const Outputs = Labels - 1

// Weights are a linear model of the logits of Outputs. The logit of an unrelated statement is 0.
type Weights struct {
	Sparse [Blocks]Block
	Dense  Numbers
	Bias   [Outputs]float32
}

// Logits are the weighted sums of a pair, by output.
type Logits [Outputs]float32

func (b *Block) check() error {
	if len(b.Rarities) != len(b.Keys) || len(b.Weights) != len(b.Keys) {
		return fmt.Errorf("%d keys, %d rarities, %d weights", len(b.Keys), len(b.Rarities), len(b.Weights))
	}
	if err := ascending(b.Keys); err != nil {
		return err
	}
	if slices.Contains(b.Rarities, 0) {
		return fmt.Errorf("a feature is in every statement")
	}
	return finite(append(b.Scale[:], b.Length))
}

func ascending(keys []uint32) error {
	for i, key := range keys {
		if i > 0 && key <= keys[i-1] {
			return fmt.Errorf("key %d is not above the one before", i)
		}
	}
	return nil
}

func finite(values []float32) error {
	for _, v := range values {
		if math.IsNaN(float64(v)) || math.Abs(float64(v)) > 1e6 {
			return fmt.Errorf("%g is no weight", v)
		}
	}
	return nil
}

// index makes the slots.
func (b *Block) index() {
	size := 4
	for size < 2*len(b.Keys) {
		size *= 2
	}
	b.slots = make([]uint32, size)
	for i, key := range b.Keys {
		at := int(key) & (size - 1)
		for b.slots[at] != 0 {
			at = (at + 1) & (size - 1)
		}
		b.slots[at] = uint32(i + 1) //nolint:gosec // as many as the file has
	}
}

// find returns the place of a key, or -1.
func (b *Block) find(key uint32) int {
	for at := int(key) & (len(b.slots) - 1); b.slots[at] != 0; at = (at + 1) & (len(b.slots) - 1) {
		if i := int(b.slots[at]) - 1; b.Keys[i] == key {
			return i
		}
	}
	return -1
}

// add adds the weights of a pair's features in this block.
func (b *Block) add(logits *Logits, features []Feature) {
	var sums Logits
	var squares float32
	for _, f := range features {
		i := b.find(f.Key)
		if i < 0 {
			continue
		}
		v := f.Count * float32(b.Rarities[i]) * RarityStep
		squares += float32(v * v)
		for l, w := range b.Weights[i] {
			sums[l] += float32(v * float32(w))
		}
	}
	if squares == 0 {
		return
	}
	scale := b.Length / float32(math.Sqrt(float64(squares)))
	for l, s := range sums {
		logits[l] += float32(scale * b.Scale[l] * s)
	}
}

// later returns the weighted sums of the later statement's features, with the bias.
func (w *Weights) later(features [LaterBlocks][]Feature) Logits {
	logits := Logits(w.Bias)
	for b := range features {
		w.Sparse[b].add(&logits, features[b])
	}
	return logits
}

// pair adds the weighted sums of a pair to the sums of its later statement.
func (w *Weights) pair(logits Logits, in Inputs) Logits {
	for b := LaterBlocks; b < Blocks; b++ {
		w.Sparse[b].add(&logits, in.Sparse[b])
	}
	for i, x := range in.Dense {
		x = (x - w.Dense.Mean[i]) * w.Dense.Scale[i]
		for l, weight := range w.Dense.Weights[i] {
			logits[l] += float32(x * weight)
		}
	}
	return logits
}

package ranking

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/floats"

	"github.com/mneme-memory/mneme/shared/fault"
)

const (
	// Rank is the length of a projected vector where the dimension is larger than MaxIdentity.
	Rank = 32
	// MaxIdentity is the largest dimension that is not projected at all.
	MaxIdentity = 64
)

// Projector shortens embeddings. The projection follows from the dimension alone, so every replica has the same one.
// It is made at the first use of a dimension (some milliseconds) and kept. This suits a service's embedders, which
// have one or few dimensions. It is safe for concurrent use.
type Projector struct {
	mu    sync.RWMutex
	bases map[int][]float32 // dimension -> Rank rows
}

// NewProjector makes a projector.
func NewProjector() *Projector { return &Projector{bases: map[int][]float32{}} }

// Project returns P v, which is v itself (copied) up to MaxIdentity numbers; nil for no vector. It never changes v.
func (p *Projector) Project(v []float32) []float32 {
	if len(v) == 0 {
		return nil
	}
	if len(v) <= MaxIdentity {
		return append([]float32(nil), v...)
	}
	rows := p.basis(len(v))
	out := make([]float32, Rank)
	for i := range out {
		out[i] = float32(dot32(rows[i*len(v):(i+1)*len(v)], v))
	}
	return out
}

func (p *Projector) basis(dimension int) []float32 {
	p.mu.RLock()
	rows, ok := p.bases[dimension]
	p.mu.RUnlock()
	if ok {
		return rows
	}
	rows = newBasis(dimension)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bases[dimension] = rows
	return rows
}

// newBasis makes Rank orthonormal rows out of random ones, by Gram and Schmidt.
func newBasis(dimension int) []float32 {
	random := rand.New(rand.NewPCG(0x6d6e656d65, uint64(dimension)))
	rows := make([][]float64, Rank)
	for i := range rows {
		rows[i] = make([]float64, dimension)
		for j := range rows[i] {
			rows[i][j] = random.NormFloat64()
		}
		// Two passes, since one leaves rounding errors.
		for range 2 {
			for _, other := range rows[:i] {
				floats.AddScaled(rows[i], -floats.Dot(rows[i], other), other)
			}
			floats.Scale(1/floats.Norm(rows[i], 2), rows[i])
		}
	}
	out := make([]float32, 0, Rank*dimension)
	for _, row := range rows {
		out = append(out, single(row)...)
	}
	return out
}

// vectorHeader is the length in bytes of the largest magnitude, which stands before the numbers.
const vectorHeader = 4

// tiniest is the largest magnitude that counts as zero: below it a float32 has too few digits to be scaled.
const tiniest = 0x1p-100

// EncodeVector writes a projected vector as 4 bytes for its largest magnitude, little endian, and a byte for each
// number in 127ths of that magnitude. A decoded number is off by at most 1/254 of the largest. An empty vector gives
// no bytes. An entry that is not finite is a terminal error.
func EncodeVector(v []float32) ([]byte, error) {
	if err := finite("vector", v); err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return nil, nil
	}
	return appendVector(make([]byte, 0, vectorHeader+len(v)), v), nil
}

func appendVector(b []byte, v []float32) []byte {
	var largest float32
	for _, x := range v {
		largest = max(largest, float32(math.Abs(float64(x))))
	}
	if largest < tiniest {
		largest = 0
	}
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(largest))
	for _, x := range v {
		step := 0.0
		if largest > 0 {
			step = math.RoundToEven(float64(x) * 127 / float64(largest))
		}
		b = append(b, byte(int8(step)))
	}
	return b
}

// DecodeVector reads the output of EncodeVector, and nothing else, because a vector has one encoding. Other bytes
// are a terminal error.
func DecodeVector(b []byte) ([]float32, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if len(b) <= vectorHeader || len(b) > vectorHeader+MaxIdentity {
		return nil, fault.Terminal("vector", "has %d bytes, want %d to %d", len(b), vectorHeader+1, vectorHeader+MaxIdentity)
	}
	largest := math.Float32frombits(binary.LittleEndian.Uint32(b))
	if !(largest == 0 && !math.Signbit(float64(largest)) || largest >= tiniest && largest <= math.MaxFloat32) {
		return nil, fault.Terminal("vector", "has %v for its largest magnitude, want 0 or a finite number of at least %g",
			largest, tiniest)
	}
	v := make([]float32, len(b)-vectorHeader)
	top := 0
	for i, c := range b[vectorHeader:] {
		step := int(int8(c))
		top = max(top, step, -step)
		v[i] = float32(float64(step) * float64(largest) / 127)
	}
	if largest > 0 && top != 127 || largest == 0 && top != 0 {
		return nil, fault.Terminal("vector", "has %d 127ths for its largest entry, want 127, or 0 for the zero vector", top)
	}
	return v, nil
}

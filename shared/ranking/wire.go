package ranking

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/shared/fault"
)

// uuidLength is the length of a UUID in bytes. Memories are identified by UUIDs, so these are written as such.
const uuidLength = 16

// writer appends bytes in the form that reader reads.
type writer struct{ b []byte }

func (w *writer) byte(c byte)     { w.b = append(w.b, c) }
func (w *writer) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }
func (w *writer) text(s string)   { w.number(uint64(len(s))); w.b = append(w.b, s...) }

func (w *writer) flag(on bool) {
	if on {
		w.byte(1)
		return
	}
	w.byte(0)
}

// id writes an identifier that is not empty: the length 0 announces a UUID.
func (w *writer) id(s string) {
	if parsed, err := uuid.Parse(s); err == nil && parsed.String() == s {
		w.byte(0)
		w.b = append(w.b, parsed[:]...)
		return
	}
	w.text(s)
}

func (w *writer) floats(v []float32) {
	w.b, _ = binary.Append(w.b, binary.LittleEndian, v) // fails for no slice of numbers
}

// vector writes a projected vector with its length before it.
func (w *writer) vector(v []float32) {
	if len(v) == 0 {
		w.byte(0)
		return
	}
	w.byte(byte(vectorHeader + len(v)))
	w.b = appendVector(w.b, v)
}

// matrices writes two square matrices of one size, with their number of rows before them.
func (w *writer) matrices(a, b []float32) {
	w.byte(byte(math.Sqrt(float64(len(a)))))
	w.floats(a)
	w.floats(b)
}

// reader decodes bytes. After the first error it returns zeros. So callers check the error once, at the end.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = fault.Terminal(field, format, args...)
	}
	r.b = nil
}

// take returns the next n bytes, or nil.
func (r *reader) take(field string, n int) []byte {
	if r.err != nil || n > len(r.b) {
		r.fail(field, "is cut off: %d bytes are left, want %d", len(r.b), n)
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte(field string) byte {
	if b := r.take(field, 1); b != nil {
		return b[0]
	}
	return 0
}

// format reads the first byte, which must be one of the known formats.
func (r *reader) format(known ...byte) byte {
	got := r.byte("format")
	if !slices.Contains(known, got) {
		r.fail("format", "is %d, want one of %d", got, known)
	}
	return got
}

func (r *reader) number(field string) uint64 {
	n, length := binary.Uvarint(r.b)
	if length <= 0 {
		r.fail(field, "is not a number")
		return 0
	}
	r.b = r.b[length:]
	return n
}

func (r *reader) count(field string, most int) int {
	n := r.number(field)
	if n > uint64(most) {
		r.fail(field, "is %d, want at most %d", n, most)
		return 0
	}
	return int(n)
}

func (r *reader) flag(field string) bool { return r.count(field, 1) == 1 }

func (r *reader) text(field string) string { return string(r.take(field, r.count(field, MaxIDBytes))) }

func (r *reader) id(field string) string {
	n := r.count(field, MaxIDBytes)
	if n > 0 {
		return string(r.take(field, n))
	}
	b := r.take(field, uuidLength)
	if b == nil {
		return ""
	}
	return uuid.UUID(b).String()
}

func (r *reader) floats(field string, n int) []float32 {
	b := r.take(field, 4*n)
	if len(b) == 0 {
		return nil
	}
	out := make([]float32, n)
	_, _ = binary.Decode(b, binary.LittleEndian, out) // fails only where b is too short
	return out
}

func (r *reader) float(field string) float32 {
	if v := r.floats(field, 1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) vector(field string) []float32 {
	b := r.take(field, int(r.byte(field)))
	v, err := DecodeVector(b)
	if err != nil {
		r.fail(field, "%w", err)
	}
	return v
}

func (r *reader) matrices(field string) (a, b []float32) {
	rows := int(r.byte(field))
	return r.floats(field, rows*rows), r.floats(field, rows*rows)
}

func (r *reader) end() {
	if r.err == nil && len(r.b) != 0 {
		r.fail("", "has %d bytes after its end", len(r.b))
	}
}

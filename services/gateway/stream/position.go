package stream

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// lastEventID is the header with the client's last event.
const lastEventID = "Last-Event-ID"

const (
	maxID         = 32 << 10 // of the header, in bytes
	maxPartitions = 2048     // of a position
)

// position is the progress of a client: by partition, the offset of the next record. The client gets it sealed, as
// the id of an event, because offsets reveal the activity of other tenants.
type position map[int]int64

// encode writes pairs of numbers, by partition: how far it is from the one before, and the offset.
func (p position) encode() []byte {
	var out []byte
	before := 0
	for _, partition := range slices.Sorted(maps.Keys(p)) {
		out = binary.AppendUvarint(out, uint64(partition-before)) //nolint:gosec // sorted
		out = binary.AppendUvarint(out, uint64(p[partition]))     //nolint:gosec // offsets are 0 or more
		before = partition
	}
	return out
}

func decodePosition(text []byte) (position, bool) {
	p := position{}
	partition := uint64(0)
	for len(text) > 0 {
		step, n := binary.Uvarint(text)
		next, m := binary.Uvarint(text[max(n, 0):])
		if partition += step; n <= 0 || m <= 0 || partition > math.MaxInt32 || next > math.MaxInt64 ||
			len(p) == maxPartitions {
			return nil, false
		}
		p[int(partition)] = int64(next) //nolint:gosec // checked, as is the partition
		text = text[n+m:]
	}
	return p, true
}

// seal makes ids of the positions of a stream, and reads them, in any replica that has the same secret.
type seal struct{ cipher.AEAD }

// newSeal makes the seal of a stream's owner. An id of one owner does not work for another.
func newSeal(secret string, scope memory.Scope) (seal, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "mneme: ids of events of "+scope.Key(), sha256.Size)
	if err != nil {
		return seal{}, fmt.Errorf("key of the ids of events: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return seal{}, fmt.Errorf("cipher of the ids of events: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return seal{}, fmt.Errorf("cipher of the ids of events: %w", err)
	}
	return seal{aead}, nil
}

// id returns the client's form of a position.
func (s seal) id(p position) string {
	return base64.RawURLEncoding.EncodeToString(s.Seal(nil, nil, p.encode(), nil))
}

// position reads the position of a request. It is nil if the request has no position. A position with another
// secret, or for another stream, is empty.
func (s seal) position(h http.Header) (position, error) {
	values := h.Values(lastEventID)
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return nil, nil
	}
	if len(values) > 1 {
		return nil, problem.Invalid(lastEventID, "occurs several times, want one")
	}
	if len(values[0]) > maxID {
		return nil, problem.Invalid(lastEventID, fmt.Sprintf("has %d bytes, want at most %d", len(values[0]), maxID))
	}
	sealed, err := base64.RawURLEncoding.DecodeString(values[0])
	if err != nil || len(sealed) < s.Overhead() {
		return nil, problem.Invalid(lastEventID, "is not the id of an event of this stream")
	}
	text, err := s.Open(nil, nil, sealed, nil)
	if err != nil {
		return position{}, nil //nolint:nilerr // the client gets a gap event: the secret may have changed
	}
	p, ok := decodePosition(text)
	if !ok {
		return nil, problem.Invalid(lastEventID, "is not the id of an event of this stream")
	}
	return p, nil
}

package stream

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/services/gateway/door"
)

// lastEventID is the header with which a client says what it had last.
const lastEventID = "Last-Event-ID"

const (
	maxPosition   = 32 << 10 // of the header, in bytes
	maxPartitions = 2048     // of a position
)

// position says how far a client is: by partition, the offset of the next record that it has not passed. A client is told of it as the id
// of an event, with the offset of the last record in place of the next: "partition-offset" for a user, whose changes are in one partition,
// and "partition:offset,partition:offset" for a tenant.
type position map[int]int64

// String is the position as the id of an event.
func (p position) String() string {
	var out strings.Builder
	for _, partition := range slices.Sorted(maps.Keys(p)) {
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Itoa(partition))
		out.WriteByte(':')
		out.WriteString(strconv.FormatInt(p[partition]-1, 10))
	}
	return out.String()
}

// single is a position in one partition as the id of an event.
func single(partition int, next int64) string {
	return strconv.Itoa(partition) + "-" + strconv.FormatInt(next-1, 10)
}

// parsePosition reads the position of a request; nil where it has none. single says that it is one in one partition.
func parsePosition(h http.Header, single bool) (position, error) {
	values := h.Values(lastEventID)
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return nil, nil
	}
	if len(values) > 1 {
		return nil, door.Invalid(lastEventID, "is there several times, want one")
	}
	if len(values[0]) > maxPosition {
		return nil, door.Invalid(lastEventID, fmt.Sprintf("is of %d bytes, want at most %d", len(values[0]), maxPosition))
	}
	entries, between := strings.Split(values[0], ","), ":"
	if single {
		entries, between = values[:1], "-"
	}
	p := position{}
	for _, e := range entries {
		partition, next, ok := parseEntry(e, between)
		if _, again := p[partition]; !ok || again || len(p) == maxPartitions {
			return nil, door.Invalid(lastEventID, "is none of an event of this stream")
		}
		p[partition] = next
	}
	return p, nil
}

func parseEntry(text, between string) (partition int, next int64, ok bool) {
	before, after, ok := strings.Cut(text, between)
	id, err1 := strconv.ParseUint(before, 10, 31)
	last, err2 := strconv.ParseInt(after, 10, 64)
	if !ok || err1 != nil || err2 != nil || last < -1 || last+1 < 0 {
		return 0, 0, false
	}
	return int(id), last + 1, true //nolint:gosec // of 31 bits
}

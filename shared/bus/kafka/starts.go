package kafka

import (
	"sync"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
)

// starts holds the start offsets of partitions without a commit of the group. It keeps the ends it found over
// generations: later records without a commit must come again.
type starts struct {
	fromEnd bool
	mu      sync.Mutex
	ends    map[bus.Partition]int64
}

func newStarts(fromEnd bool) *starts {
	return &starts{fromEnd: fromEnd, ends: make(map[bus.Partition]int64)}
}

// find asks the leader of p, on conn.
func (s *starts) find(p bus.Partition, conn *kafkago.Conn) (int64, error) {
	if !s.fromEnd {
		return conn.ReadFirstOffset()
	}
	s.mu.Lock()
	end, known := s.ends[p]
	s.mu.Unlock()
	if known {
		return end, nil
	}
	end, err := conn.ReadLastOffset()
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.ends[p] = end
	s.mu.Unlock()
	return end, nil
}

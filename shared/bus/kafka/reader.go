package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
)

// reader fetches one partition over a connection to its leader.
type reader struct {
	partition bus.Partition
	cfg       SourceConfig
	dialer    *kafkago.Dialer
	starts    *starts

	next    int64 // negative until the first record's offset is known
	removed bool  // the record at next was removed, so the oldest one is next

	mu     sync.Mutex
	conn   *kafkago.Conn
	closed bool
}

// fetch makes one request. If the requested offset was removed, it makes another request at the oldest record. Any
// error drops the connection, and the next call finds the leader.
func (r *reader) fetch(ctx context.Context) (bus.Fetched, error) {
	got, err := r.request(ctx)
	if errors.Is(err, kafkago.OffsetOutOfRange) && len(got.Messages) == 0 && ctx.Err() == nil {
		return r.request(ctx)
	}
	return got, err
}

func (r *reader) request(ctx context.Context) (bus.Fetched, error) {
	conn, err := r.connect(ctx)
	if err != nil {
		return bus.Fetched{}, fmt.Errorf("connect to the leader of %s/%d: %w", r.partition.Topic, r.partition.ID, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	got, err := r.read(conn)
	if !stop() || err != nil {
		r.drop(conn)
	}
	if errors.Is(err, kafkago.OffsetOutOfRange) {
		r.next, r.removed = kafkago.FirstOffset, true // retention removed unread records
	}
	switch {
	case ctx.Err() != nil && len(got.Messages) == 0:
		return bus.Fetched{}, ctx.Err()
	case err != nil && len(got.Messages) == 0:
		return bus.Fetched{}, fmt.Errorf("fetch %s/%d: %w", r.partition.Topic, r.partition.ID, err)
	}
	return got, nil
}

// connect returns the connection, positioned at next.
func (r *reader) connect(ctx context.Context) (*kafkago.Conn, error) {
	r.mu.Lock()
	conn, closed := r.conn, r.closed
	r.mu.Unlock()
	if closed {
		return nil, bus.ErrRevoked
	}
	if conn != nil {
		return conn, nil
	}
	conn, err := r.dialLeader(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.seek(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = conn.Close()
		return nil, bus.ErrRevoked
	}
	r.conn = conn
	return conn, nil
}

// dialLeader tries one broker after the other.
func (r *reader) dialLeader(ctx context.Context) (*kafkago.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var errs []error
	for _, broker := range r.cfg.Cluster.Brokers {
		conn, err := r.dialer.DialLeader(ctx, "tcp", broker, r.partition.Topic, r.partition.ID)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (r *reader) seek(conn *kafkago.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return err
	}
	if r.next >= 0 {
		_, err := conn.Seek(r.next, kafkago.SeekAbsolute|kafkago.SeekDontCheck)
		return err
	}
	first, err := r.oldestOffset(conn)
	if err != nil {
		return err
	}
	r.next, r.removed = first, false
	_, err = conn.Seek(first, kafkago.SeekAbsolute|kafkago.SeekDontCheck)
	return err
}

func (r *reader) oldestOffset(conn *kafkago.Conn) (int64, error) {
	if r.removed {
		return conn.ReadFirstOffset()
	}
	return r.starts.find(r.partition, conn)
}

// read reads the result of one request. Records that arrived before an error are valid.
func (r *reader) read(conn *kafkago.Conn) (bus.Fetched, error) {
	if err := conn.SetDeadline(time.Now().Add(r.cfg.MaxWait + requestTimeout)); err != nil {
		return bus.Fetched{}, err
	}
	batch := conn.ReadBatchWith(kafkago.ReadBatchConfig{
		MinBytes: 1, MaxBytes: r.cfg.FetchBytes, MaxWait: r.cfg.MaxWait, IsolationLevel: kafkago.ReadCommitted,
	})
	got := bus.Fetched{End: batch.HighWaterMark()}
	for {
		m, err := batch.ReadMessage()
		if err != nil {
			break // io.EOF at the end; Close returns any other error
		}
		got.Messages = append(got.Messages, r.message(m))
	}
	err := batch.Close()
	if errors.Is(err, kafkago.RequestTimedOut) {
		return got, nil // kafka-go's error for an empty fetch
	}
	if n := len(got.Messages); n > 0 {
		r.next = got.Messages[n-1].Offset + 1
	}
	if err == nil {
		// It is beyond the last record when a compacted batch ends with removed ones.
		r.next = max(r.next, batch.Offset())
	}
	return got, err
}

func (r *reader) message(m kafkago.Message) bus.Message {
	out := bus.Message{
		Topic: r.partition.Topic, Partition: r.partition.ID, Offset: m.Offset,
		Key: m.Key, Value: m.Value, Time: m.Time,
	}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, bus.Header{Key: h.Key, Value: h.Value})
	}
	return out
}

func (r *reader) drop(conn *kafkago.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == conn {
		r.conn = nil
	}
	_ = conn.Close()
}

func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}

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

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

// generation wraps kafka-go's. It holds kafka-go back from joining again until Release, so
// that the group waits (up to its rebalance timeout) for the work to stop before a partition
// moves.
type generation struct {
	source     *source
	gen        *kafkago.Generation
	partitions []bus.Partition
	readers    map[bus.Partition]*reader

	done     chan struct{} // closed when the generation has ended
	released chan struct{} // closed by Release
	release  sync.Once
}

func newGeneration(s *source, gen *kafkago.Generation) *generation {
	g := &generation{
		source: s, gen: gen, readers: make(map[bus.Partition]*reader),
		done: make(chan struct{}), released: make(chan struct{}),
	}
	dialer := s.cfg.Cluster.dialer(s.net.dial)
	for topic, assignments := range gen.Assignments {
		for _, a := range assignments {
			p := bus.Partition{Topic: topic, ID: a.ID}
			g.partitions = append(g.partitions, p)
			g.readers[p] = &reader{partition: p, cfg: s.cfg, dialer: dialer, next: a.Offset}
		}
	}
	gen.Start(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-g.released:
		}
		close(g.done)
		<-g.released
	})
	return g
}

// Partitions returns the assigned partitions.
func (g *generation) Partitions() []bus.Partition { return g.partitions }

// Done is closed at the end.
func (g *generation) Done() <-chan struct{} { return g.done }

// Fetch reads on.
func (g *generation) Fetch(ctx context.Context, p bus.Partition) (bus.Fetched, error) {
	r, ok := g.readers[p]
	if !ok {
		return bus.Fetched{}, fmt.Errorf("fetch %s/%d: %w", p.Topic, p.ID, bus.ErrRevoked)
	}
	select {
	case <-g.done:
		return bus.Fetched{}, bus.ErrRevoked
	default:
	}
	return r.fetch(ctx)
}

// End asks the partition's leader.
func (g *generation) End(ctx context.Context, p bus.Partition) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := g.source.client.ListOffsets(ctx, &kafkago.ListOffsetsRequest{
		Topics:         map[string][]kafkago.OffsetRequest{p.Topic: {kafkago.LastOffsetOf(p.ID)}},
		IsolationLevel: kafkago.ReadCommitted,
	})
	if err != nil {
		return 0, fmt.Errorf("list offsets: %w", err)
	}
	for _, o := range res.Topics[p.Topic] {
		if o.Partition == p.ID {
			return o.LastOffset, o.Error
		}
	}
	return 0, fmt.Errorf("list offsets: no answer for %s/%d", p.Topic, p.ID)
}

// Commit is bounded by kafka-go's own deadline; ctx bounds the waiting for it. The broker
// refuses the commit of a generation that it has replaced, and that is a revocation too.
func (g *generation) Commit(ctx context.Context, offsets map[bus.Partition]int64) error {
	select {
	case <-g.done:
		return bus.ErrRevoked
	default:
	}
	byTopic := make(map[string]map[int]int64)
	for p, next := range offsets {
		if byTopic[p.Topic] == nil {
			byTopic[p.Topic] = make(map[int]int64)
		}
		byTopic[p.Topic][p.ID] = next
	}
	result := make(chan error, 1)
	go func() { result <- g.gen.CommitOffsets(byTopic) }()
	select {
	case <-ctx.Done():
		return fmt.Errorf("commit offsets: %w", ctx.Err())
	case err := <-result:
		return commitError(err)
	}
}

func commitError(err error) error {
	for _, e := range []error{kafkago.IllegalGeneration, kafkago.UnknownMemberId, kafkago.RebalanceInProgress} {
		if errors.Is(err, e) {
			return bus.ErrRevoked
		}
	}
	if err != nil {
		return fmt.Errorf("commit offsets: %w", err)
	}
	return nil
}

// Release lets kafka-go join again.
func (g *generation) Release() {
	g.release.Do(func() {
		close(g.released)
		for _, r := range g.readers {
			r.close()
		}
	})
	<-g.done
}

// reader fetches one partition over a connection to its leader.
type reader struct {
	partition bus.Partition
	cfg       SourceConfig
	dialer    *kafkago.Dialer

	next int64 // negative until the first record's place is looked up

	mu     sync.Mutex
	conn   *kafkago.Conn
	closed bool
}

// fetch makes one request. Any error drops the connection: the next call looks the leader up.
func (r *reader) fetch(ctx context.Context) (bus.Fetched, error) {
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
		r.next = kafkago.FirstOffset // retention removed what was not read yet
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
	first, err := conn.ReadFirstOffset()
	if err != nil {
		return err
	}
	r.next = first
	_, err = conn.Seek(first, kafkago.SeekAbsolute|kafkago.SeekDontCheck)
	return err
}

// read takes what one request brings. Records that arrived before an error are good.
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
			break // io.EOF at the end; Close tells of any other
		}
		got.Messages = append(got.Messages, r.message(m))
	}
	err := batch.Close()
	if errors.Is(err, kafkago.RequestTimedOut) {
		return got, nil // kafka-go's word for a fetch that brought nothing
	}
	if n := len(got.Messages); n > 0 {
		r.next = got.Messages[n-1].Offset + 1
	}
	if err == nil {
		// Beyond the last record when a compacted batch ends with removed ones.
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

package kafka_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
)

const (
	benchValue      = 1024 // bytes
	benchPartitions = 4
	benchKeys       = 1000
	benchPublishers = 64
	benchCall       = 100 // records a call
)

func benchKey(i int) []byte { return fmt.Appendf(nil, "tenant/user-%d", i%benchKeys) }

func benchTopic(b *testing.B, addr string) string {
	b.Helper()
	topic := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	cluster := kafka.Cluster{Brokers: []string{addr}}
	if err := kafka.EnsureTopics(b.Context(), cluster, kafka.Topic{Name: topic, Partitions: benchPartitions}); err != nil {
		b.Fatal(err)
	}
	return topic
}

func reportRate(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// produceAll calls produce for n records from several goroutines, each with a share of the calls.
func produceAll(b *testing.B, produce func(from, to int) error) {
	var next atomic.Int64
	errs := make(chan error, benchPublishers)
	for range benchPublishers {
		go func() {
			for {
				from := int(next.Add(benchCall)) - benchCall
				if from >= b.N {
					errs <- nil
					return
				}
				if err := produce(from, min(from+benchCall, b.N)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	for range benchPublishers {
		if err := <-errs; err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkBare is the baseline: kafka-go's Writer and one Reader in a group with continuous commits.
func BenchmarkBare(b *testing.B) {
	broker := startEmbedded(b)
	topic := benchTopic(b, broker.addr())
	transport := new(kafkago.Transport)
	defer transport.CloseIdleConnections()
	w := &kafkago.Writer{
		Addr: kafkago.TCP(broker.addr()), Topic: topic, Balancer: kafkago.Murmur2Balancer{}, Transport: transport,
		RequiredAcks: kafkago.RequireAll, BatchTimeout: 2 * time.Millisecond, BatchSize: 1000,
	}
	defer w.Close()
	r := kafkago.NewReader(kafkago.ReaderConfig{
		Brokers: []string{broker.addr()}, GroupID: topic, Topic: topic, MinBytes: 1, MaxBytes: 1 << 20,
		CommitInterval: 250 * time.Millisecond, StartOffset: kafkago.FirstOffset,
	})
	defer r.Close()
	value := make([]byte, benchValue)
	b.SetBytes(benchValue)
	b.ResetTimer()
	go produceAll(b, func(from, to int) error {
		msgs := make([]kafkago.Message, 0, to-from)
		for i := from; i < to; i++ {
			msgs = append(msgs, kafkago.Message{Key: benchKey(i), Value: value})
		}
		return w.WriteMessages(context.Background(), msgs...)
	})
	for range b.N {
		m, err := r.FetchMessage(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := r.CommitMessages(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	reportRate(b)
}

// BenchmarkBus is the same through the publisher and the consumer, the usual chain included.
func BenchmarkBus(b *testing.B) {
	for _, chained := range []bool{false, true} {
		b.Run(fmt.Sprintf("chain=%v", chained), func(b *testing.B) { benchBus(b, chained) })
	}
}

func benchBus(b *testing.B, chained bool) {
	broker := startEmbedded(b)
	topic := benchTopic(b, broker.addr())
	cluster := kafka.Cluster{Brokers: []string{broker.addr()}}
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: cluster})
	if err != nil {
		b.Fatal(err)
	}
	defer pub.Close()
	ins, err := bus.NewInstruments(bus.Telemetry{})
	if err != nil {
		b.Fatal(err)
	}
	src, err := kafka.NewSource(kafka.SourceConfig{Cluster: cluster, Group: topic, Topics: []string{topic}})
	if err != nil {
		b.Fatal(err)
	}
	var seen atomic.Int64
	all := make(chan struct{})
	handler := func(_ context.Context, batch []bus.Message) error {
		if seen.Add(int64(len(batch))) == int64(b.N) {
			close(all)
		}
		return nil
	}
	if chained {
		standard := bus.StandardConfig{Group: topic, Handler: "bench", DeadLetters: topic, Timeout: time.Minute}
		if handler, err = bus.Standard(standard, pub, ins, handler); err != nil {
			b.Fatal(err)
		}
	}
	consumer, err := bus.NewConsumer(bus.DefaultConfig(topic), src, handler, ins)
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	stopped := make(chan error, 1)
	value := make([]byte, benchValue)
	b.SetBytes(benchValue)
	b.ResetTimer()
	go func() { stopped <- consumer.Run(ctx) }()
	go produceAll(b, func(from, to int) error {
		msgs := make([]bus.Message, 0, to-from)
		for i := from; i < to; i++ {
			msgs = append(msgs, bus.Message{Topic: topic, Key: benchKey(i), Value: value})
		}
		return pub.Publish(context.Background(), msgs...)
	})
	<-all
	b.StopTimer()
	reportRate(b)
	stop()
	if err := <-stopped; err != nil {
		b.Error(err)
	}
}

// BenchmarkPublishOne is the latency of one record with its acknowledgement, without other work.
func BenchmarkPublishOne(b *testing.B) {
	broker := startEmbedded(b)
	topic := benchTopic(b, broker.addr())
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{Cluster: kafka.Cluster{Brokers: []string{broker.addr()}}})
	if err != nil {
		b.Fatal(err)
	}
	defer pub.Close()
	value := make([]byte, benchValue)
	for i := 0; b.Loop(); i++ {
		if err := pub.Publish(b.Context(), bus.Message{Topic: topic, Key: benchKey(i), Value: value}); err != nil {
			b.Fatal(err)
		}
	}
}

package weaviate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"github.com/weaviate/weaviate/usecases/byteops"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/bank/weaviate"
)

// benchDimension is the dimension of a small real embedding.
const benchDimension = 256

var benchWords = []string{
	"Ana", "swims", "lives", "in", "Lisbon", "violin", "bicycle",
	"sister", "works", "hospital", "garden", "Monday", "coffee", "novel", "train", "Berlin",
}

func benchVector(r *rand.Rand) memory.Vector {
	v := make(memory.Vector, benchDimension)
	for i := range v {
		v[i] = r.Float32() - 0.5
	}
	return v
}

func benchEntry(r *rand.Rand, n int) memory.Memory {
	text := fmt.Sprintf("Fact %d:", n)
	for range 12 {
		text += " " + benchWords[r.IntN(len(benchWords))]
	}
	m := entry(fmt.Sprintf("entry-%d", n), text)
	m.RecordedAt = m.RecordedAt.Add(time.Duration(n) * time.Second)
	m.Vector = benchVector(r)
	return m
}

func benchBank(b *testing.B, entries int) (*weaviate.Bank, weaviate.Config) {
	b.Helper()
	cfg := newConfig()
	bk, err := weaviate.Open(b.Context(), cfg, model, benchDimension)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = bk.Close() })
	r := rand.New(rand.NewPCG(1, 2))
	var batch []memory.Memory
	for n := range entries {
		batch = append(batch, benchEntry(r, n))
		if len(batch) == 500 || n == entries-1 {
			if err := bk.Write(b.Context(), ana, memory.Write{Put: batch}); err != nil {
				b.Fatal(err)
			}
			batch = nil
		}
	}
	return bk, cfg
}

// measured is a call with measured durations.
type measured struct {
	name string
	call func(r *rand.Rand) error
	took []time.Duration
}

// measure reports the median and the 99th percentile of calls. Several calls alternate, so that other load on the
// machine affects them equally.
func measure(b *testing.B, calls ...measured) {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 { // connections and caches
		timeEach(b, calls, r)
	}
	for i := range calls {
		calls[i].took = nil
	}
	for b.Loop() {
		timeEach(b, calls, r)
	}
	for _, c := range calls {
		slices.Sort(c.took)
		b.ReportMetric(c.took[len(c.took)/2].Seconds()*1e3, c.name+"p50-ms")
		b.ReportMetric(c.took[len(c.took)*99/100].Seconds()*1e3, c.name+"p99-ms")
	}
}

func timeEach(b *testing.B, calls []measured, r *rand.Rand) {
	b.Helper()
	for i := range calls {
		start := time.Now()
		if err := calls[i].call(r); err != nil {
			b.Fatal(err)
		}
		calls[i].took = append(calls[i].took, time.Since(start))
	}
}

// BenchmarkSearch compares a hybrid search by the bank with a direct query.
func BenchmarkSearch(b *testing.B) {
	for _, entries := range []int{100, 10_000} {
		bk, cfg := benchBank(b, entries)
		conn, err := grpc.NewClient(cfg.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			measure(b, measured{name: "bank-", call: func(r *rand.Rand) error {
				found, err := bk.Search(b.Context(), ana, bank.Query{Text: "violin in Lisbon", Vector: benchVector(r), Alpha: 0.5})
				return wantTwenty(len(found), err)
			}}, measured{name: "bare-", call: func(r *rand.Rand) error {
				return bareSearch(b.Context(), pb.NewWeaviateClient(conn), cfg, benchVector(r))
			}})
		})
	}
}

// bareSearch requests the ids of the best objects of the whole tenant: without user, state or properties.
func bareSearch(ctx context.Context, c pb.WeaviateClient, cfg weaviate.Config, v memory.Vector) error {
	reply, err := c.Search(ctx, &pb.SearchRequest{
		Collection: cfg.Prefix + "Memory", Tenant: ana.Tenant, Limit: bank.DefaultK,
		HybridSearch: &pb.Hybrid{
			Query: bank.QueryText("violin in Lisbon"), Properties: []string{"terms"}, Alpha: 0.5,
			FusionType:  pb.Hybrid_FUSION_TYPE_RELATIVE_SCORE,
			VectorBytes: byteops.Float32ToByteVector(v),
		},
		Metadata: &pb.MetadataRequest{Uuid: true, Score: true}, Properties: &pb.PropertiesRequest{},
		//lint:ignore SA1019 deprecated, but this is what asks the server for the newest of its formats
		Uses_123Api: true, Uses_125Api: true, Uses_127Api: true,
	})
	return wantTwenty(len(reply.GetResults()), err)
}

func wantTwenty(found int, err error) error {
	if err == nil && found != bank.DefaultK {
		err = fmt.Errorf("found %d entries, want %d", found, bank.DefaultK)
	}
	return err
}

// BenchmarkWrite writes ten entries of one session, closes one and keeps ten turns.
func BenchmarkWrite(b *testing.B) {
	bk, _ := benchBank(b, 100)
	n := 1000
	var last string
	measure(b, measured{call: func(r *rand.Rand) error {
		var w memory.Write
		for range 10 {
			n++
			w.Put = append(w.Put, benchEntry(r, n))
			w.Turns = append(w.Turns, memory.Turn{ID: fmt.Sprint(n), SessionID: "s", Text: w.Put[0].Content,
				Time: w.Put[0].RecordedAt})
		}
		if last != "" {
			w.Close = []memory.Closing{{ID: last, Status: memory.StatusSuperseded, ValidTo: w.Put[0].RecordedAt}}
		}
		last = w.Put[0].ID
		w.Session = &memory.SessionRecord{SessionID: "s", FormedAt: w.Put[0].RecordedAt}
		return bk.Write(b.Context(), ana, w)
	}})
}

// BenchmarkList reads pages of 10,000 entries and counts them, with and without filters that match all entries. The
// index can count one filter, and the other requires reading the entries.
func BenchmarkList(b *testing.B) {
	bk, _ := benchBank(b, 10_000)
	page, err := bk.List(b.Context(), ana, bank.ListOptions{Limit: bank.MaxLimit})
	if err != nil {
		b.Fatal(err)
	}
	all := memory.Filter{Condition: &memory.Condition{Field: "kind", Equals: string(page.Memories[0].Kind)}}
	read := memory.Filter{Condition: &memory.Condition{Field: "recorded_at",
		Range: &memory.Range{GT: "2000-01-01T00:00:00Z"}}}
	list := func(o bank.ListOptions) func(*rand.Rand) error {
		return func(*rand.Rand) error {
			_, err := bk.List(b.Context(), ana, o)
			return err
		}
	}
	count := func(o bank.ListOptions) func(*rand.Rand) error {
		return func(*rand.Rand) error {
			n, err := bk.CountListed(b.Context(), ana, o)
			if err == nil && n != 10_000 {
				err = fmt.Errorf("counted %d", n)
			}
			return err
		}
	}
	measure(b,
		measured{name: "middle-", call: list(bank.ListOptions{Token: page.Next})},
		measured{name: "first-", call: list(bank.ListOptions{})},
		measured{name: "count-", call: count(bank.ListOptions{})},
		measured{name: "filtered-", call: list(bank.ListOptions{Filter: all})},
		measured{name: "filtered-count-", call: count(bank.ListOptions{Filter: all})},
		measured{name: "read-count-", call: count(bank.ListOptions{Filter: read})},
	)
}

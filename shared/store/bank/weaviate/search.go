package weaviate

import (
	"context"
	"fmt"
	"slices"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"github.com/weaviate/weaviate/usecases/byteops"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Search implements bank.Bank by relative score fusion. It omits a side without weight or input. If both are omitted,
// the result is empty.
func (b *Bank) Search(ctx context.Context, scope memory.Scope, q bank.Query) ([]bank.Scored, error) {
	q, err := q.Checked(b.dimension)
	if err != nil {
		return nil, err
	}
	q.Text = bank.QueryText(q.Text)
	byText := q.Text != "" && (q.Vector == nil || q.Alpha < 1)
	byVector := q.Vector != nil && q.Alpha > 0
	if !byText && !byVector {
		return nil, bank.CheckScope(scope)
	}
	where, ok := narrowed(scope.User, q.Filter)
	if !ok {
		return nil, bank.CheckScope(scope)
	}
	where = append(inStatus(q.Statuses), where...)
	for count := q.K; ; count = min(4*count, maxResults) {
		results, err := b.read(ctx, scope, b.collections.memory(), func(req *pb.SearchRequest) {
			entryFields(req)
			req.Limit = uint32(count)
			req.Metadata = &pb.MetadataRequest{Uuid: true, Score: byText, Distance: !byText, Vector: q.WithVectors}
			match(req, q, byText, byVector)
		}, where...)
		if err != nil {
			return nil, err
		}
		found, err := score(results)
		if err != nil {
			return nil, err
		}
		// The index may return entries that do not match. Search requests more then.
		found = slices.DeleteFunc(found, func(s bank.Scored) bool { return !q.Filter.Match(s.Memory) })
		if len(found) >= q.K || len(results) < count || count == maxResults {
			return found[:min(len(found), q.K)], nil
		}
	}
}

// match sets the search of a request.
func match(req *pb.SearchRequest, q bank.Query, byText, byVector bool) {
	searched := []string{propTerms}
	switch {
	case byText && byVector:
		req.HybridSearch = &pb.Hybrid{
			Query: q.Text, Properties: searched, Alpha: q.Alpha, VectorBytes: byteops.Float32ToByteVector(q.Vector),
			FusionType: pb.Hybrid_FUSION_TYPE_RELATIVE_SCORE,
		}
	case byText:
		req.Bm25Search = &pb.BM25{Query: q.Text, Properties: searched}
	default:
		req.NearVector = &pb.NearVector{VectorBytes: byteops.Float32ToByteVector(q.Vector)}
	}
}

// score decodes the results with their scores. If only vectors were compared, the score is the cosine.
func score(results []*pb.SearchResult) ([]bank.Scored, error) {
	found := make([]bank.Scored, 0, len(results))
	for _, r := range results {
		m, err := decodeEntry(r)
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", r.GetMetadata().GetId(), err)
		}
		s := float64(r.GetMetadata().GetScore())
		if r.GetMetadata().GetDistancePresent() {
			s = 1 - float64(r.GetMetadata().GetDistance())
		}
		found = append(found, bank.Scored{Memory: m, Score: s})
	}
	slices.SortFunc(found, bank.ByScore)
	return found, nil
}

package weaviate

import (
	"context"
	"net/http"
	"sync"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/data/replication"
	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"github.com/weaviate/weaviate/usecases/byteops"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// newestByIDs reads the last acknowledged state of objects by the ids of the domain. It omits missing ones. A search
// reads one replica only, which may have missed writes during an outage. A read by id asks most replicas of an
// object. A replica with a missing or older object then gets the whole object. Reads that decide about a write use
// this method.
func (b *Bank) newestByIDs(
	ctx context.Context, scope memory.Scope, collection string, ids []string, withVectors bool,
) ([]*pb.SearchResult, error) {
	if err := bank.CheckScope(scope); err != nil {
		return nil, err
	}
	key := hashID(scope.User)
	var mu sync.Mutex
	var out []*pb.SearchResult
	err := eachOf(ctx, ids, func(ctx context.Context, id string) error {
		get := b.rest.Data().ObjectsGetter().WithClassName(collection).WithTenant(scope.Tenant).WithID(objectID(key, id)).
			WithConsistencyLevel(replication.ConsistencyLevel.QUORUM)
		if withVectors {
			get.WithVector()
		}
		found, err := get.Do(ctx)
		if refusedWith(err, http.StatusUnprocessableEntity) { // also for a tenant without data
			absent, absentErr := b.tenantAbsent(ctx, collection, scope.Tenant)
			if absent || absentErr != nil {
				return absentErr
			}
			found, err = get.Do(ctx) // the first write may have created the tenant between the two requests
		}
		if refusedWith(err, http.StatusNotFound) {
			return nil
		}
		if err != nil {
			return failed(ctx, "read "+collection+" by id", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, o := range found {
			out = append(out, resultOf(o))
		}
		return nil
	})
	return out, err
}

// resultOf converts an object to the form of search results. Times are texts here.
func resultOf(o *models.Object) *pb.SearchResult {
	fields := map[string]*pb.Value{}
	kept, _ := o.Properties.(map[string]any)
	for name, value := range kept {
		switch v := value.(type) {
		case string:
			fields[name] = &pb.Value{Kind: &pb.Value_TextValue{TextValue: v}}
		case float64:
			fields[name] = &pb.Value{Kind: &pb.Value_NumberValue{NumberValue: v}}
		case bool:
			fields[name] = &pb.Value{Kind: &pb.Value_BoolValue{BoolValue: v}}
		}
	}
	return &pb.SearchResult{
		Metadata:   &pb.MetadataResult{Id: o.ID.String(), VectorBytes: byteops.Float32ToByteVector(o.Vector)},
		Properties: &pb.PropertiesResult{NonRefProps: &pb.Properties{Fields: fields}},
	}
}

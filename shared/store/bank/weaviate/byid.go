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

// newestByIDs reads objects by the ids of the domain as they were last acknowledged; missing ones are left out. A search asks one replica
// alone, which may have been away when they were written. By its id most replicas of an object are asked, and one that lacks it, or has
// an older one, gets the whole of it. What decides about a write is read so.
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
		if refusedWith(err, http.StatusUnprocessableEntity) { // also of a tenant that has nothing yet
			absent, absentErr := b.tenantAbsent(ctx, collection, scope.Tenant)
			if absent || absentErr != nil {
				return absentErr
			}
			found, err = get.Do(ctx) // the first write may have made the tenant between the two questions
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

// resultOf is an object in the form in which searches return it. Times are texts here.
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

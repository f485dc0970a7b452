package weaviate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/graphql"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

const (
	// maxResults is the maximum number of objects per Weaviate query (QUERY_MAXIMUM_RESULTS).
	maxResults = 10_000
	// idsPerQuery limits the number of values in one filter.
	idsPerQuery = 500
)

var errNoCount = errors.New("no count")

// hashID is the indexed form of an id. Ids of users and turns are free text, and Weaviate trims indexed text. So "a"
// and "a " would be equal; their hashes differ.
func hashID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

func hashIDs(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = hashID(id)
	}
	return out
}

// read runs a query over one user's objects of a collection. All searches of users' data except Owner's use it: only
// read adds the user filter. shape sets search, order and returned properties.
func (b *Bank) read(ctx context.Context, scope memory.Scope, collection string, shape func(*pb.SearchRequest),
	where ...*pb.Filters,
) ([]*pb.SearchResult, error) {
	if err := bank.CheckScope(scope); err != nil {
		return nil, err
	}
	mine := equal(propUser, hashID(scope.User))
	return b.query(ctx, scope.Tenant, collection, shape, append([]*pb.Filters{mine}, where...))
}

// Owner implements bank.Bank. It is the one read without a user filter, and returns only a user id.
func (b *Bank) Owner(ctx context.Context, tenant, id string) (string, error) {
	if err := memory.ValidTenant(tenant); err != nil {
		return "", err
	}
	results, err := b.query(ctx, tenant, b.collections.memory(), only(propEntryID, propUserID),
		[]*pb.Filters{equal(propEntryID, id)})
	if err != nil {
		return "", err
	}
	var owners []string
	for _, r := range results {
		if o := open(r); o.text(propEntryID) == id { // the index compares trimmed text
			owners = append(owners, o.text(propUserID))
		}
	}
	if len(owners) == 0 {
		return "", fmt.Errorf("%s: %w", id, bank.ErrNotFound)
	}
	if len(owners) > 1 {
		return "", fmt.Errorf("%s: %w", id, bank.ErrSeveralOwners)
	}
	return owners[0], nil
}

// query runs a query over a tenant's objects of a collection. Only read and Owner may call it. A tenant that does not
// exist has no objects.
func (b *Bank) query(ctx context.Context, tenant, collection string, shape func(*pb.SearchRequest),
	where []*pb.Filters,
) ([]*pb.SearchResult, error) {
	req := &pb.SearchRequest{
		Collection: collection, Limit: maxResults,
		// One replica answers. With more replicas, Weaviate 1.35.2 repairs a replica with an older object from the
		// properties that the search requested, so all other properties are lost there. See newestByIDs.
		ConsistencyLevel: pb.ConsistencyLevel_CONSISTENCY_LEVEL_ONE.Enum(),
		Properties:       &pb.PropertiesRequest{ReturnAllNonrefProperties: true},
		Metadata:         &pb.MetadataRequest{Uuid: true},
		// These fields select the protocol's format; without them it is the first format.
		//lint:ignore SA1019 deprecated, but this is what asks the server for the newest of its formats
		Uses_123Api: true, Uses_125Api: true, Uses_127Api: true,
	}
	shape(req)
	req.Tenant = tenant
	req.Filters = &pb.Filters{Operator: pb.Filters_OPERATOR_AND, Filters: where}
	reply, err := b.search.Search(ctx, req)
	if err == nil {
		return reply.GetResults(), nil
	}
	absent, absentErr := b.tenantAbsent(ctx, collection, tenant)
	if absentErr == nil && absent {
		return nil, nil
	}
	if absentErr == nil { // the first write may have created the tenant between the two requests
		if reply, again := b.search.Search(ctx, req); again == nil {
			return reply.GetResults(), nil
		}
	}
	return nil, failed(ctx, "query "+collection, err)
}

// count counts one user's filtered objects of a collection, with the same user filter as read.
func (b *Bank) count(ctx context.Context, scope memory.Scope, collection string, where ...*pb.Filters) (int, error) {
	if err := bank.CheckScope(scope); err != nil {
		return 0, err
	}
	mine := inGraphQL(joined(pb.Filters_OPERATOR_AND, append(where, equal(propUser, hashID(scope.User)))))
	return b.aggregate(ctx, scope.Tenant, collection, func(q *graphql.AggregateBuilder) { q.WithWhere(mine) })
}

// CountMemories implements bank.Bank.
func (b *Bank) CountMemories(ctx context.Context, tenant string) (int, error) {
	if err := memory.ValidTenant(tenant); err != nil {
		return 0, err
	}
	open := inGraphQL(joined(pb.Filters_OPERATOR_AND, slices.Concat(
		inStatus([]memory.Status{memory.StatusActive, memory.StatusQuarantined}), inTier([]memory.Tier{memory.TierMemory}))))
	return b.aggregate(ctx, tenant, b.collections.memory(), func(q *graphql.AggregateBuilder) { q.WithWhere(open) })
}

// aggregate counts a tenant's objects of a collection. Only count and CountMemories may call it. It uses GraphQL,
// because the client's gRPC protocol cannot count.
func (b *Bank) aggregate(
	ctx context.Context, tenant, collection string, shape func(*graphql.AggregateBuilder),
) (int, error) {
	absent, err := b.tenantAbsent(ctx, collection, tenant)
	if absent || err != nil {
		return 0, err
	}
	query := b.rest.GraphQL().Aggregate().WithClassName(collection).WithTenant(tenant).
		WithFields(graphql.Field{Name: "meta", Fields: []graphql.Field{{Name: "count"}}})
	shape(query)
	reply, err := query.Do(ctx)
	if err != nil {
		return 0, failed(ctx, "count "+collection, err)
	}
	if len(reply.Errors) > 0 {
		return 0, fmt.Errorf("count %s: %w: %s", collection, fault.ErrUnavailable, reply.Errors[0].Message)
	}
	var counted map[string][]struct{ Meta struct{ Count int } }
	raw, err := json.Marshal(reply.Data["Aggregate"])
	if err == nil {
		err = json.Unmarshal(raw, &counted)
	}
	if err != nil || len(counted[collection]) != 1 {
		return 0, fmt.Errorf("count %s: %w in the answer %s", collection, cmp.Or(err, errNoCount), raw)
	}
	return counted[collection][0].Meta.Count, nil
}

// tenantAbsent reports whether a tenant has never had a write. The error of a query has no reliable form for that.
func (b *Bank) tenantAbsent(ctx context.Context, collection, tenant string) (bool, error) {
	reply, err := b.search.TenantsGet(ctx, &pb.TenantsGetRequest{
		Collection: collection,
		Params:     &pb.TenantsGetRequest_Names{Names: &pb.TenantNames{Values: []string{tenant}}},
	})
	if err != nil {
		return false, err
	}
	return len(reply.GetTenants()) == 0, nil
}

// readByIDs reads the objects of the given ids of the domain. It omits missing ones. A node that was down may return
// an earlier state of mutable properties.
func (b *Bank) readByIDs(
	ctx context.Context, scope memory.Scope, collection string, ids []string, shape func(*pb.SearchRequest),
) ([]*pb.SearchResult, error) {
	key := hashID(scope.User)
	var out []*pb.SearchResult
	for chunk := range slices.Chunk(ids, idsPerQuery) {
		objects := make([]string, len(chunk))
		for i, id := range chunk {
			objects[i] = objectID(key, id)
		}
		found, err := b.read(ctx, scope, collection, shape, anyOf(propObjectID, objects))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		if !b.replicated || len(found) == len(chunk) {
			continue
		}
		have := map[string]bool{}
		for _, r := range found {
			have[r.GetMetadata().GetId()] = true
		}
		var missed []string
		for i, id := range chunk {
			if !have[objects[i]] {
				missed = append(missed, id)
			}
		}
		asked := &pb.SearchRequest{Metadata: &pb.MetadataRequest{}}
		shape(asked)
		if found, err = b.newestByIDs(ctx, scope, collection, missed, asked.GetMetadata().GetVector()); err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// whole leaves a query unchanged: all properties, no vector.
func whole(*pb.SearchRequest) {}

// only requests some properties instead of all.
func only(properties ...string) func(*pb.SearchRequest) {
	return func(req *pb.SearchRequest) {
		req.Properties = &pb.PropertiesRequest{NonRefProperties: properties}
	}
}

// entryFields requests the properties of decodeEntry.
func entryFields(req *pb.SearchRequest) {
	only(propEntry, propStatus, propValidTo)(req)
}

// compare returns a filter by one property. Times are texts too, in RFC 3339.
func compare(property string, operator pb.Filters_Operator, value string) *pb.Filters {
	return &pb.Filters{
		Operator: operator, TestValue: &pb.Filters_ValueText{ValueText: value},
		Target: &pb.FilterTarget{Target: &pb.FilterTarget_Property{Property: property}},
	}
}

func equal(property, value string) *pb.Filters {
	return compare(property, pb.Filters_OPERATOR_EQUAL, value)
}

// anyOf matches objects with one of the values in a property or in a list. The lookup of one value is faster than the
// lookup of a list with one value.
func anyOf(property string, values []string) *pb.Filters {
	if len(values) == 1 {
		return equal(property, values[0])
	}
	f := compare(property, pb.Filters_OPERATOR_CONTAINS_ANY, "")
	f.TestValue = &pb.Filters_ValueTextArray{ValueTextArray: &pb.TextArray{Values: values}}
	return f
}

// inStatus filters by states. Without states there is no filter.
func inStatus(statuses []memory.Status) []*pb.Filters {
	if len(statuses) == 0 {
		return nil
	}
	values := make([]string, len(statuses))
	for i, s := range statuses {
		values[i] = string(s)
	}
	return []*pb.Filters{anyOf(propStatus, values)}
}

// inTier filters by tiers. Without tiers, or with both, there is no filter. A memory has no value of the property, as
// the entries of earlier schemas.
func inTier(tiers []memory.Tier) []*pb.Filters {
	talk, memories := slices.Contains(tiers, memory.TierTalk), slices.Contains(tiers, memory.TierMemory)
	switch {
	case talk == memories:
		return nil
	case talk:
		return []*pb.Filters{equal(propTier, string(memory.TierTalk))}
	}
	return []*pb.Filters{compare(propTier, pb.Filters_OPERATOR_NOT_EQUAL, string(memory.TierTalk))}
}

// madeOf filters by the source turns of entries. Without turns there is no filter.
func madeOf(turnIDs []string) []*pb.Filters {
	if len(turnIDs) == 0 {
		return nil
	}
	return []*pb.Filters{anyOf(propSources, hashIDs(turnIDs))}
}

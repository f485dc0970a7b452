package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// putCore writes a version of the core block, and removes the version that is then too old. A repetition writes the
// same bytes again.
func (b *Bank) putCore(ctx context.Context, scope memory.Scope, c memory.Core) error {
	block, err := json.Marshal(c)
	if err != nil {
		return fault.Terminal("write.core", "%w", err)
	}
	p := owned(scope)
	p.text("block", string(block))
	p[propVersion] = c.Version
	if err := b.upsert(ctx, []*models.Object{newObject(b.collections.core(), scope, coreID(c.Version), p)}); err != nil {
		return err
	}
	old := c.Version - memory.CoreVersions
	if old < 1 {
		return nil
	}
	err = b.rest.Data().Deleter().WithClassName(b.collections.core()).WithTenant(scope.Tenant).
		WithID(objectID(hashID(scope.User), coreID(old))).Do(ctx)
	if err != nil && !refusedWith(err, http.StatusNotFound) {
		return failed(ctx, "remove an old core block", err)
	}
	return nil
}

func coreID(version int) string { return "core/" + strconv.Itoa(version) }

// Core implements bank.Bank.
func (b *Bank) Core(ctx context.Context, scope memory.Scope) (memory.Core, error) {
	results, err := b.read(ctx, scope, b.collections.core(), func(req *pb.SearchRequest) {
		whole(req)
		req.Limit = 1
		req.SortBy = []*pb.SortBy{{Ascending: false, Path: []string{propVersion}}}
	})
	if err != nil {
		return memory.Core{}, err
	}
	var c memory.Core
	for {
		for _, r := range results {
			var next memory.Core // JSON omits empty fields, and the previous version's values must not stay
			if err := json.Unmarshal([]byte(open(r).text("block")), &next); err != nil {
				return memory.Core{}, fmt.Errorf("decode property block: %w", err)
			}
			c = next
		}
		if !b.replicated {
			return c, nil
		}
		// The replica of the search may lack later versions. A writer that builds on its newest version would write one
		// of them again. If the replica lacks as many versions as the store keeps, the loop ends at the gap. That can
		// occur for minutes after a complete loss of the replica: it is read before it has data.
		results, err = b.newestByIDs(ctx, scope, b.collections.core(), []string{coreID(c.Version + 1)}, false)
		if err != nil || len(results) == 0 {
			return c, err
		}
	}
}

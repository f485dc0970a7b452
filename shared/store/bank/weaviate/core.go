package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/weaviate/weaviate/entities/models"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// putCore writes a version of the core block. A repeated one writes the same bytes again.
func (b *Bank) putCore(ctx context.Context, scope memory.Scope, c memory.Core) error {
	block, err := json.Marshal(c)
	if err != nil {
		return fault.Terminal("write.core", "%w", err)
	}
	p := owned(scope)
	p.text("block", string(block))
	p[propVersion] = c.Version
	return b.upsert(ctx, []*models.Object{newObject(b.collections.core(), scope, "core/"+strconv.Itoa(c.Version), p)})
}

// Core implements bank.Bank.
func (b *Bank) Core(ctx context.Context, scope memory.Scope) (memory.Core, error) {
	results, err := b.read(ctx, scope, b.collections.core(), func(req *pb.SearchRequest) {
		whole(req)
		req.Limit = 1
		req.SortBy = []*pb.SortBy{{Ascending: false, Path: []string{propVersion}}}
	})
	if err != nil || len(results) == 0 {
		return memory.Core{}, err
	}
	var c memory.Core
	if err := json.Unmarshal([]byte(open(results[0]).text("block")), &c); err != nil {
		return memory.Core{}, fmt.Errorf("decode property block: %w", err)
	}
	return c, nil
}

package weaviate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/weaviate/weaviate/entities/models"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// metaID is the id of the only object of the meta collection.
const metaID = "6d6e656d-6500-5000-8000-000000000001"

var errNoClass = errors.New("it does not exist")

// migrate creates the collections and adds missing properties. Replicas may race: the slower one finds the
// collections of the faster one.
func (b *Bank) migrate(ctx context.Context) error {
	for _, want := range b.collections.classes() {
		have, err := b.class(ctx, want.Class)
		if err != nil {
			return err
		}
		if have == nil {
			have, err = b.createClass(ctx, want)
			if err != nil {
				return err
			}
		}
		if err := b.addProperties(ctx, have, want); err != nil {
			return err
		}
		if err := b.resolveDeletions(ctx, want); err != nil {
			return err
		}
		r := have.ReplicationConfig
		b.replicated = b.replicated || r != nil && r.Factor > 1
		if r != nil && b.collections.replicas > 0 && r.Factor != want.ReplicationConfig.Factor {
			b.warnings = append(b.warnings, fmt.Sprintf("the collection %s has %d replicas, but MNEME_WEAVIATE_REPLICAS is %d: "+
				"an existing collection keeps its number", want.Class, r.Factor, b.collections.replicas))
		}
	}
	return nil
}

// resolveDeletions sets the repair of replicas in a collection of an older version. Otherwise a node that was down
// would restore erased objects. The number of replicas stays.
func (b *Bank) resolveDeletions(ctx context.Context, want *models.Class) error {
	strategy := want.ReplicationConfig.DeletionStrategy
	resolved := func() (have *models.Class, done bool, err error) {
		have, err = b.class(ctx, want.Class)
		return have, err == nil && have != nil && (have.ReplicationConfig == nil ||
			have.ReplicationConfig.DeletionStrategy == strategy), err
	}
	have, done, err := resolved()
	if err != nil || have == nil || done {
		return err
	}
	r := have.ReplicationConfig
	r.DeletionStrategy, r.AsyncEnabled = strategy, r.AsyncEnabled || r.Factor > 1
	if updateErr := b.rest.Schema().ClassUpdater().WithClass(have).Do(ctx); updateErr != nil {
		if _, done, err := resolved(); err != nil || !done { // else another replica of this service has done it
			return errors.Join(failed(ctx, "set how deletions in "+want.Class+" are resolved", updateErr), err)
		}
	}
	return nil
}

// Warnings returns the settings that the existing collections do not have and cannot get.
func (b *Bank) Warnings() []string { return b.warnings }

// class returns a collection's schema, or nil without the collection.
func (b *Bank) class(ctx context.Context, name string) (*models.Class, error) {
	c, err := b.rest.Schema().ClassGetter().WithClassName(name).Do(ctx)
	if refusedWith(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(ctx, "read schema of "+name, err)
	}
	return c, nil
}

// createClass creates a collection, or returns the collection that another replica has just created.
func (b *Bank) createClass(ctx context.Context, want *models.Class) (*models.Class, error) {
	createErr := b.rest.Schema().ClassCreator().WithClass(want).Do(ctx)
	have, err := b.class(ctx, want.Class) // also for a new collection, because the server may set its replicas
	if err != nil {
		return nil, err
	}
	if have == nil {
		return nil, failed(ctx, "create "+want.Class, cmp.Or(createErr, errNoClass))
	}
	return have, nil
}

func (b *Bank) addProperties(ctx context.Context, have, want *models.Class) error {
	for _, p := range missing(have, want) {
		addErr := b.rest.Schema().PropertyCreator().WithClassName(want.Class).WithProperty(p).Do(ctx)
		if addErr == nil {
			continue
		}
		now, err := b.class(ctx, want.Class)
		if err != nil {
			return err
		}
		if now == nil || !hasProperty(now, p.Name) {
			return failed(ctx, fmt.Sprintf("add property %s to %s", p.Name, want.Class), addErr)
		}
	}
	return nil
}

func missing(have, want *models.Class) []*models.Property {
	return slices.DeleteFunc(slices.Clone(want.Properties), func(p *models.Property) bool {
		return hasProperty(have, p.Name)
	})
}

func hasProperty(c *models.Class, name string) bool {
	return slices.ContainsFunc(c.Properties, func(p *models.Property) bool { return p.Name == name })
}

// meta is the content of the meta object.
type meta struct {
	schemaVersion int
	model         string
	dimension     int
}

// checkEmbedding records the embedding if there is no record, and compares it otherwise. The object is created and
// never replaced, so one of several starting replicas decides.
func (b *Bank) checkEmbedding(ctx context.Context, model string) error {
	stored, err := b.readMeta(ctx)
	if err != nil {
		return err
	}
	if stored == nil {
		if stored, err = b.createMeta(ctx, meta{schemaVersion: schemaVersion, model: model,
			dimension: b.dimension}); err != nil {
			return err
		}
	}
	if stored.model != model || stored.dimension != b.dimension {
		return fault.Terminal("embedding", "%w: the bank %s holds vectors of %q with %d dimensions, configured is %q with "+
			"%d; configure the bank's model, or form the memories again in a bank with another MNEME_WEAVIATE_PREFIX",
			bank.ErrEmbeddingMismatch, b.collections.prefix, stored.model, stored.dimension, model, b.dimension)
	}
	if stored.schemaVersion < schemaVersion {
		return b.raiseSchemaVersion(ctx)
	}
	return nil
}

// readMeta returns the meta object, or nil without it.
func (b *Bank) readMeta(ctx context.Context) (*meta, error) {
	objects, err := b.rest.Data().ObjectsGetter().WithClassName(b.collections.meta()).WithID(metaID).Do(ctx)
	if refusedWith(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(ctx, "read "+b.collections.meta(), err)
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("read %s: got %d objects, want 1", b.collections.meta(), len(objects))
	}
	props, ok := objects[0].Properties.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("read %s: it has no properties", b.collections.meta())
	}
	version, _ := props["schemaVersion"].(float64)
	model, _ := props["embeddingModel"].(string)
	dimension, _ := props["dimension"].(float64)
	return &meta{schemaVersion: int(version), model: model, dimension: int(dimension)}, nil
}

// createMeta creates the meta object and returns it, or returns the object that another replica has just created.
func (b *Bank) createMeta(ctx context.Context, m meta) (*meta, error) {
	_, createErr := b.rest.Data().Creator().WithClassName(
		b.collections.meta()).WithID(metaID).WithProperties(map[string]any{
		"schemaVersion": m.schemaVersion, "embeddingModel": m.model, "dimension": m.dimension,
	}).Do(ctx)
	stored, err := b.readMeta(ctx)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, failed(ctx, "create "+b.collections.meta(), createErr)
	}
	return stored, nil
}

func (b *Bank) raiseSchemaVersion(ctx context.Context) error {
	err := b.rest.Data().Updater().WithMerge().WithClassName(b.collections.meta()).WithID(metaID).
		WithProperties(map[string]any{"schemaVersion": schemaVersion}).Do(ctx)
	if err != nil {
		return failed(ctx, "update "+b.collections.meta(), err)
	}
	return nil
}

// objectID is the id of an object in Weaviate. It depends on the user, so that two users' objects never collide.
func objectID(userKey, id string) string {
	return uuid.NewSHA1(uuid.MustParse(metaID), []byte(userKey+"/"+id)).String()
}

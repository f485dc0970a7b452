package weaviate

import (
	"github.com/weaviate/weaviate/entities/models"

	"github.com/mneme-memory/mneme/shared/store/bank"
)

// schemaVersion counts the changes of the schema. A change only adds properties and collections, so that a replica of
// the previous version works on the new schema.
const schemaVersion = 8

// collections names the collections of one bank.
type collections struct {
	prefix   string
	replicas int // 0 is the server's default
}

func (c collections) memory() string  { return c.prefix + "Memory" }
func (c collections) turn() string    { return c.prefix + "Turn" }
func (c collections) session() string { return c.prefix + "Session" }
func (c collections) core() string    { return c.prefix + "Core" }
func (c collections) dropped() string { return c.prefix + "Dropped" }
func (c collections) meta() string    { return c.prefix + "Meta" }

// Property names with several uses. The user and sources properties hold hashes (see hashID), and the entry property
// holds the whole entry (see encodeEntry).
const (
	propUser         = "user"
	propUserID       = "userId"
	propEntryID      = "entryId"
	propTerms        = "terms"
	propRecordedAt   = "recordedAt"
	propStatus       = "status"
	propTier         = "tier"
	propValidFrom    = "validFrom"
	propValidTo      = "validTo"
	propClosedBy     = "closedBy"
	propReleasedBy   = "releasedBy"
	propEntry        = "entry"
	propPredecessors = "predecessors"
	propSources      = "sources"
	propTokens       = "tokens"
	propAttributes   = "attributes"
	propVersion      = "version"
	propObjectID     = "_id" // built in
)

// classes is the whole schema. Weaviate's automatic schema is not used.
func (c collections) classes() []*models.Class {
	// Properties in filters and orders, and mutable ones, are separate. One property has the rest, because the server
	// takes longer to return twenty properties than to search.
	memories := tenanted(c.memory(), "One entry of a user's bank.",
		exact(propUser), stored(propUserID, "text"), exact(propEntryID), searched(propTerms), stored(propEntry, "text"),
		ranged(propRecordedAt), exactList(propPredecessors), exactList(propSources), exactList(propTokens),
		exact(propStatus), exact(propTier), ranged(propValidFrom), stored(propValidTo, "date"), stored(propClosedBy, "text"),
		stored(propReleasedBy, "text"))
	// Flat index: a search compares all vectors of the filtered user exactly, and inserts cost nothing.
	memories.VectorIndexType = "flat"
	memories.VectorIndexConfig = map[string]any{"distance": "cosine"}

	turns := tenanted(c.turn(), "One consolidated turn.",
		exact(propUser), stored(propUserID, "text"), exact("turnId"), exact("sessionId"), stored("speaker", "text"),
		stored("role", "text"), stored("text", "text"), stored("caption", "text"), stored("time", "date"),
		stored("saliency", "text"), stored(propAttributes, "text"))
	sessions := tenanted(c.session(), "One consolidated session.",
		exact(propUser), stored(propUserID, "text"), exact("sessionId"), stored("formedAt", "date"),
		stored("turns", "int"), stored("operations", "int"), stored("closed", "boolean"))
	// One object per version; the highest version is the block.
	core := tenanted(c.core(), "One version of a user's core block.",
		exact(propUser), stored(propUserID, "text"), ranked(propVersion), stored("block", "text"))
	dropped := tenanted(c.dropped(), "The filter's decision on one turn that did not pass.",
		exact(propUser), stored(propUserID, "text"), exact("turnId"), stored("sessionId", "text"), stored("time", "date"),
		stored("score", "number"), stored("threshold", "number"), stored("policyVersion", "text"),
		stored("decidedAt", "date"))
	meta := class(c.meta(), "What the bank was filled with.",
		stored("schemaVersion", "int"), stored("embeddingModel", "text"), stored("dimension", "int"))
	all := []*models.Class{memories, turns, sessions, core, dropped, meta}
	for _, each := range all {
		each.ReplicationConfig = c.replication()
	}
	return all
}

// replication repairs a node automatically after an outage, and the last write or deletion wins. With the server's
// default, an erased object would return with the node. It is also set for 0, because the server's minimum may be
// more than one.
func (c collections) replication() *models.ReplicationConfig {
	return &models.ReplicationConfig{
		Factor: int64(c.replicas), AsyncEnabled: c.replicas != 1,
		DeletionStrategy: models.ReplicationConfigDeletionStrategyTimeBasedResolution,
	}
}

// class returns a collection without vectors.
func class(name, description string, properties ...*models.Property) *models.Class {
	return &models.Class{
		Class: name, Description: description, Properties: properties,
		Vectorizer: "none", VectorIndexType: "hnsw", VectorIndexConfig: map[string]any{"skip": true},
		InvertedIndexConfig: &models.InvertedIndexConfig{
			Bm25:      &models.BM25Config{K1: float32(bank.BM25.K1), B: float32(bank.BM25.B)},
			Stopwords: &models.StopwordConfig{Preset: "none"}, // the analysis has removed them
		},
	}
}

// tenanted returns a collection with one tenant per customer. The first write of a customer creates the tenant.
func tenanted(name, description string, properties ...*models.Property) *models.Class {
	c := class(name, description, properties...)
	c.MultiTenancyConfig = &models.MultiTenancyConfig{Enabled: true, AutoTenantCreation: true, AutoTenantActivation: true}
	return c
}

// stored returns a property without filters and matches.
func stored(name, dataType string) *models.Property {
	p := &models.Property{Name: name, DataType: []string{dataType}, IndexFilterable: new(false),
		IndexSearchable: new(false)}
	if dataType == "text" {
		p.Tokenization = models.PropertyTokenizationField
	}
	return p
}

// exact returns a text property for filters on the whole value.
func exact(name string) *models.Property {
	p := stored(name, "text")
	p.IndexFilterable = new(true)
	return p
}

// exactList returns a list property for filters on whole values.
func exactList(name string) *models.Property {
	p := exact(name)
	p.DataType = []string{"text[]"}
	p.Tokenization = models.PropertyTokenizationField
	return p
}

// searched returns a text property for BM25, split at white space. The analysis comes from the bank, not from
// Weaviate.
func searched(name string) *models.Property {
	return &models.Property{
		Name: name, DataType: []string{"text"}, Tokenization: models.PropertyTokenizationWhitespace,
		IndexFilterable: new(false), IndexSearchable: new(true),
	}
}

// ranged returns a time property for range filters.
func ranged(name string) *models.Property {
	p := stored(name, "date")
	p.IndexFilterable, p.IndexRangeFilters = new(true), new(true)
	return p
}

// ranked returns a number property for sorting.
func ranked(name string) *models.Property {
	p := stored(name, "int")
	p.IndexFilterable, p.IndexRangeFilters = new(true), new(true)
	return p
}

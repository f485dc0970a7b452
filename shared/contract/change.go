package contract

import (
	"time"

	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// MemoryChange announces a write to the bank.
type MemoryChange struct {
	Envelope
	// Operation is the kind of the operation.
	Operation memory.OpKind
	// MemoryID is the written entry, or the first entry retracted or released.
	MemoryID string
	// ClosedIDs are the entries closed.
	ClosedIDs []string
	// Tier is TierTalk if all entries of the change are talk.
	Tier memory.Tier
	// Time is the time of the write.
	Time time.Time
}

// DecodeMemoryChange decodes and checks a record of TopicMemoryChanges. Its errors are terminal and name the field.
func DecodeMemoryChange(key, value []byte) (MemoryChange, error) {
	var p mnemev1.MemoryChange
	if err := unmarshal(value, &p, "MemoryChange"); err != nil {
		return MemoryChange{}, err
	}
	if err := checkVersion(p.GetSchemaVersion()); err != nil {
		return MemoryChange{}, err
	}
	c := MemoryChange{
		Envelope: envelope(&p), Operation: operationFrom(p.GetOperation()),
		MemoryID: p.GetMemoryId(), ClosedIDs: p.GetClosedIds(), Tier: keyOf(tiers, p.GetTier()), Time: p.GetTime().AsTime(),
	}
	return c, checkEnvelope(c.Envelope, key)
}

// Encode encodes the change.
func (c MemoryChange) Encode() ([]byte, error) {
	return proto.Marshal(&mnemev1.MemoryChange{
		SchemaVersion: SchemaVersion, EventId: c.EventID, TenantId: c.Scope.Tenant, UserId: c.Scope.User,
		Operation: operationTo(c.Operation), MemoryId: c.MemoryID, ClosedIds: c.ClosedIDs, Tier: tiers[c.Tier],
		Time: stamp(c.Time),
	})
}

// MaxShown is the maximum number of memories in a feedback. It covers a hundred by rank, memories with separate
// places, and the memories behind the lines of the core block.
const MaxShown = 200

// CitationSource names the component that cited the memories of an answer.
type CitationSource string

// The sources of citations.
const (
	CitationUnknown  CitationSource = ""         // a utilizer of an earlier version omits it
	CitationEmbedded CitationSource = "embedded" // the generator without a model, which quotes the memories ranked first
	CitationModel    CitationSource = "model"
	CitationCaller   CitationSource = "caller"
)

var citationSources = map[CitationSource]mnemev1.CitationSource{
	CitationUnknown:  mnemev1.CitationSource_CITATION_SOURCE_UNSPECIFIED,
	CitationEmbedded: mnemev1.CitationSource_CITATION_SOURCE_EMBEDDED,
	CitationModel:    mnemev1.CitationSource_CITATION_SOURCE_MODEL,
	CitationCaller:   mnemev1.CitationSource_CITATION_SOURCE_CALLER,
}

// citationSource reads the source in a record. A source that only a later version defines is unknown.
func citationSource(said mnemev1.CitationSource) CitationSource {
	for source, p := range citationSources {
		if p == said {
			return source
		}
	}
	return CitationUnknown
}

// Feedback lists the cited memories among the shown ones.
type Feedback struct {
	Envelope
	RecallID string
	Shown    []string
	Cited    []string
	// Source is the component that cited.
	Source CitationSource
	Time   time.Time
}

// DecodeFeedback decodes and checks a record of TopicFeedback. Its errors are terminal and name the field.
func DecodeFeedback(key, value []byte, now time.Time) (Feedback, error) {
	var p mnemev1.Feedback
	if err := unmarshal(value, &p, "Feedback"); err != nil {
		return Feedback{}, err
	}
	if err := checkVersion(p.GetSchemaVersion()); err != nil {
		return Feedback{}, err
	}
	f := Feedback{
		Envelope: envelope(&p), RecallID: p.GetRecallId(), Shown: p.GetShownIds(), Cited: p.GetCitedIds(),
		Source: citationSource(p.GetSource()),
	}
	if err := checkEnvelope(f.Envelope, key); err != nil {
		return Feedback{}, err
	}
	if err := f.check(); err != nil {
		return Feedback{}, err
	}
	var err error
	f.Time, err = timeOf("time", p.GetTime(), now)
	return f, err
}

// check reports a fault in the citations. It also serves citations that come in by RPC.
func (f Feedback) check() error {
	if err := memory.ValidText("recall_id", f.RecallID, memory.MaxIDBytes); err != nil {
		return err
	}
	if len(f.Shown) == 0 || len(f.Shown) > MaxShown {
		return fault.Terminal("shown_ids", "has %d entries, want 1 to %d", len(f.Shown), MaxShown)
	}
	shown := make(map[string]bool, len(f.Shown))
	for _, id := range f.Shown {
		if id == "" || shown[id] {
			return fault.Terminal("shown_ids", "has an empty or repeated entry, want each shown memory once")
		}
		shown[id] = true
	}
	cited := make(map[string]bool, len(f.Cited))
	for _, id := range f.Cited {
		if !shown[id] || cited[id] {
			return fault.Terminal("cited_ids", "has an entry that was not shown or is repeated, want a subset of shown_ids")
		}
		cited[id] = true
	}
	return nil
}

// Encode checks and encodes the feedback.
func (f Feedback) Encode() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return proto.Marshal(&mnemev1.Feedback{
		SchemaVersion: SchemaVersion, EventId: f.EventID, TenantId: f.Scope.Tenant, UserId: f.Scope.User,
		RecallId: f.RecallID, ShownIds: f.Shown, CitedIds: f.Cited, Time: stamp(f.Time), Source: citationSources[f.Source],
	})
}

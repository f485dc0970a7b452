package contract

import (
	"time"

	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// MemoryChange says that the bank was written.
type MemoryChange struct {
	Envelope
	// Operation is what was done.
	Operation memory.OpKind
	// MemoryID is the entry written, or the first one retracted or released.
	MemoryID string
	// ClosedIDs are the entries closed.
	ClosedIDs []string
	// Time is when.
	Time time.Time
}

// DecodeMemoryChange decodes and checks a record of TopicMemoryChanges. Its errors are
// terminal and name the field.
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
		MemoryID: p.GetMemoryId(), ClosedIDs: p.GetClosedIds(), Time: p.GetTime().AsTime(),
	}
	return c, checkEnvelope(c.Envelope, key)
}

// Encode encodes the change.
func (c MemoryChange) Encode() ([]byte, error) {
	return proto.Marshal(&mnemev1.MemoryChange{
		SchemaVersion: SchemaVersion, EventId: c.EventID, TenantId: c.Scope.Tenant, UserId: c.Scope.User,
		Operation: operationTo(c.Operation), MemoryId: c.MemoryID, ClosedIds: c.ClosedIDs, Time: stamp(c.Time),
	})
}

// MaxShown is how many memories a feedback may speak of: a hundred by rank, those with places of their own, and what the lines of the core
// block rest on.
const MaxShown = 200

// CitationSource is whose word it is that an answer rests on what it cites.
type CitationSource string

// The sources of citations.
const (
	CitationUnknown  CitationSource = ""         // a utilizer of an earlier version did not say it
	CitationEmbedded CitationSource = "embedded" // the generator without a model, which quotes what was ranked first
	CitationModel    CitationSource = "model"
	CitationCaller   CitationSource = "caller"
)

var citationSources = map[CitationSource]mnemev1.CitationSource{
	CitationUnknown: mnemev1.CitationSource_CITATION_SOURCE_UNSPECIFIED, CitationEmbedded: mnemev1.CitationSource_CITATION_SOURCE_EMBEDDED,
	CitationModel: mnemev1.CitationSource_CITATION_SOURCE_MODEL, CitationCaller: mnemev1.CitationSource_CITATION_SOURCE_CALLER,
}

// citationSource is what a record says; a source that only a later version knows is an unknown one.
func citationSource(said mnemev1.CitationSource) CitationSource {
	for source, p := range citationSources {
		if p == said {
			return source
		}
	}
	return CitationUnknown
}

// Feedback says which of the shown memories were cited.
type Feedback struct {
	Envelope
	RecallID string
	Shown    []string
	Cited    []string
	// Source is who cited.
	Source CitationSource
	Time   time.Time
}

// DecodeFeedback decodes and checks a record of TopicFeedback. Its errors are terminal
// and name the field.
func DecodeFeedback(key, value []byte, now time.Time) (Feedback, error) {
	var p mnemev1.Feedback
	if err := unmarshal(value, &p, "Feedback"); err != nil {
		return Feedback{}, err
	}
	if err := checkVersion(p.GetSchemaVersion()); err != nil {
		return Feedback{}, err
	}
	f := Feedback{
		Envelope: envelope(&p), RecallID: p.GetRecallId(), Shown: p.GetShownIds(), Cited: p.GetCitedIds(), Source: citationSource(p.GetSource()),
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

// Check says what is wrong with the citations: it is used where they come in by RPC, too.
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

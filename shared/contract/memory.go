package contract

import (
	"google.golang.org/protobuf/types/known/structpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

var (
	kinds = map[memory.Kind]mnemev1.Kind{
		memory.KindFact: mnemev1.Kind_KIND_FACT, memory.KindPreference: mnemev1.Kind_KIND_PREFERENCE,
		memory.KindEpisodic: mnemev1.Kind_KIND_EPISODIC, memory.KindSemantic: mnemev1.Kind_KIND_SEMANTIC,
		memory.KindProcedural: mnemev1.Kind_KIND_PROCEDURAL,
	}
	statuses = map[memory.Status]mnemev1.Status{
		memory.StatusActive: mnemev1.Status_STATUS_ACTIVE, memory.StatusSuperseded: mnemev1.Status_STATUS_SUPERSEDED,
		memory.StatusRetracted: mnemev1.Status_STATUS_RETRACTED, memory.StatusQuarantined: mnemev1.Status_STATUS_QUARANTINED,
	}
	tiers = map[memory.Tier]mnemev1.Tier{
		memory.TierMemory: mnemev1.Tier_TIER_MEMORY, memory.TierTalk: mnemev1.Tier_TIER_TALK,
	}
	operations = map[memory.OpKind]mnemev1.Operation{
		memory.OpAdd: mnemev1.Operation_OPERATION_ADD, memory.OpUpdate: mnemev1.Operation_OPERATION_UPDATE,
		memory.OpMerge: mnemev1.Operation_OPERATION_MERGE, memory.OpDelete: mnemev1.Operation_OPERATION_DELETE,
		memory.OpNone: mnemev1.Operation_OPERATION_NONE, memory.OpErase: mnemev1.Operation_OPERATION_ERASE,
		memory.OpAppend: mnemev1.Operation_OPERATION_APPEND, memory.OpReplace: mnemev1.Operation_OPERATION_REPLACE,
		memory.OpRewrite: mnemev1.Operation_OPERATION_REWRITE, memory.OpRelease: mnemev1.Operation_OPERATION_RELEASE,
	}
	precisions = map[memory.Precision]mnemev1.Precision{
		memory.PrecisionDay: mnemev1.Precision_PRECISION_DAY, memory.PrecisionMonth: mnemev1.Precision_PRECISION_MONTH,
		memory.PrecisionYear: mnemev1.Precision_PRECISION_YEAR,
	}
)

// keyOf returns the domain's word for a contract's value, or "".
func keyOf[K ~string, V comparable](m map[K]V, v V) K {
	for k, candidate := range m {
		if candidate == v {
			return k
		}
	}
	return ""
}

func operationFrom(o mnemev1.Operation) memory.OpKind { return keyOf(operations, o) }
func operationTo(o memory.OpKind) mnemev1.Operation   { return operations[o] }

// StatusFrom converts a status. The unspecified status gives "".
func StatusFrom(s mnemev1.Status) memory.Status { return keyOf(statuses, s) }

// TierFrom converts a tier. The result ok is false for a value that is no tier.
func TierFrom(t mnemev1.Tier) (tier memory.Tier, ok bool) {
	tier = keyOf(tiers, t)
	return tier, tiers[tier] == t
}

// TierChoices are the values of a parameter that chooses the tiers of a list. The first is the default.
func TierChoices() []string { return []string{"memory", "talk", "all"} }

// TiersOf returns the tiers of a choice, for ListMemoriesRequest. They are memories for an empty choice.
func TiersOf(choice string) []mnemev1.Tier {
	switch choice {
	case "talk":
		return []mnemev1.Tier{mnemev1.Tier_TIER_TALK}
	case "all":
		return []mnemev1.Tier{mnemev1.Tier_TIER_MEMORY, mnemev1.Tier_TIER_TALK}
	}
	return []mnemev1.Tier{mnemev1.Tier_TIER_MEMORY}
}

// TierName returns the tier of talk in a view of a client. It is empty for a memory.
func TierName(m *mnemev1.Memory) string {
	tier, _ := TierFrom(m.GetTier())
	return string(tier)
}

// KindFrom converts a kind. An unspecified or unknown kind gives "".
func KindFrom(k mnemev1.Kind) memory.Kind { return keyOf(kinds, k) }

// MemoryToProto converts an entry.
func MemoryToProto(m memory.Memory) *mnemev1.Memory {
	p := &mnemev1.Memory{
		Id: m.ID, Kind: kinds[m.Kind], Tier: tiers[m.Tier], Content: m.Content, Speaker: m.Speaker, Value: m.Value,
		Topic: m.Topic, Keywords: m.Keywords,
		RecordedAt: stamp(m.RecordedAt), ValidFrom: stamp(m.ValidFrom), ValidTo: stamp(m.ValidTo),
		Status: statuses[m.Status], Version: uint32(max(m.Version, 0)), //nolint:gosec // versions are small and not negative
		PredecessorIds: m.Predecessors, LinkedIds: m.Links, SourceTurnIds: m.Sources, SessionId: m.SessionID,
		Strategy: m.Strategy, PolicyVersion: m.PolicyVersion, OperationId: m.OperationID, TraceId: m.TraceID,
		Quarantine: m.Quarantine,
		Metadata:   structOf(m.Metadata), AgentId: m.AgentID, AppId: m.AppID, RunId: m.RunID, AliasOf: m.AliasOf,
	}
	if !m.EventTime.Time.IsZero() {
		p.EventTime = &mnemev1.EventTime{
			Time: stamp(m.EventTime.Time), Precision: precisions[m.EventTime.Precision], Expression: m.EventTime.Expression,
			End: stamp(m.EventTime.End),
		}
	}
	return p
}

// CoreToProto converts a core block.
func CoreToProto(c memory.Core) *mnemev1.CoreBlock {
	p := &mnemev1.CoreBlock{
		Content: c.Content, Version: uint32(max(c.Version, 0)), //nolint:gosec // versions are small and not negative
		UpdatedAt: stamp(c.UpdatedAt), SourceTurnIds: c.Sources, SessionId: c.SessionID, PolicyVersion: c.PolicyVersion,
	}
	for _, l := range c.Lines {
		p.Lines = append(p.Lines, &mnemev1.CoreLine{Text: l.Text, MemoryIds: l.Memories})
	}
	return p
}

func attributesFrom(p *mnemev1.Turn) memory.Attributes {
	a := memory.Attributes{
		AgentID: p.GetAgentId(), AppID: p.GetAppId(), RunID: p.GetRunId(), AliasOf: memory.CanonicalID(p.GetAliasOf()),
	}
	if len(p.GetMetadata().GetFields()) > 0 {
		a.Metadata = p.GetMetadata().AsMap()
	}
	return a
}

// structOf converts metadata, which memory.CheckMetadata has accepted.
func structOf(metadata map[string]any) *structpb.Struct {
	if len(metadata) == 0 {
		return nil
	}
	s, err := structpb.NewStruct(metadata)
	if err != nil {
		return nil
	}
	return s
}

// FilterFrom converts and checks a filter; nil is the zero filter. Errors are terminal and name the part, beginning
// with `filter`.
func FilterFrom(p *mnemev1.Filter) (memory.Filter, error) {
	if p == nil {
		return memory.Filter{}, nil
	}
	f, err := filterFrom(p, 1)
	if err != nil {
		return memory.Filter{}, err
	}
	if f.IsZero() {
		return f, fault.Terminal("filter", "is empty, want one of and, or, not and a condition")
	}
	return f, f.Validate()
}

func filterFrom(p *mnemev1.Filter, depth int) (f memory.Filter, err error) {
	if depth > memory.MaxFilterDepth {
		return f, fault.Terminal("filter", "has more than %d levels", memory.MaxFilterDepth)
	}
	switch part := p.GetFilter().(type) {
	case *mnemev1.Filter_And:
		f.And, err = filtersFrom(part.And, depth)
	case *mnemev1.Filter_Or:
		f.Or, err = filtersFrom(part.Or, depth)
	case *mnemev1.Filter_Not:
		f.Not = new(memory.Filter)
		*f.Not, err = filterFrom(part.Not, depth+1)
	case *mnemev1.Filter_Condition:
		f.Condition = conditionFrom(part.Condition)
	}
	return f, err
}

func filtersFrom(p *mnemev1.Filters, depth int) ([]memory.Filter, error) {
	out := make([]memory.Filter, len(p.GetFilters()))
	for i, part := range p.GetFilters() {
		var err error
		if out[i], err = filterFrom(part, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// conditionFrom converts a condition; UUIDs in upper case become lower case. Validate refuses a null value as a missing
// test.
func conditionFrom(p *mnemev1.Condition) *memory.Condition {
	c := &memory.Condition{Field: p.GetField()}
	switch test := p.GetTest().(type) {
	case *mnemev1.Condition_Equals:
		c.Equals = test.Equals.AsInterface()
	case *mnemev1.Condition_In:
		c.In = test.In.AsSlice()
	case *mnemev1.Condition_Exists:
		c.Exists = &test.Exists
	case *mnemev1.Condition_Range:
		r := test.Range
		c.Range = &memory.Range{
			GT: r.GetGt().AsInterface(), GTE: r.GetGte().AsInterface(), LT: r.GetLt().AsInterface(),
			LTE: r.GetLte().AsInterface(),
		}
	case *mnemev1.Condition_Contains:
		c.Contains = test.Contains.AsInterface()
	}
	if c.Field == "id" {
		c.Equals = canonicalID(c.Equals)
		for i, value := range c.In {
			c.In[i] = canonicalID(value)
		}
	}
	return c
}

func canonicalID(value any) any {
	if id, ok := value.(string); ok {
		return memory.CanonicalID(id)
	}
	return value
}

// FilterToProto converts a valid filter; the zero filter gives nil.
func FilterToProto(f memory.Filter) *mnemev1.Filter {
	switch {
	case f.IsZero():
		return nil
	case f.Condition != nil:
		return &mnemev1.Filter{Filter: &mnemev1.Filter_Condition{Condition: conditionTo(*f.Condition)}}
	case f.Not != nil:
		return &mnemev1.Filter{Filter: &mnemev1.Filter_Not{Not: FilterToProto(*f.Not)}}
	case len(f.Or) > 0:
		return &mnemev1.Filter{Filter: &mnemev1.Filter_Or{Or: filtersTo(f.Or)}}
	}
	return &mnemev1.Filter{Filter: &mnemev1.Filter_And{And: filtersTo(f.And)}}
}

func filtersTo(parts []memory.Filter) *mnemev1.Filters {
	out := &mnemev1.Filters{}
	for _, part := range parts {
		out.Filters = append(out.Filters, FilterToProto(part))
	}
	return out
}

func conditionTo(c memory.Condition) *mnemev1.Condition {
	p := &mnemev1.Condition{Field: c.Field}
	switch {
	case c.Equals != nil:
		p.Test = &mnemev1.Condition_Equals{Equals: valueOf(c.Equals)}
	case c.In != nil:
		list := &structpb.ListValue{}
		for _, value := range c.In {
			list.Values = append(list.Values, valueOf(value))
		}
		p.Test = &mnemev1.Condition_In{In: list}
	case c.Exists != nil:
		p.Test = &mnemev1.Condition_Exists{Exists: *c.Exists}
	case c.Range != nil:
		p.Test = &mnemev1.Condition_Range{Range: &mnemev1.Range{
			Gt: valueOf(c.Range.GT), Gte: valueOf(c.Range.GTE), Lt: valueOf(c.Range.LT), Lte: valueOf(c.Range.LTE),
		}}
	case c.Contains != nil:
		p.Test = &mnemev1.Condition_Contains{Contains: valueOf(c.Contains)}
	}
	return p
}

// valueOf converts a text, number or truth value; nil gives nil.
func valueOf(value any) *structpb.Value {
	if value == nil {
		return nil
	}
	v, err := structpb.NewValue(value)
	if err != nil {
		return nil
	}
	return v
}

package contract

import (
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
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

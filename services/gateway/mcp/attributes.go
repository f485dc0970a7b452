package mcp

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// filterProperty is a filter as an argument.
func filterProperty() property {
	return property{name: "filter", schema: schema{
		"type": "object", "description": `Only memories that match: {"field":"metadata.project","equals":"x"}, with one of equals, in, exists, ` +
			`range (gt, gte, lt, lte) and contains, or {"and":[...]}, {"or":[...]}, {"not":{...}}. Fields: metadata.KEY, agent_id, app_id, ` +
			`run_id, session_id, kind, topic, speaker, keywords, id, recorded_at, valid_from, event_time.`,
	}}
}

// filterOf reads a filter that may be left out.
func filterOf(raw json.RawMessage) (*mnemev1.Filter, error) {
	f, err := memory.ParseFilter(raw)
	return contract.FilterToProto(f), err
}

// checkFilter checks a filter that may be left out.
func checkFilter(raw json.RawMessage) error {
	_, err := filterOf(raw)
	return err
}

// attributes are the caller's attributes of an addition.
type attributes struct {
	Metadata json.RawMessage `json:"metadata"`
	AgentID  string          `json:"agent_id"`
	AppID    string          `json:"app_id"`
}

// attributeProperties are the arguments of attributes.
func attributeProperties() []property {
	return []property{
		{name: "metadata", schema: schema{"type": "object",
			"description": fmt.Sprintf("A JSON object of the caller, which the "+
				"memories carry and filters test. At most %d bytes and %d levels.", memory.MaxMetadataBytes,
				memory.MaxMetadataDepth)}},
		text("agent_id", "The agent of the memory.", memory.MaxIDBytes),
		text("app_id", "The application of the memory.", memory.MaxIDBytes),
	}
}

// read returns the attributes, of a run where there is one.
func (in attributes) read(runID string) (memory.Attributes, error) {
	out := memory.Attributes{AgentID: in.AgentID, AppID: in.AppID, RunID: runID}
	if len(in.Metadata) > 0 && string(in.Metadata) == "null" {
		return out, problem.Invalid("metadata", "is null, want an object")
	}
	var err error
	if len(in.Metadata) > 0 {
		if out.Metadata, err = memory.ParseMetadata("metadata", in.Metadata); err != nil {
			return out, err
		}
	}
	return out, out.ValidateNew("")
}

// values returns the attributes as text. It is empty if the caller gave no attribute.
func (in attributes) values() []string {
	if len(in.Metadata) == 0 && in.AgentID == "" && in.AppID == "" {
		return nil
	}
	return []string{string(in.Metadata), in.AgentID, in.AppID}
}

// attributesView are the attributes of a memory as clients see them.
type attributesView struct {
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"metadata of the turns that it was made from"`
	AgentID  string         `json:"agent_id,omitempty"`
	AppID    string         `json:"app_id,omitempty"`
	RunID    string         `json:"run_id,omitempty"`
	AliasOf  string         `json:"alias_of,omitempty" jsonschema:"another identifier of it"`
}

func attributesOf(m *mnemev1.Memory) attributesView {
	return attributesView{
		Metadata: mapOf(m.GetMetadata()), AgentID: m.GetAgentId(), AppID: m.GetAppId(), RunID: m.GetRunId(),
		AliasOf: m.GetAliasOf(),
	}
}

// mapOf is an object; nil for none.
func mapOf(s *structpb.Struct) map[string]any {
	if len(s.GetFields()) == 0 {
		return nil
	}
	return s.AsMap()
}

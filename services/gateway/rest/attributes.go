package rest

import (
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"google.golang.org/protobuf/types/known/structpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// maxFilter bounds a filter in the query of a URL, in bytes.
const maxFilter = 16 << 10

// metadata is a JSON object of a caller's own.
type metadata freeObject

// Schema implements huma.SchemaProvider.
func (metadata) Schema(r huma.Registry) *huma.Schema {
	s := freeObject{}.Schema(r)
	s.Description = "A JSON object of your own, which memories carry and filters test: at most " +
		strconv.Itoa(memory.MaxMetadataBytes) +
		" bytes, " + strconv.Itoa(memory.MaxMetadataDepth) + " levels, keys of 1 to " +
		strconv.Itoa(memory.MaxMetadataKeyBytes) +
		" bytes. A number that a double does not hold exactly is refused: send it as text. A key whose value is " +
		"null is absent."
	return s
}

// filterObject is a filter in a body, filterText one in the query of a URL.
type (
	filterObject freeObject
	filterText   string
)

// filterDoc describes filters.
const filterDoc = `A filter in JSON: {"field":"metadata.colour","equals":"red"}, with one of ` +
	`equals, in (a list), exists (true or false), ` +
	`range (gt, gte, lt, lte: numbers, or dates as RFC 3339 text) and contains; {"and":[...]}, {"or":[...]} and {"not":{...}} of filters. ` +
	`Fields are metadata.KEY, agent_id, app_id, run_id, session_id, kind, topic, speaker, keywords, id, recorded_at, valid_from and ` +
	`event_time. At most 100 conditions on 8 levels.`

// Schema implements huma.SchemaProvider.
func (filterObject) Schema(r huma.Registry) *huma.Schema {
	s := freeObject{}.Schema(r)
	s.Description = filterDoc
	return s
}

// Schema implements huma.SchemaProvider.
func (filterText) Schema(huma.Registry) *huma.Schema { return text(maxFilter, filterDoc) }

// filterOf reads a filter, which stands in a part of the request.
func filterOf(location string, raw []byte) (*mnemev1.Filter, error) {
	f, err := memory.ParseFilter(raw)
	if err != nil {
		return nil, located{problem.From(err), location}
	}
	return contract.FilterToProto(f), nil
}

// NewAttributes are the caller's attributes for a new turn or memory.
type NewAttributes struct {
	Metadata metadata `json:"metadata,omitempty"`
	AgentID  textID   `json:"agent_id,omitempty" doc:"The agent of the turn or memory. At most 128 bytes."`
	AppID    textID   `json:"app_id,omitempty" doc:"The application of the turn or memory. At most 128 bytes."`
	RunID    textID   `json:"run_id,omitempty" doc:"The run of the turn or memory. At most 128 bytes."`
}

// read returns the attributes; at is where they stand in the body, empty or with a dot behind it.
func (in NewAttributes) read(at string) (memory.Attributes, error) {
	out := memory.Attributes{AgentID: string(in.AgentID), AppID: string(in.AppID), RunID: string(in.RunID)}
	if len(in.Metadata.RawMessage) == 0 {
		return out, nil
	}
	var err error
	if out.Metadata, err = memory.ParseMetadata(at+"metadata", in.Metadata.RawMessage); err != nil {
		return out, located{problem.From(err), inBody}
	}
	return out, nil
}

// Attributes are the attributes of a turn or a memory.
type Attributes struct {
	Metadata map[string]any `json:"metadata,omitempty" nullable:"false" doc:"Metadata of the source turns. If turns differ in a key, the newer value counts."`
	AgentID  string         `json:"agent_id,omitempty"`
	AppID    string         `json:"app_id,omitempty"`
	RunID    string         `json:"run_id,omitempty"`
	AliasOf  string         `json:"alias_of,omitempty" doc:"Another id of the same memory."`
}

// attributed is a message of the contracts with attributes.
type attributed interface {
	GetMetadata() *structpb.Struct
	GetAgentId() string
	GetAppId() string
	GetRunId() string
	GetAliasOf() string
}

func attributesOf(p attributed) Attributes {
	out := Attributes{AgentID: p.GetAgentId(), AppID: p.GetAppId(), RunID: p.GetRunId(), AliasOf: p.GetAliasOf()}
	if len(p.GetMetadata().GetFields()) > 0 {
		out.Metadata = p.GetMetadata().AsMap()
	}
	return out
}

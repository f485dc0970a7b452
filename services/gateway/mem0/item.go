package mem0

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// defaultSession is the session of turns without a run_id.
const defaultSession = "mem0"

// item is a memory as mem0's clients see it.
type item struct {
	ID     string `json:"id"`
	Memory string `json:"memory"`
	// Tier is "talk" for a part of a turn that is only searchable. It is absent for a memory.
	Tier string `json:"tier,omitempty"`
	// Hash is the same for the same text.
	Hash    string  `json:"hash"`
	UserID  *string `json:"user_id"`
	AgentID *string `json:"agent_id"`
	AppID   *string `json:"app_id"`
	RunID   *string `json:"run_id"`
	// Metadata is the metadata of the turns, and the speaker if the memory is a quotation.
	Metadata   map[string]any `json:"metadata"`
	Categories []string       `json:"categories"`
	// CreatedAt is the time of the memory's turn, and stays the same through updates. UpdatedAt is the time of this
	// version.
	CreatedAt string   `json:"created_at"`
	UpdatedAt string   `json:"updated_at"`
	Expires   *string  `json:"expiration_date"`
	Score     *float64 `json:"score,omitempty"`
	// VersionID is the id of the current version. ID is the id of the memory before its updates.
	VersionID string `json:"version_id"`
	Version   uint32 `json:"version"`

	created time.Time
}

// Keys of metadata. createdKey carries the creation time of the first version through updates. Clients do not see
// it.
const (
	speakerKey = "speaker"
	createdKey = "mem0_created_at"
)

// itemOf is a memory of a user as clients see it.
func itemOf(user string, m *mnemev1.Memory) *item {
	sum := sha256.Sum256([]byte(m.GetContent()))
	out := &item{
		ID: m.GetId(), VersionID: m.GetId(), Version: m.GetVersion(), Memory: m.GetContent(), Tier: contract.TierName(m),
		Hash: hex.EncodeToString(sum[:16]), Metadata: map[string]any{}, Categories: categoriesOf(m),
		created: createdAt(m), UpdatedAt: stamp(timeOf(m.GetRecordedAt())),
		AgentID: optional(m.GetAgentId()), AppID: optional(m.GetAppId()), RunID: optional(m.GetRunId()),
	}
	if s := m.GetSpeaker(); s != "" {
		out.Metadata[speakerKey] = s
	}
	maps.Copy(out.Metadata, metadataOf(m))
	out.CreatedAt = stamp(out.created)
	if known := m.GetAliasOf(); known != "" {
		out.ID = known
	}
	kind, id := entityOf(user)
	*map[string]**string{userType: &out.UserID, agentType: &out.AgentID, appType: &out.AppID,
		runType: &out.RunID}[kind] = &id
	return out
}

// metadataOf is the metadata of a memory that callers gave.
func metadataOf(m *mnemev1.Memory) map[string]any {
	out := m.GetMetadata().AsMap()
	delete(out, createdKey)
	return out
}

// createdAt returns the creation time of a memory. An update carries the time of the first version. Otherwise it is
// the turn's time.
func createdAt(m *mnemev1.Memory) time.Time {
	carried, _ := m.GetMetadata().AsMap()[createdKey].(string)
	if at, err := time.Parse(time.RFC3339Nano, carried); err == nil {
		return at
	}
	if said := timeOf(m.GetValidFrom()); !said.IsZero() {
		return said
	}
	return timeOf(m.GetRecordedAt())
}

// only are the fields of an item that a client wants to see, and its id.
func (m *item) only(names []string) (any, error) {
	if len(names) == 0 {
		return m, nil
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool {
		return name != "id" && !slices.Contains(names, name)
	})
	return all, nil
}

// categoriesOf are the kind of a memory, and its topic.
func categoriesOf(m *mnemev1.Memory) []string {
	out := []string{strings.ToLower(strings.TrimPrefix(m.GetKind().String(), "KIND_"))}
	if t := m.GetTopic(); t != "" {
		out = append(out, t)
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// maxUnix bounds times in seconds since 1970: the end of the year 9999.
const maxUnix = 253402300799

// layouts are the accepted layouts of times in text, in addition to RFC 3339. A time without a zone is in UTC.
var layouts = []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999"}

// span reads a time, or a day from its beginning to its end. The value is a day, a time after ISO 8601, or seconds
// since 1970.
func span(at string, value any) (from, to time.Time, err error) {
	wrong := problem.Invalid(at, "is not a time, want a day such as 2026-03-01, a time such as 2026-03-01T12:00:00Z, or "+
		"seconds since 1970")
	switch v := value.(type) {
	case json.Number:
		if from, err = unix(string(v)); err != nil {
			return from, to, wrong
		}
		return from, from, nil
	case string:
		if day, err := time.Parse(time.DateOnly, v); err == nil {
			return day, day.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
		}
		for _, layout := range append([]string{time.RFC3339Nano}, layouts...) {
			if t, err := time.Parse(layout, v); err == nil {
				return t, t, nil
			}
		}
		if from, err = unix(v); err == nil {
			return from, from, nil
		}
	}
	return from, to, wrong
}

// unix reads seconds since 1970.
func unix(s string) (time.Time, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return time.Time{}, err
	}
	if !(v >= 0 && v <= maxUnix) {
		return time.Time{}, strconv.ErrRange
	}
	whole, part := math.Modf(v)
	return time.Unix(int64(whole), int64(part*1e6)*1e3).UTC(), nil
}

// parseTimestamp reads the time of the turn, with its offset. The default is now.
func (a *api) parseTimestamp(in fields) (time.Time, error) {
	now := a.Now().UTC()
	if !in.has("timestamp") {
		return now, nil
	}
	at, _, err := span("timestamp", in["timestamp"])
	if err != nil {
		return at, err
	}
	return at, memory.ValidTime("timestamp", at, now)
}

// stamp writes a time as mem0 does.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

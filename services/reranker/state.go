package reranker

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// tenantState is what is stored of a tenant.
type tenantState struct {
	ranking.State
	// Hour and Reports are how many reports were learned from in an hour since 1970, by the time of the reports.
	Hour    int64
	Reports int
	// unreadable says why what is stored cannot be gone on from. A rollback takes its place.
	unreadable error
}

// stateFile is its stored form.
type stateFile struct {
	Hour    int64  `json:"hour"`
	Reports int    `json:"reports"`
	State   []byte `json:"state"`
}

func (s tenantState) encode() ([]byte, error) {
	state, err := ranking.EncodeState(s.State)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stateFile{Hour: s.Hour, Reports: s.Reports, State: state})
}

func decodeState(b []byte) (tenantState, error) {
	var file stateFile
	if err := json.Unmarshal(b, &file); err != nil {
		return tenantState{}, fault.Terminal("state", "is not readable: %w", err)
	}
	state, err := ranking.DecodeState(file.State)
	return tenantState{State: state, Hour: file.Hour, Reports: file.Reports}, err
}

// version is a version of a tenant's weights.
type version struct {
	// Weights are the version's; their Version is its number.
	ranking.Weights
	Time         time.Time
	Learned      uint64
	Distance     float64
	RolledBackTo *uint64
}

// versionFile is its stored form.
type versionFile struct {
	Time         time.Time `json:"time"`
	Learned      uint64    `json:"learned"`
	Distance     float64   `json:"distance"`
	RolledBackTo *uint64   `json:"rolled_back_to,omitempty"`
	Weights      []byte    `json:"weights"`
}

func (v version) encode() (weights.Version, error) {
	state, err := ranking.EncodeState(ranking.State{Weights: v.Weights})
	if err != nil {
		return weights.Version{}, err
	}
	body, err := json.Marshal(versionFile{
		Time: v.Time.UTC(), Learned: v.Learned, Distance: v.Distance, RolledBackTo: v.RolledBackTo, Weights: state,
	})
	return weights.Version{Number: v.Weights.Version, Body: body}, err
}

func decodeVersion(stored weights.Version) (version, error) {
	var file versionFile
	if err := json.Unmarshal(stored.Body, &file); err != nil {
		return version{}, fault.Terminal("version", "is not readable: %w", err)
	}
	state, err := ranking.DecodeState(file.Weights)
	if err != nil {
		return version{}, err
	}
	if state.Weights.Version != stored.Number {
		return version{}, fault.Terminal("version", "is stored as %d, and says that it is %d", stored.Number, state.Weights.Version)
	}
	return version{
		Weights: state.Weights, Time: file.Time, Learned: file.Learned, Distance: file.Distance, RolledBackTo: file.RolledBackTo,
	}, nil
}

// label names weights for callers and people.
func label(w ranking.Weights) string {
	if w.Version == 0 {
		return "prior/0"
	}
	return fmt.Sprintf("learned/%d", w.Version)
}

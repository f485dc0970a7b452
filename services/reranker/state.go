package reranker

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// tenantState is the stored state of a tenant.
type tenantState struct {
	ranking.State `json:"-"`
	// Hour and Reports are the number of learned reports in an hour since 1970, by the time of the reports.
	Hour    int64 `json:"hour"`
	Reports int   `json:"reports"`
	// Encoded is State in the stored form.
	Encoded []byte `json:"state"`
	// unreadable is the reason why the stored state is unusable. A rollback replaces the state.
	unreadable error
}

func (s tenantState) encode() (_ []byte, err error) {
	if s.Encoded, err = ranking.EncodeState(s.State); err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

func decodeState(b []byte) (s tenantState, err error) {
	if err := json.Unmarshal(b, &s); err != nil {
		return tenantState{}, fault.Terminal("state", "is not readable: %w", err)
	}
	s.State, err = ranking.DecodeState(s.Encoded)
	s.Encoded = nil
	return s, err
}

// DecodeWeights returns the weights in use from the stored state of a tenant.
func DecodeWeights(body []byte) (ranking.Weights, error) {
	s, err := decodeState(body)
	return s.Weights, err
}

// version is a version of a tenant's weights.
type version struct {
	// Weights are the weights of the version. Their Version is its number.
	ranking.Weights `json:"-"`
	Time            time.Time `json:"time"`
	Learned         uint64    `json:"learned"`
	Distance        float64   `json:"distance"`
	RolledBackTo    *uint64   `json:"rolled_back_to,omitempty"`
	// Encoded is Weights in the stored form.
	Encoded []byte `json:"weights"`
}

func (v version) encode() (_ weights.Version, err error) {
	if v.Encoded, err = ranking.EncodeState(ranking.State{Weights: v.Weights}); err != nil {
		return weights.Version{}, err
	}
	v.Time = v.Time.UTC()
	body, err := json.Marshal(v)
	return weights.Version{Number: v.Weights.Version, Body: body}, err
}

func decodeVersion(stored weights.Version) (v version, err error) {
	if err := json.Unmarshal(stored.Body, &v); err != nil {
		return version{}, fault.Terminal("version", "is not readable: %w", err)
	}
	state, err := ranking.DecodeState(v.Encoded)
	if err == nil && state.Weights.Version != stored.Number {
		err = fault.Terminal("version", "is stored as version %d, but contains version %d", stored.Number,
			state.Weights.Version)
	}
	v.Weights, v.Encoded = state.Weights, nil
	return v, err
}

// label returns the name of weights for callers and logs.
func label(w ranking.Weights) string {
	if w.Version == 0 {
		return "prior/0"
	}
	return fmt.Sprintf("learned/%d", w.Version)
}

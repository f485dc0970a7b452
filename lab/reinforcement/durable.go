package reinforcement

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/mneme-memory/mneme/lab/checkpoint"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Durable does the work of Train, step by step. It passes options, states and rollouts as JSON, which keeps numbers
// exactly. So many processes can share a training (lab/distributed).
type Durable struct{}

// Start returns the state before the first update.
func (Durable) Start(options []byte) ([]byte, error) {
	o, err := decode[Options]("options", options)
	if err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return encode("state", Start(o))
}

// Next returns the people of the next update.
func (Durable) Next(options, state []byte) ([]int, error) {
	o, s, err := decodeBoth(options, state)
	if err != nil {
		return nil, err
	}
	return o.Next(s), nil
}

// Roll makes the rollouts of a person. Rollouts above the size of a checkpoint are a terminal error.
func (Durable) Roll(ctx context.Context, options, state []byte, person int) ([]byte, error) {
	o, s, err := decodeBoth(options, state)
	if err != nil {
		return nil, err
	}
	rolled, err := Roll(ctx, o, s, person)
	if err != nil {
		return nil, err
	}
	data, err := encode("rollouts", rolled)
	if err == nil && len(data) > checkpoint.MaxBytes {
		return nil, fault.Terminal("group", "of %d draws of %d sessions makes %d bytes, want %d at most: fewer draws or "+
			"fewer sessions",
			o.Group, o.Sessions, len(data), checkpoint.MaxBytes)
	}
	return data, err
}

// Learn returns the state after an update.
func (Durable) Learn(options, state []byte, rolled iter.Seq2[[]byte, error]) ([]byte, error) {
	o, s, err := decodeBoth(options, state)
	if err != nil {
		return nil, err
	}
	var all []Rolled
	for data, err := range rolled {
		if err != nil {
			return nil, err
		}
		one, err := decode[Rolled]("rollouts", data)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return encode("state", s.Learn(o, all...))
}

func decodeBoth(options, state []byte) (o Options, s State, err error) {
	if o, err = decode[Options]("options", options); err != nil {
		return o, s, err
	}
	s, err = decode[State]("state", state)
	return o, s, err
}

// encode returns value as JSON. It fails on values that are no numbers: a checkpoint cannot keep them.
func encode(field string, value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fault.Terminal(field, "cannot be kept: %w", err)
	}
	return data, nil
}

// decode refuses unknown fields. Another program wrote them, and the decoder would lose them.
func decode[T any](field string, data []byte) (out T, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return out, fault.Terminal(field, "cannot be read: %w", err)
	}
	return out, nil
}

package reinforcement

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Durable does what Train does, step by step, with options, states and rollouts as JSON, which numbers come back from as they were: so that
// many processes share a training (workflows/training).
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

// Next returns the people whose rollouts make the next update.
func (Durable) Next(options, state []byte) ([]int, error) {
	o, s, err := decodeBoth(options, state)
	if err != nil {
		return nil, err
	}
	return o.Next(s), nil
}

// Roll makes the rollouts of a person.
func (Durable) Roll(ctx context.Context, options, state []byte, person int) ([]byte, error) {
	o, s, err := decodeBoth(options, state)
	if err != nil {
		return nil, err
	}
	rolled, err := Roll(ctx, o, s, person)
	if err != nil {
		return nil, err
	}
	return encode("rollouts", rolled)
}

// Learn returns the state after an update.
func (Durable) Learn(options, state []byte, rolled [][]byte) ([]byte, error) {
	o, s, err := decodeBoth(options, state)
	if err != nil {
		return nil, err
	}
	all := make([]Rolled, len(rolled))
	for i, data := range rolled {
		if all[i], err = decode[Rolled]("rollouts", data); err != nil {
			return nil, err
		}
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

// encode is strict: what is no number cannot be kept, and would teach nothing.
func encode(field string, value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fault.Terminal(field, "cannot be kept: %w", err)
	}
	return data, nil
}

// decode refuses what another program wrote: what it does not know it would leave out.
func decode[T any](field string, data []byte) (out T, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return out, fault.Terminal(field, "cannot be read: %w", err)
	}
	return out, nil
}

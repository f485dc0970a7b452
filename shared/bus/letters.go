package bus

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// DeadLetters lists the dead letters that a Replay with the same choices and group would put back, in order
// within each partition. It changes nothing: source is closed without a commit. What is no dead letter
// is left out.
func DeadLetters(ctx context.Context, cfg ReplayConfig, source Source) (_ []*mnemev1.DeadLetter, err error) {
	defer func() { err = errors.Join(err, source.Close()) }()
	gen, err := source.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	defer gen.Release()
	chosen := (&replay{cfg: cfg}).chosen
	var out []*mnemev1.DeadLetter
	for _, p := range gen.Partitions() {
		end, err := gen.End(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("find end of %s/%d: %w", p.Topic, p.ID, err)
		}
		for next := int64(0); next < end; {
			got, err := gen.Fetch(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("fetch dead letters: %w", err)
			}
			if len(got.Messages) == 0 {
				break // everything up to the end was committed by a replay
			}
			for _, m := range got.Messages {
				next = m.Offset + 1
				letter := new(mnemev1.DeadLetter)
				if proto.Unmarshal(m.Value, letter) == nil && letter.GetTopic() != "" && chosen(letter) {
					out = append(out, letter)
				}
			}
		}
	}
	return out, nil
}

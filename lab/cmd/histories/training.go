package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/lab/checkpoint/inmem"
	"github.com/mneme-memory/mneme/lab/distributed"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/test/histories/recorder"
)

// trained describes the course of a training.
type trained struct {
	name string
	// updates is the field of distributed.Params. With a value other than 0, the history has the first run alone.
	updates int
	// fails is the error of a rollout's first attempt. cancelled makes the rollout wait until the training is
	// cancelled.
	fails     error
	cancelled bool
}

func trainings() []trained {
	return []trained{
		{name: "two-updates"},
		{name: "begun-anew", updates: 1},
		{name: "a-failure-that-passes", fails: errors.New("recorded failure")},
		{name: "refused-for-good", fails: fault.Terminal("options", "recorded refusal")},
		{name: "cancelled", cancelled: true},
	}
}

// live runs a training and returns its history.
func (l trained) live(ctx context.Context, c client.Client) (*historypb.History, error) {
	store, err := inmem.New(time.Hour, nil)
	if err != nil {
		return nil, err
	}
	trainer := &recordedTrainer{trained: l, begun: make(chan struct{})}
	w := distributed.Worker(c, &distributed.Activities{Trainer: trainer, Store: store}, 1)
	if err := w.Start(); err != nil {
		return nil, err
	}
	defer w.Stop()
	options := []byte(l.name)
	p, id := distributed.Params{Options: options, Updates: l.updates}, distributed.WorkflowID(options)
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: distributed.Queue},
		distributed.WorkflowName, p)
	if err != nil {
		return nil, err
	}
	first := run.GetRunID()
	if l.cancelled {
		<-trainer.begun
		if err := c.CancelWorkflow(ctx, id, first); err != nil {
			return nil, err
		}
	}
	if err := run.Get(ctx, nil); (err != nil) != (l.cancelled || fault.IsTerminal(l.fails)) {
		return nil, fmt.Errorf("the training ended with %w", err)
	}
	return recorder.Fetch(ctx, c, id, first)
}

// recordedTrainer makes two updates, one with two people and one with one.
type recordedTrainer struct {
	trained
	begun chan struct{}
	tried bool
}

func (*recordedTrainer) Start([]byte) ([]byte, error) { return []byte{}, nil }

func (*recordedTrainer) Next(_, state []byte) ([]int, error) {
	return [][]int{{0, 1}, {2}, nil}[len(state)], nil
}

func (t *recordedTrainer) Roll(ctx context.Context, _, _ []byte, _ int) ([]byte, error) {
	if t.cancelled {
		close(t.begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !t.tried {
		t.tried = true
		return nil, t.fails
	}
	return nil, nil
}

func (*recordedTrainer) Learn(_, state []byte, _ iter.Seq2[[]byte, error]) ([]byte, error) {
	return append(bytes.Clone(state), 1), nil
}

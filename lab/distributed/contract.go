// Package distributed trains by rollouts that any number of processes make. A workflow runs the rollouts of each
// update in parallel and the update in one process. It continues after the end of a process or a server. A Trainer
// defines the training. States and rollouts are megabytes, so a store of checkpoints keeps them. Histories have their
// keys and numbers only. The same options give the same bytes, for any number of processes and any failures.
package distributed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
)

// Queue is the task queue of the workflow and its activities.
const Queue = "mneme-training"

// Names known to the Temporal server.
const (
	WorkflowName  = "mneme.training"
	QueryProgress = "progress"
)

// Trainer defines a training and the meaning of its bytes. The same arguments always give the same bytes. Errors that
// no retry repairs are terminal. Implementations are safe for concurrent use.
type Trainer interface {
	// Start returns the state before the first update. Invalid options are a terminal error.
	Start(options []byte) (state []byte, err error)
	// Next returns the people of the next update. It is empty after the last one.
	Next(options, state []byte) (people []int, err error)
	// Roll makes the rollouts of one person by a state.
	Roll(ctx context.Context, options, state []byte, person int) (rolled []byte, err error)
	// Learn returns the state after an update by the rollouts of Next's people, in their order. It reads them one by
	// one, as they may be large. It returns the first of their errors.
	Learn(options, state []byte, rolled iter.Seq2[[]byte, error]) (next []byte, err error)
}

// WorkflowID returns the id of the workflow for some options.
func WorkflowID(options []byte) string {
	sum := sha256.Sum256(options)
	return "training/" + hex.EncodeToString(sum[:16])
}

// runOf returns the store's run of a training's checkpoints. It stays the same when the history begins anew.
func runOf(workflow, first string) string { return workflow + "/" + first }

// Params start the workflow.
type Params struct {
	// Options are the Trainer's options. They are empty after a continue-as-new, when the checkpoints have them.
	Options []byte `json:"options,omitempty"`
	// Updates is the number of updates in one history. 0 means 50.
	Updates int `json:"updates,omitempty"`
	// Progress is carried over by continue-as-new. It is nil at the start.
	Progress *Progress `json:"progress,omitempty"`
}

// Progress is the progress of a training: the answer to QueryProgress.
type Progress struct {
	// Updates is the number of updates made, People the number of people in them.
	Updates int `json:"updates"`
	People  int `json:"people"`
	// Next are the people of the next update. Rolled is the number of them with finished rollouts.
	Next   []int `json:"next,omitempty"`
	Rolled int   `json:"rolled,omitempty"`
}

// Result names the run and the key of the last state.
type Result struct {
	Run   string `json:"run"`
	State string `json:"state"`
}

// Step is an update of a run: the argument of the activities.
type Step struct {
	Run string `json:"run"`
	// Update is the number of the update, from 0.
	Update int `json:"update"`
	// People are the people of the step: the one to roll, or all people of an update.
	People []int `json:"people,omitempty"`
}

// BeginInput is the argument of Begin.
type BeginInput struct {
	Run     string `json:"run"`
	Options []byte `json:"options"`
}

// keyOptions is the key of the options.
const keyOptions = "options"

// keyState is the key of the state before an update.
func keyState(update int) string { return fmt.Sprintf("state/%d", update) }

// keyRolled is the key of a person's rollouts in an update.
func keyRolled(update, person int) string { return fmt.Sprintf("rolled/%d/%d", update, person) }

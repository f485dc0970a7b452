// Package training trains by rollouts that any number of processes make: a workflow has the rollouts of each update made in parallel and
// the update by one process, and goes on wherever a process or a server ended. What is trained it does not know: a Trainer does. States
// and rollouts are megabytes, so they are kept in a store of checkpoints; histories have their keys and numbers only. The same options
// give the same bytes, however many processes there are and whichever of them end.
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

// Trainer knows what is trained and what the bytes mean. The same arguments always give the same bytes. Errors that no retry repairs are
// terminal. Implementations are safe for concurrent use.
type Trainer interface {
	// Start returns the state before the first update. Options that cannot be are a terminal error.
	Start(options []byte) (state []byte, err error)
	// Next returns the people whose rollouts make the next update, none where there is none to make.
	Next(options, state []byte) (people []int, err error)
	// Roll makes the rollouts of one person by a state.
	Roll(ctx context.Context, options, state []byte, person int) (rolled []byte, err error)
	// Learn returns the state after an update by the rollouts of the people of Next, in their order. They are read one after the other, as
	// they may be large, and the first error of theirs is Learn's.
	Learn(options, state []byte, rolled iter.Seq2[[]byte, error]) (next []byte, err error)
}

// WorkflowID is the id of the workflow that trains with some options.
func WorkflowID(options []byte) string {
	sum := sha256.Sum256(options)
	return "training/" + hex.EncodeToString(sum[:16])
}

// runOf is the run of the store that a training's checkpoints are kept under, however often its history begins anew.
func runOf(workflow, first string) string { return workflow + "/" + first }

// Params start the workflow.
type Params struct {
	// Options are the Trainer's; empty after a continue-as-new, when they are among the checkpoints.
	Options []byte `json:"options,omitempty"`
	// Updates is how many updates there are to one history; 0 means 50.
	Updates int `json:"updates,omitempty"`
	// Progress is carried over by continue-as-new; nil at the start.
	Progress *Progress `json:"progress,omitempty"`
}

// Progress is how far a training is: the answer to QueryProgress.
type Progress struct {
	// Updates is how many were made, People how many people's rollouts they were made by.
	Updates int `json:"updates"`
	People  int `json:"people"`
	// Next are the people whose rollouts make the next update, Rolled is how many of them are made.
	Next   []int `json:"next,omitempty"`
	Rolled int   `json:"rolled,omitempty"`
}

// Result says under which run and key the last state is kept.
type Result struct {
	Run   string `json:"run"`
	State string `json:"state"`
}

// Step is an update of a run: the argument of the activities.
type Step struct {
	Run string `json:"run"`
	// Update is the number of the update, from 0.
	Update int `json:"update"`
	// People are those that the step is about: the one to roll, all whose rollouts are learned from.
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

// keyRolled is the key of the rollouts that a person has in an update.
func keyRolled(update, person int) string { return fmt.Sprintf("rolled/%d/%d", update, person) }

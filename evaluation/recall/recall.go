// Package recall measures what a running service finds again of conversations, through its public API: conversations go in
// by Kafka, questions are asked by RPC, and the diagnosis says where evidence was lost. Beside it, for comparison: searches of the raw
// turns in process, and the same Mneme with something left out, which is asked on the same memories.
package recall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/evaluation/baseline"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Service is the Mneme that is measured, through its public API.
type Service struct {
	Utilizer mnemev1connect.UtilizerServiceClient
	Memories mnemev1connect.MemoryServiceClient
	UserData mnemev1connect.UserDataServiceClient
	// Diagnosis answers the questions: it says where evidence was lost, and nothing is learned from what is asked for it.
	Diagnosis mnemev1connect.DiagnosisServiceClient
	// Reranker is asked how far it has learned, where recall is measured after learning.
	Reranker mnemev1connect.RerankerServiceClient
}

// Publisher sends a session's events to the service.
type Publisher func(ctx context.Context, s dataset.Session) (Published, error)

// Published is what became of a session's events.
type Published struct {
	// Refused says of each event that breaks the contract which it is and why: it becomes a dead letter.
	Refused []string
	// Ends reports whether the service takes the session's end. It is never formed otherwise.
	Ends bool
}

// BareQuery asks the bank's server itself for a user's memories: how long it took, with the answer in hand.
type BareQuery func(ctx context.Context, user, query string, k int) (time.Duration, error)

// Defaults of Options.
const (
	DefaultCandidates    = 200
	DefaultShown         = 10
	DefaultLatencySample = 500
	DefaultWorkers       = 4
)

// Options say what is measured on what.
type Options struct {
	// Path is a file of conversations with questions, of any form that ReadSubjects knows.
	Path string
	// Tenant is the tenant that the service knows the caller as.
	Tenant string
	// Service is measured; Publish feeds it; Bare is timed beside it, nil where the bank's server is not known.
	Service Service
	Publish Publisher
	Bare    BareQuery
	// Observed replays what the file's authors had a model extract, in the place of the services' filter and extractor; nil for the services.
	Observed *Observed
	// Candidates are fetched from the bank where order is measured; 0 means DefaultCandidates.
	Candidates int
	// Memories are shown where the cascade and answers are measured; 0 means DefaultShown. Words is the word budget of it;
	// 0 leaves it to the service.
	Memories, Words int
	// Workers ask that many questions at a time, where time is not measured; 0 means DefaultWorkers.
	Workers int
	// LatencySample is how many recalls are timed, alone and one after the other; 0 means DefaultLatencySample, less than 0 none.
	LatencySample int
	// Users are formed that many at a time, each a session after the other; 0 means one, so that formation times are those of a service
	// with nothing else to do.
	Users int
	// FormTimeout bounds how long one session may take; 0 means two minutes.
	FormTimeout time.Duration
	// Answers asks for the answers' words to be compared with the right ones.
	Answers bool
	// Judge marks answers, and answers from the whole history itself, for comparison; nil for no marks.
	Judge *Judge
	// Learn measures recall after learning, too; nil for not. It needs two conversations.
	Learn *FoldOptions
	// Variants are asked after all else, each on its own.
	Variants []Variant
	// Sweep measures recall by how many candidates there are, too, and names the weights of the service in that; empty for no sweep.
	Sweep string
	// Progress takes lines for people; nil for nobody.
	Progress io.Writer
}

// Variant is the same Mneme on the same memories with something left out.
type Variant struct {
	// Name says what is left out.
	Name string
	// Candidates are fetched for it; 0 means as many as where order is measured.
	Candidates int
	// Swept says that the sweep is over this one, too.
	Swept bool
	// Open starts it; stop ends it.
	Open func(ctx context.Context) (utilizer mnemev1connect.UtilizerServiceClient, stop func(context.Context) error, err error)
}

func (o Options) filled() Options {
	set := func(v *int, otherwise int) {
		if *v == 0 {
			*v = otherwise
		}
	}
	set(&o.Candidates, DefaultCandidates)
	set(&o.Memories, DefaultShown)
	set(&o.Workers, DefaultWorkers)
	set(&o.LatencySample, DefaultLatencySample)
	set(&o.Users, 1)
	if o.FormTimeout == 0 {
		o.FormTimeout = 2 * time.Minute
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o
}

// EvaluateAll measures one file after the other on the same service. Two files must not have a user in common: what is remembered of one
// would answer for the other. All files are read before anything is done.
func EvaluateAll(ctx context.Context, paths []string, o Options) ([]Report, error) {
	runs, users := make([]*run, len(paths)), map[string]string{}
	for i, path := range paths {
		o.Path = path
		var err error
		if runs[i], err = newRun(o.filled()); err != nil {
			return nil, err
		}
		for _, s := range runs[i].subjects {
			if other, known := users[s.Scope.User]; known {
				return nil, fmt.Errorf("%w: %s has user %s of %s, want users of its own", dataset.ErrFormat, path, s.Scope.User, other)
			}
			users[s.Scope.User] = path
		}
	}
	reports := make([]Report, len(runs))
	for i, r := range runs {
		if len(runs) > 1 {
			r.say("%s", r.Path)
		}
		if err := r.run(ctx); err != nil {
			return nil, err
		}
		reports[i] = r.report
	}
	return reports, nil
}

// Evaluate forms the memories of a file's conversations on the service, asks it every question, and measures what comes.
func Evaluate(ctx context.Context, o Options) (Report, error) {
	reports, err := EvaluateAll(ctx, []string{o.Path}, o)
	if err != nil {
		return Report{}, err
	}
	return reports[0], nil
}

// newRun reads a file.
func newRun(o Options) (*run, error) {
	subjects, repairs, err := dataset.ReadSubjects(o.Path, dataset.ReadOptions{Tenant: o.Tenant})
	if err != nil {
		return nil, err
	}
	if err := o.Learn.check(subjects); err != nil {
		return nil, err
	}
	observed, _, err := dataset.Observations(o.Path)
	if err != nil && !errors.Is(err, dataset.ErrNoObservations) {
		return nil, err
	}
	r := &run{Options: o, degraded: map[string]int{}, report: newReport(o, subjects, repairs)}
	if r.report.Counts.Questions == 0 {
		return nil, fmt.Errorf("%w: %s has no questions", dataset.ErrFormat, o.Path)
	}
	assisted := slices.ContainsFunc(subjects, dataset.Subject.Assisted)
	for _, s := range subjects {
		e := newExamined(s, assisted, observed[s.Scope.User])
		r.subjects = append(r.subjects, e)
		for _, q := range s.Questions {
			r.asked = append(r.asked, &asked{of: e, question: q, marks: map[string]float64{}})
		}
	}
	return r, nil
}

func (r *run) run(ctx context.Context) error {
	form := r.form
	if r.Observed != nil {
		form = r.observe
	}
	for _, step := range []func(context.Context) error{form, r.warm, r.read, r.ask, r.time, r.sweepServed, r.fold, r.vary} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.conclude()
	return nil
}

// run is the state of one Evaluate.
type run struct {
	Options
	subjects []*examined
	asked    []*asked
	timed    []timing
	report   Report

	mu       sync.Mutex // guards Progress and degraded
	degraded map[string]int
}

// examined is a subject with what the service has of it.
type examined struct {
	dataset.Subject
	turns []memory.Turn
	// session of a turn, by its id.
	session map[string]string
	// entries are the bank's memories in every state, by id.
	entries map[string]memory.Memory
	// searches of what was said, by name.
	searches map[string]*baseline.Search
	last     time.Time
}

func newExamined(s dataset.Subject, assisted bool, observed map[string][]dataset.Observation) *examined {
	e := &examined{Subject: s, session: map[string]string{}, entries: map[string]memory.Memory{}, last: s.End()}
	for _, one := range s.Sessions {
		for _, t := range one.Turns {
			e.turns = append(e.turns, t)
			e.session[t.ID] = one.ID
		}
	}
	e.searches = searches(e.turns, assisted, observed)
	return e
}

func (r *run) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.Progress, format+"\n", args...)
}

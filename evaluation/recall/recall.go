// Package recall measures the recall of a running service through its public API. Conversations go in by Kafka,
// questions go in by RPC, and the diagnosis says where evidence was lost. It also measures two kinds of comparisons:
// searches of the raw turns in process, and the same Mneme with one part disabled. A disabled part is measured on the
// same memories.
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

// Service is the measured Mneme through its public API.
type Service struct {
	Utilizer mnemev1connect.UtilizerServiceClient
	Memories mnemev1connect.MemoryServiceClient
	UserData mnemev1connect.UserDataServiceClient
	// Diagnosis answers the questions. It says where evidence was lost, and its calls have no effect on learning.
	Diagnosis mnemev1connect.DiagnosisServiceClient
	// Reranker reports the progress of learning when recall is measured after learning.
	Reranker mnemev1connect.RerankerServiceClient
}

// Publisher sends a session's events to the service.
type Publisher func(ctx context.Context, s dataset.Session) (Published, error)

// Published is the result of publishing a session.
type Published struct {
	// Refused names each event that breaks the contract, with the reason. Such an event becomes a dead letter.
	Refused []string
	// Ends reports whether the service accepts the end of the session. Without it the session is never formed.
	Ends bool
}

// BareQuery queries the bank's server directly for a user's memories. It returns the time until the answer has arrived.
type BareQuery func(ctx context.Context, user, query string, k int) (time.Duration, error)

// Defaults of Options.
const (
	DefaultCandidates    = 200
	DefaultShown         = 10
	DefaultLatencySample = 500
	DefaultWorkers       = 4
)

// Options configure a measurement.
type Options struct {
	// Path is a file of conversations with questions, in any format of ReadSubjects.
	Path string
	// Tenant is the tenant of the caller's credential.
	Tenant string
	// Service is the measured service and Publish sends events to it. Bare is timed for comparison; nil if the bank's
	// server is unknown.
	Service Service
	Publish Publisher
	Bare    BareQuery
	// Observed replays the file's observations in place of the services' filter and extractor; nil uses the services.
	Observed *Observed
	// Candidates is the number of candidates from the bank when the order is measured. 0 means DefaultCandidates.
	Candidates int
	// Memories is the number of memories for the cascade and the answers. 0 means DefaultShown. Words is their word
	// budget; 0 means the service's default.
	Memories, Words int
	// Workers is the number of concurrent questions in untimed parts. 0 means DefaultWorkers.
	Workers int
	// LatencySample is the number of timed recalls, one after the other. 0 means DefaultLatencySample; a negative
	// value means none.
	LatencySample int
	// Users is the number of users formed at the same time, each one session after the other. 0 means one, so that
	// formation times describe an otherwise idle service.
	Users int
	// FormTimeout limits the formation of one session. 0 means two minutes.
	FormTimeout time.Duration
	// Answers turns on the word comparison of answers with the right ones.
	Answers bool
	// Judge marks answers, and answers from the whole history for comparison. Nil means no marks.
	Judge *Judge
	// Learn also measures recall after learning. Nil turns it off. It needs two conversations.
	Learn *FoldOptions
	// Variants are measured at the end, each alone.
	Variants []Variant
	// Sweep also measures recall by the number of candidates, and names the service's weights in the report. Empty
	// means no sweep.
	Sweep string
	// Progress receives progress lines; nil discards them.
	Progress io.Writer
}

// Variant is the same Mneme with the same memories and one part disabled.
type Variant struct {
	// Name describes the disabled part.
	Name string
	// Candidates is the number of fetched candidates. 0 means the number used to measure the order.
	Candidates int
	// Swept includes this variant in the sweep.
	Swept bool
	// Open starts the variant; stop ends it.
	Open func(ctx context.Context) (utilizer mnemev1connect.UtilizerServiceClient, stop func(context.Context) error,
		err error)
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

// EvaluateAll forms the memories of each file's conversations on the service, sends every question, and measures the
// results. It takes the files one after the other, and reads all of them first. Two files must not share a user,
// because memories of one file would answer questions of the other.
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
				return nil, fmt.Errorf("%w: %s has user %s of %s, want each user in one file", dataset.ErrFormat, path,
					s.Scope.User, other)
			}
			users[s.Scope.User] = path
		}
	}
	reports := make([]Report, len(runs))
	for i, r := range runs {
		if len(runs) > 1 {
			r.logf("%s", r.Path)
		}
		if err := r.run(ctx); err != nil {
			return nil, err
		}
		reports[i] = r.report
	}
	return reports, nil
}

// newRun reads a file and prepares the run.
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
	for _, step := range []func(context.Context) error{form, r.warm, r.read, r.ask, r.time, r.sweepServed, r.fold,
		r.vary} {
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

// examined is a subject with the service's data of it.
type examined struct {
	dataset.Subject
	turns []memory.Turn
	// session maps a turn id to its session.
	session map[string]string
	// entries are the bank's memories in every state, by id.
	entries map[string]memory.Memory
	// searches are the baseline searches, by name.
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

func (r *run) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.Progress, format+"\n", args...)
}

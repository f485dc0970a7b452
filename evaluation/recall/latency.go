package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// warmUp is the number of query pairs before the first timed pair.
const warmUp = 40

// timing is the durations of one recall and one bare query, in milliseconds.
type timing struct {
	category   string
	ours, bare float64
}

// time measures recalls with default options, one at a time. After each recall or before it, a bare query requests as
// many memories of the same user. Each text is sent once only, so that no cache answers it.
func (r *run) time(ctx context.Context) error {
	if r.LatencySample < 0 {
		return nil
	}
	if !slices.ContainsFunc(r.subjects, func(s *examined) bool { return len(s.entries) > 0 }) {
		r.logf("nothing is remembered: there is nothing to time")
		return nil
	}
	began := time.Now()
	for i := range warmUp + r.LatencySample {
		// A stride without a common divisor with the number of questions visits every question before it repeats one.
		// It alternates evenly between users.
		a := r.asked[i*stride(len(r.asked))%len(r.asked)]
		t, err := r.timeOne(ctx, a, i)
		if err != nil {
			return fmt.Errorf("time a question of user %s: %w", a.of.Scope.User, err)
		}
		if i >= warmUp {
			r.timed = append(r.timed, t)
		}
	}
	r.logf("timed %d recalls, %.0f s", len(r.timed), time.Since(began).Seconds())
	return nil
}

// stride returns a number near the golden ratio of n without a common divisor with n.
func stride(n int) int {
	s := max(1, int(float64(n)*0.618))
	for gcd(s, n) != 1 {
		s++
	}
	return s
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// timeOne times the recall and the bare query. Their order alternates.
func (r *run) timeOne(ctx context.Context, a *asked, i int) (t timing, err error) {
	t.category = a.question.Category
	query := fmt.Sprintf("%s (%d)", a.question.Text, i)
	ours := func() error {
		began := time.Now()
		res, err := r.Service.Utilizer.Recall(ctx,
			connect.NewRequest(&mnemev1.RecallRequest{UserId: a.of.Scope.User, Query: query}))
		t.ours = milliseconds(time.Since(began))
		if err == nil {
			r.note(res.Msg, "")
		}
		return err
	}
	bare := func() error {
		if r.Bare == nil {
			return nil
		}
		took, err := r.Bare(ctx, a.of.Scope.User, query, bank.DefaultK)
		t.bare = milliseconds(took)
		return err
	}
	first, second := ours, bare
	if i%2 == 1 {
		first, second = bare, ours
	}
	err = errors.Join(first(), second())
	return t, err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

package reinforcement

import (
	"context"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/model/embedding"
)

// Judge knows what the sessions of a made-up life should lead to, and says what others than the embedded policy made of them. Sessions are
// counted from 0.
type Judge struct{ person *person }

// NewJudge makes the judge of a person.
func NewJudge(ctx context.Context, made synthesis.Person, e embedding.Embedder) (*Judge, error) {
	p, err := newPerson(ctx, made, e)
	return &Judge{p}, err
}

// Subject is the life to be formed.
func (j *Judge) Subject() dataset.Subject { return j.person.subject }

// Remembered is what a life remembers.
func (j *Judge) Remembered(ctx context.Context, l *formation.Life) (Remembered, error) {
	formed, err := l.Formed(ctx)
	if err != nil {
		return Remembered{}, err
	}
	return j.person.made(ctx, formed)
}

// Transition compares what a session made of what was remembered before it with what should be remembered.
func (j *Judge) Transition(before, after Remembered, session int, o reward.TransitionOptions) reward.Transition {
	return j.person.transition(before, after, session, o)
}

// Retrieved reports whether the former was shown what a session should change or end, of what was remembered before it.
func (j *Judge) Retrieved(ctx context.Context, before Remembered, after *formation.Life, session int) (bool, error) {
	formed, err := after.Formed(ctx)
	return err == nil && j.person.retrieved(before, formed, session), err
}

// Outcome asks a life about all sessions up to one.
func (j *Judge) Outcome(ctx context.Context, l *formation.Life, session int) ([]reward.Asked, error) {
	a, err := j.person.ask(ctx, l, j.person.about(0, session+1, perSession), session)
	out := make([]reward.Asked, len(a.scores))
	for i, s := range a.scores {
		out[i].Score = s
	}
	return out, err
}

// Dense is what the dense reward sees of a session that has just been formed, but for the core block and for the form of answers.
func (j *Judge) Dense(ctx context.Context, l *formation.Life, session int) (reward.Session, error) {
	formed, err := l.Formed(ctx)
	if err != nil {
		return reward.Session{}, err
	}
	a, err := j.person.ask(ctx, l, j.person.about(session, session+1, perSession), session)
	return reward.Session{Right: a.right(), Asked: len(a.scores), Kinds: j.person.written(formed, session)}, err
}

// Rules judges by rule what became of the life when a session is over, as SaliMory's rewards and measures have it judged.
func (j *Judge) Rules(session int) reward.Judge { return j.person.rules(session) }

// Measure says what a life came to whose sessions are all formed; profiles are written by the rules.
func (j *Judge) Measure(ctx context.Context, l *formation.Life) (Measured, error) {
	came, err := lived(ctx, j.person, l, decision.Rules{})
	if err != nil {
		return Measured{}, err
	}
	return measured([]life{came}), nil
}

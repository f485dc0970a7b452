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

// Judge has the expected results of a made-up life's sessions. It measures the results of formers other than the
// embedded policy. Sessions count from 0.
type Judge struct{ person *person }

// NewJudge makes the judge of a person.
func NewJudge(ctx context.Context, made synthesis.Person, e embedding.Embedder) (*Judge, error) {
	p, err := newPerson(ctx, made, e)
	return &Judge{p}, err
}

// Subject returns the life to form.
func (j *Judge) Subject() dataset.Subject { return j.person.subject }

// Remembered returns the memories of a life.
func (j *Judge) Remembered(ctx context.Context, l *formation.Life) (Remembered, error) {
	formed, err := l.Formed(ctx)
	if err != nil {
		return Remembered{}, err
	}
	return j.person.made(ctx, formed)
}

// Transition compares the result of a session with the expected result. Both start from the memories before the
// session.
func (j *Judge) Transition(before, after Remembered, session int, o reward.TransitionOptions) reward.Transition {
	return j.person.transition(before, after, session, o)
}

// Retrieved reports whether the former saw all earlier memories that a session should change or end.
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

// Dense returns the dense reward's view of a session that has just been formed, without the core block and the form
// of answers.
func (j *Judge) Dense(ctx context.Context, l *formation.Life, session int) (reward.Session, error) {
	formed, err := l.Formed(ctx)
	if err != nil {
		return reward.Session{}, err
	}
	a, err := j.person.ask(ctx, l, j.person.about(session, session+1, perSession), session)
	return reward.Session{Right: a.right(), Asked: len(a.scores), Kinds: j.person.written(formed, session)}, err
}

// Rules returns the judge by rule of a life after a session, for SaliMory's rewards and measures.
func (j *Judge) Rules(session int) reward.Judge { return j.person.rules(session) }

// Measure measures a life after all its sessions. The rules write the profiles.
func (j *Judge) Measure(ctx context.Context, l *formation.Life) (Measured, error) {
	came, err := lived(ctx, j.person, l, decision.Rules{})
	if err != nil {
		return Measured{}, err
	}
	return measured([]life{came}), nil
}

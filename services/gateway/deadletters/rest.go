package deadletters

import (
	"context"

	"github.com/mneme-memory/mneme/services/gateway/rest"
)

// ForREST are the letters as the REST API asks for them.
func (l *Letters) ForREST() rest.DeadLetters { return forREST{l} }

type forREST struct{ *Letters }

// List implements rest.DeadLetters.
func (f forREST) List(ctx context.Context, limit int, cursor string) (out []rest.Letter, next string, err error) {
	letters, next, err := f.Letters.List(ctx, limit, cursor)
	for _, l := range letters {
		out = append(out, l.forREST())
	}
	return out, next, err
}

// OfTurn implements rest.DeadLetters.
func (f forREST) OfTurn(ctx context.Context, user, turnID string) (rest.Letter, bool, error) {
	l, ok, err := f.Find(ctx, user, turnID)
	return l.forREST(), ok, err
}

func (l Letter) forREST() rest.Letter {
	return rest.Letter{
		ID: l.ID, Reason: l.Reason, Field: l.Field, Handler: l.Handler, Topic: l.Topic, User: l.User, Time: l.Time,
		TurnID: l.TurnID,
	}
}

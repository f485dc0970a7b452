package mem0

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// objectText is the text that a browser's client sends when it turns an object into text.
const objectText = "[object Object]"

// noRuns says why the memories of a run are not erased alone.
const noRuns = "a run is a session of a user here, and users are erased as a whole: delete its memories one by one, " +
	"or erase the user"

// eraseAll erases one entity and all its stored data. It never reads more into a request than the request says. It
// refuses unknown fields, and the text that clients make of unknown values.
func (a *api) eraseAll(r *http.Request, in fields) (any, error) {
	q, err := queryOf(r)
	if err != nil {
		return nil, err
	}
	if len(in) > 0 {
		return nil, problem.Invalid("", "the call reads no body: name the entity in the URL, as in ?user_id=ID")
	}
	user, err := a.erased(r.Context(), q)
	if err != nil {
		return nil, err
	}
	return a.erase(r.Context(), user, "Memories deleted successfully!")
}

// erased is the entity that a request to erase names.
func (a *api) erased(ctx context.Context, q url.Values) (string, error) {
	names := named{}
	for name, values := range q {
		switch {
		case slices.Contains(entityFields, name):
			if len(values) != 1 || values[0] == objectText {
				return "", problem.Invalid(name, "is not one id")
			}
			if err := validEntity(name, name, values[0]); err != nil {
				return "", err
			}
			names[name] = values[0]
		case name == "source": // which program calls
		case name == "org_id", name == "project_id":
			if len(values) != 1 || values[0] != scopeOf(ctx, "").Tenant {
				return "", problem.Invalid(name, "is not the one of the API key")
			}
		default:
			return "", problem.Invalid(name, "is unknown, and the call erased nothing: name one entity, as in ?user_id=ID")
		}
	}
	if len(names) != 1 {
		return "", problem.Invalid(userField,
			"must be set alone, or agent_id, app_id or run_id in its place: a call erases one entity as a whole")
	}
	user := names.owner("") // not the user of the key: an erasure needs a named user
	return user, a.mayErase(ctx, user)
}

// mayErase refuses to erase a run that is a session of a user.
func (a *api) mayErase(ctx context.Context, user string) error {
	if kind, _ := entityOf(user); kind != runType {
		return nil
	}
	known, err := a.State.Knows(ctx, scopeOf(ctx, user))
	if err == nil && !known {
		err = problem.Unsupported(noRuns)
	}
	return err
}

// eraseEntity erases an entity with all that is kept of it.
func (a *api) eraseEntity(r *http.Request, _ fields) (any, error) {
	user, err := entityAt(r)
	if err != nil {
		return nil, err
	}
	if err := a.mayErase(r.Context(), user); err != nil {
		return nil, err
	}
	return a.erase(r.Context(), user, "Entity deleted successfully!")
}

// erase asks for the erasure of a user.
func (a *api) erase(ctx context.Context, user, message string) (any, error) {
	res, err := a.Services.UserData.EraseUser(ctx, connect.NewRequest(&mnemev1.EraseUserRequest{UserId: user}))
	if err != nil {
		return nil, err
	}
	return map[string]string{"message": message, "event_id": erasureEvent(user, res.Msg.GetErasureId())}, nil
}

// erasing is the prefix of event ids of erasures. The id names the user, because this package stores nothing about
// erased users.
const erasing = "erasure."

func erasureEvent(user, id string) string {
	return erasing + base64.RawURLEncoding.EncodeToString([]byte(user)) + "." + id
}

// erasureOf reads the id of such an event; ok is false for any other.
func erasureOf(event string) (user, id string, ok bool) {
	rest, ok := strings.CutPrefix(event, erasing)
	if !ok {
		return "", "", false
	}
	encoded, id, ok := strings.Cut(rest, ".")
	name, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(name), id, ok && err == nil && memory.ValidUser(string(name)) == nil
}

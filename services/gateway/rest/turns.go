package rest

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
)

// Keyed is the part of a request that may be repeated.
type Keyed struct {
	Key keyHeader `header:"Idempotency-Key" required:"true"`
}

// NewTurn is a turn that is put in.
type NewTurn struct {
	ID      textID     `json:"id,omitempty" doc:"Unique over all sessions of the user; without it one that is made of the Idempotency-Key. A turn that comes again under its id has no effect. At most 128 bytes."`
	Speaker speaker    `json:"speaker,omitempty"`
	Role    string     `json:"role" enum:"user,assistant"`
	Text    utterance  `json:"text"`
	Caption caption    `json:"caption,omitempty"`
	Time    *time.Time `json:"time,omitempty" doc:"When it was said, between 1970-01-01 and one day from now; without it now."`
	NewAttributes
}

// newTurns are turns that are accepted one by one: a value that is not accepted leaves its turn out.
type newTurns []NewTurn

// Schema implements huma.SchemaProvider. An optional text of a turn may be empty, which counts as left out.
func (newTurns) Schema(known huma.Registry) *huma.Schema {
	items := known.Schema(reflect.TypeFor[NewTurn](), true, "")
	turn, none := known.SchemaFromRef(items.Ref), 0
	for name, p := range turn.Properties {
		if p.MinLength == nil || slices.Contains(turn.Required, name) {
			continue
		}
		optional := *p
		optional.MinLength = &none
		if optional.Pattern != "" {
			optional.Pattern = "^$|" + p.Pattern
		}
		optional.PrecomputeMessages()
		turn.Properties[name] = &optional
	}
	return &huma.Schema{Type: huma.TypeArray, Items: items, Extensions: map[string]any{oneByOne: true}}
}

type putTurns struct {
	Keyed
	User    userID `path:"user"`
	Session textID `path:"session" doc:"The session."`
	Body    struct {
		Turns     newTurns `json:"turns" minItems:"1" maxItems:"200" nullable:"false" doc:"In the order in which they were said."`
		IdleAfter count    `json:"idle_after_seconds,omitempty" minimum:"1" maximum:"86400" doc:"Closes the session when nothing is added to it for so long, as closing it does. It holds for the session until turns bring another value. Without it only a call closes the session."`
	}
}

// AcceptedTurn is a turn that will be processed.
type AcceptedTurn struct {
	ID        string `json:"id"`
	StatusURL string `json:"status_url" doc:"Where to ask what became of it."`
}

// AcceptedTurns are all turns of a request.
type AcceptedTurns struct {
	Turns []AcceptedTurn `json:"turns" nullable:"false"`
}

// TurnResults say which turns of a request were accepted.
type TurnResults struct {
	Results []TurnResult `json:"results" nullable:"false" doc:"One of each turn of the request, in their order."`
}

// TurnResult says whether a turn was accepted.
type TurnResult struct {
	TurnID    string       `json:"turn_id" doc:"Cut where it is longer than an id may be."`
	Status    string       `json:"status" enum:"accepted,left_out" doc:"accepted: it will be processed. left_out: nothing is kept of it."`
	StatusURL string       `json:"status_url,omitempty" doc:"Of an accepted turn: where to ask what became of it."`
	Problem   *TurnProblem `json:"problem,omitempty" doc:"Of a turn that was left out: what is wrong with it."`
}

// TurnProblem is the error of a turn.
type TurnProblem struct {
	Code   code   `json:"code"`
	Field  string `json:"field" doc:"The field at fault, such as turns[3].text."`
	Detail string `json:"detail" doc:"What is wrong with it."`
}

// Values of TurnResult.Status.
const (
	turnAccepted = "accepted"
	turnLeftOut  = "left_out"
)

// putTurnsAnswer is AcceptedTurns with status 202, or TurnResults with 207.
type putTurnsAnswer struct {
	Status int
	Body   any
}

type closeSession struct {
	User    userID `path:"user"`
	Session textID `path:"session" doc:"The session."`
	Body    *struct {
		LastTurn textID `json:"last_turn_id,omitempty" doc:"The last turn of the session, as far as you know. Closing a session twice after the same turn has the effect of closing it once. At most 128 bytes."`
	} `required:"false"`
}

type closedSession struct {
	Body struct {
		StatusURL string `json:"status_url" doc:"Where to ask whether its memories are formed."`
	}
}

type sessionRequest struct {
	User    userID `path:"user"`
	Session textID `path:"session" doc:"The session."`
}

type sessionState struct {
	Body struct {
		State      string     `json:"state" enum:"pending,formed" doc:"formed once a session that was closed is consolidated."`
		FormedAt   *time.Time `json:"formed_at,omitempty" doc:"When memories of it were written last."`
		Turns      uint32     `json:"turns" doc:"Turns that were consolidated."`
		Operations uint32     `json:"operations" doc:"Operations on memories."`
	}
}

type turnRequest struct {
	User userID `path:"user"`
	Turn textID `path:"turn" doc:"The turn."`
}

// TurnStatus is the status of a turn.
type TurnStatus struct {
	ID         string      `json:"id"`
	Status     string      `json:"status" enum:"accepted,remembered,kept,dropped,dead_letter" doc:"accepted: it is on its way. remembered: memories were made of it. kept: it is kept as dialogue, and no memory was made of it. dropped: it is not worth remembering. dead_letter: it can never be processed."`
	MemoryIDs  []string    `json:"memory_ids,omitempty" nullable:"false" doc:"The memories made of it, in every state."`
	Saliency   *Saliency   `json:"saliency,omitempty" doc:"How worth remembering it is."`
	DeadLetter *DeadLetter `json:"dead_letter,omitempty" doc:"Why it can never be processed."`
}

// Saliency is the verdict of the saliency filter.
type Saliency struct {
	Score         float64    `json:"score" minimum:"0" maximum:"1"`
	Threshold     float64    `json:"threshold" minimum:"0" maximum:"1"`
	PolicyVersion string     `json:"policy_version,omitempty"`
	DecidedAt     *time.Time `json:"decided_at,omitempty"`
}

type turnStatus struct{ Body TurnStatus }

func (a *API) turns() {
	register(a, operation{
		id: "put-turns", method: http.MethodPost, path: "/users/{user}/sessions/{session}/turns", tag: tagTurns, scope: access.Ingest,
		keyed: true, status: http.StatusAccepted, summary: "Put turns in",
		answers: map[int]*huma.Schema{
			http.StatusAccepted:    schemaOf[AcceptedTurns](a.huma, ""),
			http.StatusMultiStatus: schemaOf[TurnResults](a.huma, ""),
		},
		description: "Takes what was said in a session, in order. When the answer is 202, every turn is acknowledged by all " +
			"in-sync replicas of the bus. When it is 207, some turns are left out, because a value of theirs is not accepted: a text that is " +
			"too long or empty, another role, an id or a speaker with a character that does not show, or an id of another turn of the last " +
			"24 hours. The others are acknowledged. The answer has one result for each turn. Repeat what was left out, once repaired, in a " +
			"new request. When it is 400 or 409, nothing is accepted. A turn that is put in again has no effect. " +
			"With `idle_after_seconds`, nobody has to close the session.",
	}, a.putTurns)
	register(a, operation{
		id: "close-session", method: http.MethodPost, path: "/users/{user}/sessions/{session}/close", tag: tagTurns, scope: access.Ingest,
		status: http.StatusAccepted, errors: []int{http.StatusNotFound}, summary: "Close a session",
		description: "Says that no further turn of the session is expected: its memories are formed now. May be repeated. One in which " +
			"nothing was put in within the last 24 hours, and of which nothing is formed, is not found, as far as the key may read.",
	}, a.closeSession)
	register(a, operation{
		id: "get-session", method: http.MethodGet, path: "/users/{user}/sessions/{session}", tag: tagTurns, scope: access.Read,
		status: http.StatusOK, errors: []int{http.StatusNotFound}, summary: "Get how far a session is",
		description: "Says whether the memories of a session are formed. One of which nothing is formed yet is `pending` where " +
			"something was put in within the last 24 hours, else not found.",
	}, a.getSession)
	register(a, operation{
		id: "get-turn", method: http.MethodGet, path: "/users/{user}/turns/{turn}", tag: tagTurns, scope: access.Read,
		status: http.StatusOK, errors: []int{http.StatusNotFound}, summary: "Get what became of a turn",
		description: "Says what became of a turn. One of which nothing is known yet is `accepted` where it was put in " +
			"within the last 24 hours, else not found.",
	}, a.getTurn)
}

func (a *API) putTurns(ctx context.Context, in *putTurns) (*putTurnsAnswer, error) {
	user, session := string(in.User), string(in.Session)
	turns := make([]memory.Turn, len(in.Body.Turns))
	for i, t := range in.Body.Turns {
		turns[i] = a.turnOf(t, deriveID(in.Key, session, i))
		var err error
		if turns[i].Attributes, err = t.read(fmt.Sprintf("turns[%d].", i)); err != nil && turns[i].Metadata == nil {
			return nil, err // else the turn alone is left out
		}
	}
	idleAfter := time.Duration(in.Body.IdleAfter) * time.Second
	left, err := a.Ingest.TurnsUntilIdle(ctx, user, session, turns, idleAfter)
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		return &putTurnsAnswer{http.StatusMultiStatus, resultsOf(user, turns, left)}, nil
	}
	out := AcceptedTurns{}
	for _, t := range turns {
		out.Turns = append(out.Turns, AcceptedTurn{ID: t.ID, StatusURL: statusURL(user, t.ID)})
	}
	return &putTurnsAnswer{http.StatusAccepted, out}, nil
}

func statusURL(user, turn string) string { return pathOf("users", user, "turns", turn) }

// resultsOf returns the results of turns, also of left-out turns.
func resultsOf(user string, turns []memory.Turn, left []ingest.LeftOut) TurnResults {
	out := TurnResults{make([]TurnResult, len(turns))}
	for i, t := range turns {
		out.Results[i] = TurnResult{TurnID: t.ID, Status: turnAccepted, StatusURL: statusURL(user, t.ID)}
	}
	for _, l := range left {
		p := l.Problem
		out.Results[l.Turn] = TurnResult{
			TurnID: cut(
				turns[l.Turn].ID,
				memory.MaxIDBytes,
			), Status: turnLeftOut, Problem: &TurnProblem{code(p.Code), fieldInBody(p.Field), p.Detail},
		}
	}
	return out
}

// turnOf returns a turn with defaults for its empty fields.
func (a *API) turnOf(t NewTurn, id string) memory.Turn {
	out := memory.Turn{
		ID: string(t.ID), Speaker: string(t.Speaker), Role: memory.Role(t.Role), Text: string(t.Text), Caption: string(t.Caption), Time: a.Now(),
	}
	if out.ID == "" {
		out.ID = id
	}
	if out.Speaker == "" {
		out.Speaker = t.Role
	}
	if t.Time != nil {
		out.Time = *t.Time
	}
	return out
}

// deriveID makes an id for a new item of a request. It derives the id from the Idempotency-Key, the target and the
// place in the request. A repeated request gets the same id. The id does not reveal the key.
func deriveID(key keyHeader, where string, place int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(key)) + ":" + string(key) + where))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20])) + "-" + strconv.Itoa(place)
}

func scopeOf(ctx context.Context, user string) memory.Scope {
	p, _ := access.FromContext(ctx) // admit has checked
	return memory.Scope{Tenant: p.Tenant.ID, User: user}
}

func (a *API) closeSession(ctx context.Context, in *closeSession) (*closedSession, error) {
	user, session := string(in.User), string(in.Session)
	last := uuid.NewString()
	if in.Body != nil && in.Body.LastTurn != "" {
		last = string(in.Body.LastTurn)
	}
	if err := a.begun(ctx, user, session); err != nil {
		return nil, err
	}
	if err := a.Ingest.CloseSession(ctx, user, session, last, a.Now()); err != nil {
		return nil, err
	}
	out := &closedSession{}
	out.Body.StatusURL = pathOf("users", user, "sessions", session)
	return out, nil
}

// begun returns a not-found error if a session has no turns: no recent turn, and no formed memory. If the state is
// not available, or not visible to a key without read access, the session may be closed.
func (a *API) begun(ctx context.Context, user, session string) error {
	missing := a.wasAccepted(ctx, user, idempotency.Session, session)
	if missing == nil || problem.From(missing).Status != http.StatusNotFound {
		return nil
	}
	res, err := a.Services.Memories.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{UserId: user, SessionId: session}))
	if err != nil || res.Msg.GetFormedAt() != nil || res.Msg.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED {
		return nil //nolint:nilerr // it cannot be told
	}
	return missing
}

func (a *API) getSession(ctx context.Context, in *sessionRequest) (*sessionState, error) {
	res, err := a.Services.Memories.GetSession(ctx, connect.NewRequest(&mnemev1.GetSessionRequest{
		UserId: string(in.User), SessionId: string(in.Session),
	}))
	if err != nil {
		return nil, err
	}
	out := &sessionState{}
	out.Body.State, out.Body.FormedAt = word(res.Msg.GetState(), "FORMATION_STATE_"), timeOf(res.Msg.GetFormedAt())
	out.Body.Turns, out.Body.Operations = res.Msg.GetTurns(), res.Msg.GetOperations()
	if out.Body.State == "pending" && out.Body.FormedAt == nil {
		return out, a.wasAccepted(ctx, string(in.User), idempotency.Session, string(in.Session))
	}
	return out, nil
}

func (a *API) getTurn(ctx context.Context, in *turnRequest) (*turnStatus, error) {
	user, id := string(in.User), string(in.Turn)
	res, err := a.Services.Memories.GetTurns(ctx, connect.NewRequest(&mnemev1.GetTurnsRequest{UserId: user, TurnIds: []string{id}}))
	if err != nil {
		return nil, err
	}
	out := &turnStatus{TurnStatus{ID: id}}
	for _, t := range res.Msg.GetTurns() {
		out.Body.MemoryIDs, out.Body.Status = t.GetMemoryIds(), word(t.GetState(), "TURN_STATE_")
		if s := t.GetSaliency(); s != nil {
			out.Body.Saliency = &Saliency{s.GetScore(), s.GetThreshold(), s.GetPolicyVersion(), timeOf(s.GetDecidedAt())}
		}
	}
	if out.Body.Status != "pending" {
		return out, nil
	}
	return out, a.pending(ctx, user, &out.Body)
}

// pending sets the status of a turn that the bank does not have. Such a turn is a dead letter, or on its way.
func (a *API) pending(ctx context.Context, user string, t *TurnStatus) error {
	letter, dead, err := a.DeadLetters.OfTurn(ctx, user, t.ID)
	if err != nil {
		return err
	}
	if dead {
		t.Status, t.DeadLetter = "dead_letter", new(deadLetterOf(letter))
		return nil
	}
	t.Status = "accepted"
	return a.wasAccepted(ctx, user, idempotency.Turn, t.ID)
}

// wasAccepted returns a not-found error if the gateway never accepted the item, as far as the stored notes show.
func (a *API) wasAccepted(ctx context.Context, user string, kind idempotency.Accepted, id string) error {
	known, err := a.Idempotency.Knows(ctx, scopeOf(ctx, user), kind, id)
	if err == nil && !known {
		err = problem.Problem{Status: http.StatusNotFound, Code: problem.CodeNotFound, Detail: "nothing is known of this " + string(kind)}
	}
	return err
}

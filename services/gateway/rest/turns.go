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

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
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
	ID      textID     `json:"id,omitempty" doc:"The id, unique in all sessions of the user. Default: an id derived from the Idempotency-Key. A repeated turn has no effect. At most 128 bytes."`
	Speaker speaker    `json:"speaker,omitempty"`
	Role    string     `json:"role" enum:"user,assistant,system,developer,tool,function" doc:"The role of the speaker. Mneme remembers only turns of users and assistants."`
	Text    *utterance `json:"text,omitempty"`
	Content content    `json:"content,omitempty"`
	Name    speaker    `json:"name,omitempty"`
	Calls   unread     `json:"tool_calls,omitempty"`
	CallID  unread     `json:"tool_call_id,omitempty"`
	Call    unread     `json:"function_call,omitempty"`
	Refusal refusal    `json:"refusal,omitempty"`
	Audio   unread     `json:"audio,omitempty"`
	Notes   unread     `json:"annotations,omitempty"`
	Caption caption    `json:"caption,omitempty"`
	Time    *time.Time `json:"time,omitempty" doc:"The time of the turn, between 1970-01-01 and one day from now. Days in words (tomorrow) count from its day in its offset. Default: now, in UTC."`
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
	OfSession
	Body struct {
		Turns     newTurns `json:"turns" minItems:"1" maxItems:"200" nullable:"false" doc:"The turns, in the order of the conversation."`
		IdleAfter count    `json:"idle_after_seconds,omitempty" minimum:"1" maximum:"86400" doc:"Mneme closes the session after this time without a new turn. The value holds until later turns bring another one. Default: only a call closes the session."`
	}
}

// AcceptedTurn is a turn that will be processed.
type AcceptedTurn struct {
	ID        string `json:"id"`
	StatusURL string `json:"status_url" doc:"URL of the item's status."`
}

// AcceptedTurns are all turns of a request.
type AcceptedTurns struct {
	Turns []AcceptedTurn `json:"turns" nullable:"false"`
}

// TurnResults say which turns of a request were accepted.
type TurnResults struct {
	Results []TurnResult `json:"results" nullable:"false" doc:"One result for each turn, in the order of the request."`
}

// TurnResult says whether a turn was accepted.
type TurnResult struct {
	TurnID    string       `json:"turn_id" doc:"The id, cut to the maximum length of an id."`
	Status    string       `json:"status" enum:"accepted,left_out,not_remembered" doc:"accepted: Mneme will process the turn. left_out: the turn has a wrong value, and Mneme stores nothing of it. not_remembered: the turn is valid, and Mneme stores nothing of it."`
	StatusURL string       `json:"status_url,omitempty" doc:"For an accepted turn: the URL of its status."`
	Shortened int          `json:"shortened_by,omitempty" minimum:"1" doc:"For an accepted turn with a shortened text: the number of bytes left out between its first and its last part."`
	Problem   *TurnProblem `json:"problem,omitempty" doc:"For a turn that was left out: the error."`
	Reason    string       `json:"reason,omitempty" doc:"For a turn that is not remembered: the reason."`
}

// TurnProblem is the error of a turn.
type TurnProblem struct {
	Code   code   `json:"code"`
	Field  string `json:"field" doc:"The wrong field, such as turns[3].text."`
	Detail string `json:"detail" doc:"The error in the field."`
}

// Values of TurnResult.Status.
const (
	turnAccepted = "accepted"
	turnLeftOut  = "left_out"
	turnSilent   = "not_remembered"
)

// putTurnsAnswer is AcceptedTurns with status 202, or TurnResults with 207.
type putTurnsAnswer struct {
	Status int
	Body   any
}

type closeSession struct {
	OfSession
	Body *struct {
		LastTurn textID `json:"last_turn_id,omitempty" doc:"The id of the session's last turn. A repeated close after the same turn has no further effect. At most 128 bytes."`
	} `required:"false"`
}

type closedSessionBody struct {
	StatusURL string `json:"status_url" doc:"URL of the session's status."`
}

// OfSession is the part of a request that names a session.
type OfSession struct {
	User    userID `path:"user"`
	Session textID `path:"session" doc:"The session."`
}

type sessionStateBody struct {
	State      string     `json:"state" enum:"pending,formed" doc:"The state; formed after the consolidation of a closed session."`
	FormedAt   *time.Time `json:"formed_at,omitempty" doc:"Time of the last write of its memories."`
	Turns      uint32     `json:"turns" doc:"Number of consolidated turns."`
	Operations uint32     `json:"operations" doc:"Number of operations on memories."`
}

type turnRequest struct {
	User userID `path:"user"`
	Turn textID `path:"turn" doc:"The turn."`
}

// TurnStatus is the status of a turn.
type TurnStatus struct {
	ID         string      `json:"id"`
	Status     string      `json:"status" enum:"accepted,remembered,kept,dropped,dead_letter" doc:"accepted: waits for processing. remembered: became memories. kept: stored as dialogue or talk, without a memory. dropped: not worth remembering. dead_letter: cannot be processed."`
	MemoryIDs  []string    `json:"memory_ids,omitempty" nullable:"false" doc:"The memories from this turn, in every state."`
	TalkIDs    []string    `json:"talk_ids,omitempty" nullable:"false" doc:"The talk from this turn, in every state. Talk is only searchable."`
	Saliency   *Saliency   `json:"saliency,omitempty" doc:"The saliency score."`
	DeadLetter *DeadLetter `json:"dead_letter,omitempty" doc:"The reason of the failure."`
}

// Saliency is the verdict of the saliency filter.
type Saliency struct {
	Score         float64    `json:"score" minimum:"0" maximum:"1"`
	Threshold     float64    `json:"threshold" minimum:"0" maximum:"1"`
	PolicyVersion string     `json:"policy_version,omitempty"`
	DecidedAt     *time.Time `json:"decided_at,omitempty"`
}

func (a *API) turns() {
	register(a, operation{
		id: "put-turns", route: "POST /users/{user}/sessions/{session}/turns", tag: tagTurns, scope: access.Ingest,
		keyed: true, status: http.StatusAccepted,
		answers: map[int]*huma.Schema{
			http.StatusAccepted:    schemaOf[AcceptedTurns](a.huma, ""),
			http.StatusMultiStatus: schemaOf[TurnResults](a.huma, ""),
		},
		summary: "Add turns",
		description: "Adds turns to a session, in order. With the answer 202, all in-sync replicas of the bus have " +
			"acknowledged every turn. With 207, the gateway left out or shortened some turns, or does not remember them. " +
			"The answer has one result for each turn. The gateway does not remember turns of the roles system, " +
			"developer, tool and function, and turns of the assistant with calls of tools and without a text. It answers " +
			"207 to a request with only such turns. It leaves out the turns with a wrong value: a text that is too long " +
			"or empty, an unknown role, an id or a speaker with an invisible character, or the id of another turn of the " +
			"last 24 hours. The other turns are acknowledged. Repair the left-out turns and send them in a new request. " +
			"With 400 or 409, the gateway accepted no turn. A repeated turn has no effect. Mneme shortens a text of more " +
			"than " + strconv.Itoa(memory.MaxTextBytes) + " bytes: it keeps the first and the last part. A line between " +
			"them has the number of bytes left out. A body has at most " + strconv.Itoa(problem.MaxBody) + " bytes, so a " +
			"request holds about " + strconv.Itoa(problem.MaxBody/memory.MaxTurnBytes-1) + " turns of the maximum " +
			"length. With `idle_after_seconds`, no call needs to close the session.",
	}, a.putTurns)
	register(a, operation{
		id: "close-session", route: "POST /users/{user}/sessions/{session}/close", tag: tagTurns, scope: access.Ingest,
		status: http.StatusAccepted, errors: []int{http.StatusNotFound}, summary: "Close a session",
		description: "Ends a session, so that Mneme forms its memories now. You may repeat the call. If the key may " +
			"read, the call answers 404 for a session without turns in the last 24 hours and without formed memories.",
	}, a.closeSession)
	register(a, operation{
		id: "get-session", route: "GET /users/{user}/sessions/{session}", tag: tagTurns, scope: access.Read,
		errors: []int{http.StatusNotFound}, summary: "Get the status of a session",
		description: "Returns whether the memories of a session are formed. A session without formed memories is " +
			"`pending` if it got turns in the last 24 hours. Otherwise the answer is 404.",
	}, a.getSession)
	register(a, operation{
		id: "get-turn", route: "GET /users/{user}/turns/{turn}", tag: tagTurns, scope: access.Read,
		errors: []int{http.StatusNotFound}, summary: "Get the status of a turn",
		description: "Returns the result of a turn. An unprocessed turn is `accepted` if the gateway got it in the " +
			"last 24 hours. Otherwise the answer is 404.",
	}, a.getTurn)
}

func (a *API) putTurns(ctx context.Context, in *putTurns) (*putTurnsAnswer, error) {
	user, session := string(in.User), string(in.Session)
	turns := make([]ingest.Turn, len(in.Body.Turns))
	for i, t := range in.Body.Turns {
		turns[i] = a.turnOf(t, fmt.Sprintf("turns[%d]", i), deriveID(in.Key, session, i))
	}
	idleAfter := time.Duration(in.Body.IdleAfter) * time.Second
	outcomes, err := a.Ingest.TurnsUntilIdle(ctx, user, session, turns, idleAfter)
	if err != nil {
		return nil, err
	}
	if len(outcomes) > 0 {
		return &putTurnsAnswer{http.StatusMultiStatus, resultsOf(user, turns, outcomes)}, nil
	}
	out := AcceptedTurns{}
	for _, t := range turns {
		out.Turns = append(out.Turns, AcceptedTurn{ID: t.ID, StatusURL: statusURL(user, t.ID)})
	}
	return &putTurnsAnswer{http.StatusAccepted, out}, nil
}

func statusURL(user, turn string) string { return pathOf("users", user, "turns", turn) }

// resultsOf returns the results of all turns.
func resultsOf(user string, turns []ingest.Turn, outcomes []ingest.Outcome) TurnResults {
	out := TurnResults{make([]TurnResult, len(turns))}
	for i, t := range turns {
		out.Results[i] = TurnResult{TurnID: t.ID, Status: turnAccepted, StatusURL: statusURL(user, t.ID)}
	}
	for _, o := range outcomes {
		r := &out.Results[o.Turn]
		if o.IsPublished() {
			r.Shortened = o.Shortened
			continue
		}
		*r = TurnResult{TurnID: cut(turns[o.Turn].ID, memory.MaxIDBytes), Status: turnSilent, Reason: o.NotRemembered}
		if o.IsLeftOut() {
			r.Status = turnLeftOut
			r.Problem = &TurnProblem{code(o.Problem.Code), fieldInBody(o.Problem.Field), o.Problem.Detail}
		}
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

func (a *API) closeSession(ctx context.Context, in *closeSession) (*answer[closedSessionBody], error) {
	user, session := string(in.User), string(in.Session)
	last := uuid.NewString()
	if in.Body != nil && in.Body.LastTurn != "" {
		last = string(in.Body.LastTurn)
	}
	if err := a.begun(ctx, user, session); err != nil {
		return nil, err
	}
	err := a.Ingest.CloseSession(ctx, user, session, last, a.Now())
	return respond(pathOf("users", user, "sessions", session), err, func(url string) closedSessionBody {
		return closedSessionBody{url}
	})
}

// begun returns a not-found error if a session has no turns: no recent turn, and no formed memory. If the state is
// not available, or not visible to a key without read access, the session may be closed.
func (a *API) begun(ctx context.Context, user, session string) error {
	missing := a.wasAccepted(ctx, user, idempotency.Session, session)
	if missing == nil || problem.From(missing).Status != http.StatusNotFound {
		return nil
	}
	res, err := backend.Ask(ctx, a.Services.Memories.GetSession,
		&mnemev1.GetSessionRequest{UserId: user, SessionId: session})
	if err != nil || res.GetFormedAt() != nil || res.GetState() == mnemev1.FormationState_FORMATION_STATE_FORMED {
		return nil //nolint:nilerr // it cannot be told
	}
	return missing
}

func sessionStateOf(s *mnemev1.GetSessionResponse) sessionStateBody {
	return sessionStateBody{
		word(s.GetState(), "FORMATION_STATE_"), timeOf(s.GetFormedAt()), s.GetTurns(), s.GetOperations(),
	}
}

func (a *API) getSession(ctx context.Context, in *OfSession) (*answer[sessionStateBody], error) {
	out, err := ask(ctx, a.Services.Memories.GetSession,
		&mnemev1.GetSessionRequest{UserId: string(in.User), SessionId: string(in.Session)}, sessionStateOf)
	if err != nil {
		return nil, err
	}
	if out.Body.State == "pending" && out.Body.FormedAt == nil {
		return out, a.wasAccepted(ctx, string(in.User), idempotency.Session, string(in.Session))
	}
	return out, nil
}

func (a *API) getTurn(ctx context.Context, in *turnRequest) (*answer[TurnStatus], error) {
	user, id := string(in.User), string(in.Turn)
	res, err := backend.Ask(ctx, a.Services.Memories.GetTurns,
		&mnemev1.GetTurnsRequest{UserId: user, TurnIds: []string{id}})
	if err != nil {
		return nil, err
	}
	out := &answer[TurnStatus]{TurnStatus{ID: id}}
	for _, t := range res.GetTurns() {
		out.Body.MemoryIDs, out.Body.TalkIDs, out.Body.Status = t.GetMemoryIds(), t.GetTalkIds(),
			word(t.GetState(), "TURN_STATE_")
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
	letter, dead, err := a.DeadLetters.Find(ctx, user, t.ID)
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
		err = problem.NotFound("Mneme has no record of this " + string(kind))
	}
	return err
}

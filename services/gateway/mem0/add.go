package mem0

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/chat"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
)

// maxVerbatim is how many messages may be stored verbatim at once: each waits until it is written.
const maxVerbatim = 50

// idleAfter closes a session in which nothing was added for so long: mem0's clients close none.
const idleAfter = 20 * time.Second

// dropWait is how long removing the event of a refused addition may take.
const dropWait = 5 * time.Second

// hints are mem0's fields that control the formation of memories. They have no effect here, and the answer says so.
var hints = []string{
	"custom_instructions", "agent_custom_instructions", "custom_categories", "structured_data_schema", "includes",
	"excludes", "immutable",
}

// noExpiry is the reason for a refused date. A caller that sends a date relies on it.
const noExpiry = "memories do not expire: delete the memories that you no longer need"

// addition is a checked request to add something.
type addition struct {
	id, user, session string
	turns             []memory.Turn
	// places holds the positions of the turns among the messages. spoken counts the turns that are not a user's.
	places     []int
	attributes memory.Attributes
	// left are messages that were left out, shortened those with a shortened text, and silent those that are not
	// remembered.
	left      []leftOut
	shortened []chat.Shortened
	silent    []chat.Unremembered
	// remarks are for the answer.
	remarks []string
}

// add puts messages in as turns, or stores them verbatim.
func (a *api) add(r *http.Request, in fields) (any, error) {
	infer, err := in.flag("infer", true)
	if err != nil {
		return nil, err
	}
	what, err := a.additionOf(r.Context(), in)
	if err != nil {
		return nil, err
	}
	if err := backend.Check(r.Context(), access.Ingest, what.user); err != nil {
		return nil, err
	}
	if len(what.turns) == 0 {
		return a.addNothing(r.Context(), what)
	}
	if !infer {
		return a.addVerbatim(r.Context(), what)
	}
	return a.addTurns(r.Context(), what)
}

// additionOf reads a request to add something.
func (a *api) additionOf(ctx context.Context, in fields) (what addition, err error) {
	who, err := addedTo(in)
	if err != nil {
		return what, err
	}
	what = addition{id: uuid.NewString(), user: who.owner(bound(ctx)), session: who[runField]}
	if what.user == "" {
		return what, problem.Invalid(userField, "is missing, as are agent_id, app_id and run_id: want one of them")
	}
	if what.session == "" {
		what.session = defaultSession
	}
	for _, field := range entityFields {
		if who[field] != "" {
			if err := memory.ValidNewID(field, who[field], memory.MaxUserBytes); err != nil {
				return what, err
			}
		}
	}
	if in.has("expiration_date") {
		return what, problem.UnsupportedField("expiration_date", noExpiry)
	}
	if what.attributes, err = attributesOf(who, in); err != nil {
		return what, err
	}
	at, err := a.parseTimestamp(in)
	if err != nil {
		return what, err
	}
	if err := what.messages(in, at); err != nil {
		return what, err
	}
	for _, hint := range hints {
		if in.has(hint) {
			what.remarks = append(what.remarks, hint+" does nothing here.")
		}
	}
	return what, nil
}

// attributesOf returns the attributes of the turns and of the memories formed from them.
func attributesOf(who named, in fields) (out memory.Attributes, err error) {
	out = memory.Attributes{AgentID: who[agentField], AppID: who[appField], RunID: who[runField]}
	if out.Metadata, err = metadataIn(in); err != nil {
		return out, err
	}
	return out, out.ValidateNew("")
}

// metadataIn reads metadata. It returns nil if the field is absent.
func metadataIn(in fields) (map[string]any, error) {
	object, err := in.object("metadata")
	if err != nil || object == nil {
		return nil, err
	}
	if _, reserved := object[createdKey]; reserved {
		return nil, problem.Invalid("metadata."+createdKey, "is reserved")
	}
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return memory.ParseMetadata("metadata", body)
}

// turnID is the id of a turn of an event.
func turnID(event string, place int) string { return event + "-" + strconv.Itoa(place) }

// record returns the stored form of the event.
func (what addition) record(now time.Time) mem0state.Event {
	return mem0state.Event{ID: what.id, User: what.user, Session: what.session, Turns: len(what.turns), At: now}
}

// answer builds the answer for the event.
func (what addition) answer(status, message string) map[string]any {
	out := map[string]any{"event_id": what.id, "status": status}
	said := append([]string{message}, what.remarks...)
	if len(what.left) > 0 {
		views := make([]map[string]any, len(what.left))
		for i, l := range what.left {
			views[i] = l.view()
			said = append(said, fmt.Sprintf("Message %d is left out: %s.", l.place, l.problem.Error()))
		}
		out["left_out"] = views
	}
	if len(what.silent) > 0 {
		out["not_remembered"] = what.silent
		for _, s := range what.silent {
			said = append(said, fmt.Sprintf("Message %d is not remembered: %s.", s.Message, s.Reason))
		}
	}
	if len(what.shortened) > 0 {
		out["shortened"] = what.shortened
		for _, s := range what.shortened {
			said = append(said, fmt.Sprintf("Message %d is shortened by %d bytes.", s.Message, s.By))
		}
	}
	out["message"] = strings.Join(said, " ")
	return out
}

// addTurns publishes the turns after it stores the event. A client that has the answer can then query the event.
func (a *api) addTurns(ctx context.Context, what addition) (any, error) {
	scope, err := a.begin(ctx, what)
	if err != nil {
		return nil, err
	}
	outcomes, err := a.Ingest.TurnsUntilIdle(ctx, what.user, what.session, what.readable(), idleAfter)
	if err != nil {
		a.forgotten(ctx, scope, what.id)
		return nil, what.named(err)
	}
	what.note(outcomes)
	return what.answer(statusPending, "Mneme has accepted the messages, and forms memories in the background: "+
		"poll the event."), nil
}

// readable returns the turns for the ingester. The unreadable ones are left out already.
func (what addition) readable() []ingest.Turn {
	out := make([]ingest.Turn, len(what.turns))
	for i, t := range what.turns {
		out[i].Turn = t
	}
	return out
}

// addNothing stores the event of messages that are not remembered. It is done at once.
func (a *api) addNothing(ctx context.Context, what addition) (any, error) {
	scope, err := a.begin(ctx, what)
	if err != nil {
		return nil, err
	}
	if err := a.State.Done(ctx, scope, what.id); err != nil {
		return nil, err
	}
	return what.answer(statusSucceeded, "Mneme remembers none of the messages."), nil
}

// begin keeps the event.
func (a *api) begin(ctx context.Context, what addition) (memory.Scope, error) {
	scope := scopeOf(ctx, what.user)
	token, err := a.State.Token(ctx, scope)
	if err != nil {
		return scope, err
	}
	return scope, a.State.Begin(ctx, scope, token, what.record(a.Now()))
}

// note moves turns that were not published to the messages that were left out, and notes shortened turns.
func (what *addition) note(outcomes []ingest.Outcome) {
	for _, o := range outcomes {
		switch place := what.places[o.Turn]; {
		case o.IsLeftOut():
			what.left = append(what.left, leftOut{place, problem.From(what.named(o.Problem))})
		case o.IsPublished():
			what.shortened = append(what.shortened, chat.Shortened{Message: place, By: o.Shortened})
		}
	}
	slices.SortFunc(what.left, func(a, b leftOut) int { return a.place - b.place })
	for _, o := range slices.Backward(outcomes) {
		if !o.IsPublished() {
			what.turns = slices.Delete(what.turns, o.Turn, o.Turn+1)
		}
	}
}

// forgotten removes the event of an addition that failed.
func (a *api) forgotten(ctx context.Context, scope memory.Scope, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWait)
	defer cancel()
	if err := a.State.Drop(ctx, scope, id); err != nil {
		a.Log.WarnContext(ctx, "mem0's API: the event of refused messages stays pending", "error", err)
	}
}

// inTurns begins a field of the turns that messages became.
var inTurns = regexp.MustCompile(`^turns\[(\d+)\]\.?`)

// named rewrites an error about a turn in the words of the request.
func (what addition) named(err error) error {
	p := problem.From(err)
	m := inTurns.FindStringSubmatch(p.Field)
	if p.Status != http.StatusBadRequest || m == nil {
		return err
	}
	n, _ := strconv.Atoi(m[1]) // digits
	if n >= len(what.places) {
		return err
	}
	field := strings.TrimPrefix(p.Field, m[0])
	switch field {
	case "text":
		field = "content"
	case "speaker":
		field = "name"
	}
	p.Field = fmt.Sprintf("messages[%d].%s", what.places[n], field)
	return p
}

// addVerbatim writes the user's messages unchanged, one memory per message.
func (a *api) addVerbatim(ctx context.Context, what addition) (any, error) {
	if err := what.onlyUsers(); err != nil {
		return nil, err
	}
	scope, err := a.begin(ctx, what)
	if err != nil {
		return nil, err
	}
	results := make([]result, len(what.turns))
	for i, t := range what.turns {
		res, err := a.Services.Memories.AddMemory(ctx, connect.NewRequest(&mnemev1.AddMemoryRequest{
			UserId: what.user, SessionId: what.session, Turn: contract.TurnToProto(t),
		}))
		if err != nil {
			if i == 0 {
				a.forgotten(ctx, scope, what.id)
			}
			return nil, placed(fmt.Sprintf("messages[%d]", what.places[i]), fmt.Sprintf("the %d before it are stored", i), err)
		}
		results[i] = resultOf(what.user, res.Msg.GetMemory())
	}
	if err := a.State.Done(ctx, scope, what.id); err != nil {
		a.Log.WarnContext(ctx, "mem0's API: cannot record the end of an event", "error", err)
	}
	out := what.answer(statusSucceeded, "The user's messages are stored unchanged.")
	out["results"] = results
	return out, nil
}

// onlyUsers leaves out messages from other speakers than the user, and texts that are too long to store unchanged.
func (what *addition) onlyUsers() error {
	turns, places := what.turns, what.places
	what.turns, what.places = nil, nil
	users := 0
	for i, t := range turns {
		if t.Role != memory.RoleUser {
			continue
		}
		users++
		if err := memory.ValidText(fmt.Sprintf("messages[%d].content", places[i]), t.Text, memory.MaxTextBytes); err != nil {
			what.left = append(what.left, leftOut{places[i], problem.From(err)})
			continue
		}
		t.ID = turnID(what.id, len(what.turns))
		what.turns, what.places = append(what.turns, t), append(what.places, places[i])
	}
	slices.SortFunc(what.left, func(a, b leftOut) int { return a.place - b.place })
	switch n := len(what.turns); {
	case n == 0 && users > 0:
		return what.left[0].problem
	case n == 0:
		return problem.Invalid("messages", "has no message of a user, and infer=false stores no other messages")
	case n > maxVerbatim:
		return problem.Invalid("messages", fmt.Sprintf("has %d messages of a user, want at most %d with infer=false", n,
			maxVerbatim))
	case users < len(turns):
		what.remarks = append(what.remarks, fmt.Sprintf("%d messages of other roles are left out.", len(turns)-users))
	}
	return nil
}

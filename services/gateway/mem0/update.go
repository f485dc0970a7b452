package mem0

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/services/gateway/upstream"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// maxBatch is how many memories a call may change: each waits until it is written.
const maxBatch = 200

// change is what becomes of a memory.
type change struct {
	// text is empty where it stays as it is.
	text string
	// metadata takes the place of what was noted, where it is not nil.
	metadata map[string]any
	// at is when it was said; zero means now.
	at time.Time
}

// changeOf reads what is to become of a memory.
func (a *api) changeOf(in fields) (c change, err error) {
	if c.text, err = in.text("text"); err != nil {
		return c, err
	}
	if in.given("text") {
		if err := memory.ValidText("text", c.text, memory.MaxTextBytes); err != nil {
			return c, err
		}
	}
	if c.metadata, err = metadataOf(in); err != nil {
		return c, err
	}
	if in.given("expiration_date") {
		return c, door.Problem{Status: http.StatusNotImplemented, Code: door.CodeUnsupported, Field: "expiration_date", Detail: noExpiry}
	}
	if in.given("timestamp") {
		c.at, err = a.said(in)
	}
	return c, err
}

// update changes a memory, and returns it as it is then.
func (a *api) update(r *http.Request, in fields) (any, error) {
	c, err := a.changeOf(in)
	if err != nil {
		return nil, err
	}
	if _, expires := in["expiration_date"]; c.text == "" && c.metadata == nil && c.at.IsZero() && !expires {
		return nil, door.Invalid("text", "is missing, as are metadata and timestamp: want one of them")
	}
	f, err := a.standing(r.Context(), r.PathValue("memory_id"))
	if err != nil {
		return nil, err
	}
	if err := a.change(r.Context(), &f, c); err != nil {
		return nil, err
	}
	return a.item(r.Context(), f)
}

// change writes a new version where the text or its time changes, and notes metadata. f is what was found, with what became of it.
func (a *api) change(ctx context.Context, f *found, c change) error {
	if err := upstream.Check(ctx, access.Erase, f.user); err != nil {
		return err
	}
	notes, err := a.State.notesOf(ctx, scopeOf(ctx, f.user), []*mnemev1.Memory{f.newest})
	if err != nil {
		return err
	}
	shown := itemOf(f.user, f.newest, notes[0])
	if c.text == "" {
		c.text = shown.Memory
	}
	if c.text != shown.Memory || !c.at.IsZero() && !c.at.Equal(shown.created) {
		n := note{Metadata: notes[0].Metadata, Agent: notes[0].Agent, App: notes[0].App, ID: shown.ID, Created: shown.created}
		return a.rewrite(ctx, f, c, n)
	}
	if c.metadata == nil {
		return nil
	}
	return a.State.annotate(ctx, scopeOf(ctx, f.user), f.newest.GetId(), c.metadata)
}

// rewrite writes a new version, by a turn whose id is made of what is written in place of what: a call that comes again writes nothing
// more. What was noted of the version before is noted of this one, too, before it is there.
func (a *api) rewrite(ctx context.Context, f *found, c change, n note) error {
	if c.metadata != nil {
		n.Metadata = c.metadata
	}
	if c.at.IsZero() {
		c.at = a.Now()
	} else {
		n.Created = c.at
	}
	what := f.newest.GetId() + "\n" + c.text
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(what)).String()
	if err := a.State.note(ctx, scopeOf(ctx, f.user), id, n); err != nil {
		return err
	}
	res, err := a.Services.Memories.UpdateMemory(ctx, connect.NewRequest(&mnemev1.UpdateMemoryRequest{
		UserId: f.user, MemoryId: f.newest.GetId(), Turn: turnOver(f.newest, turnID(id, 0), c),
	}))
	if err != nil {
		return err
	}
	f.newest = res.Msg.GetMemory()
	return nil
}

// turnOver is a turn that tells a memory anew: in the words of who said it, or, where it is told in the third person, as an assistant does.
func turnOver(m *mnemev1.Memory, id string, c change) *mnemev1.Turn {
	out := &mnemev1.Turn{
		TurnId: id, Speaker: m.GetSpeaker(), Role: mnemev1.Role_ROLE_USER, Text: c.text, Time: timestamppb.New(c.at),
	}
	if out.Speaker == "" {
		out.Speaker, out.Role = string(memory.RoleAssistant), mnemev1.Role_ROLE_ASSISTANT
	}
	return out
}

// batchOf reads the memories of a batch, each with where it stands.
func batchOf(in fields) ([]fields, error) {
	list, err := in.list("memories")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || len(list) > maxBatch {
		return nil, door.Invalid("memories", fmt.Sprintf("has %d memories, want 1 to %d", len(list), maxBatch))
	}
	out := make([]fields, len(list))
	for i, one := range list {
		object, ok := one.(map[string]any)
		if !ok {
			return nil, wrongType(fmt.Sprintf("memories[%d]", i), "", one, "an object")
		}
		out[i] = object
		id, err := out[i].text("memory_id")
		if err != nil {
			return nil, placed(fmt.Sprintf("memories[%d]", i), "", err)
		}
		if id == "" {
			return nil, door.Invalid(fmt.Sprintf("memories[%d].memory_id", i), "is missing")
		}
	}
	return out, nil
}

// batch finds the memories of a batch, all of them before anything is done, and does something with each.
func (a *api) batch(r *http.Request, in []fields, do func(context.Context, int, found) error) error {
	all, places := make([]found, len(in)), map[string]int{}
	for i, one := range in {
		at := fmt.Sprintf("memories[%d]", i)
		id, err := one.text("memory_id")
		if err == nil {
			all[i], err = a.standing(r.Context(), id)
		}
		if err != nil {
			return placed(at, "", err)
		}
		if first, twice := places[all[i].newest.GetId()]; twice {
			return door.Invalid(at+".memory_id", fmt.Sprintf("is of the same memory as memories[%d]", first))
		}
		places[all[i].newest.GetId()] = i
	}
	for i, f := range all {
		if err := do(r.Context(), i, f); err != nil {
			return placed(fmt.Sprintf("memories[%d]", i), fmt.Sprintf("those before it, %d, are done", i), err)
		}
	}
	return nil
}

// updateAll changes several memories.
func (a *api) updateAll(r *http.Request, in fields) (any, error) {
	list, err := batchOf(in)
	if err != nil {
		return nil, err
	}
	changes := make([]change, len(list))
	for i, one := range list {
		if changes[i], err = a.changeOf(one); err != nil {
			return nil, placed(fmt.Sprintf("memories[%d]", i), "", err)
		}
	}
	err = a.batch(r, list, func(ctx context.Context, i int, f found) error { return a.change(ctx, &f, changes[i]) })
	if err != nil {
		return nil, err
	}
	return map[string]string{"message": fmt.Sprintf("Successfully updated %d memories", len(list))}, nil
}

// removeAll retracts several memories.
func (a *api) removeAll(r *http.Request, in fields) (any, error) {
	list, err := batchOf(in)
	if err != nil {
		return nil, err
	}
	if err := a.batch(r, list, func(ctx context.Context, _ int, f found) error { return a.retract(ctx, f) }); err != nil {
		return nil, err
	}
	return map[string]string{"message": fmt.Sprintf("Successfully deleted %d memories", len(list))}, nil
}

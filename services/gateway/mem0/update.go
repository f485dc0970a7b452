package mem0

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// maxBatch is how many memories a call may change: each waits until it is written.
const maxBatch = 200

// change is a requested change of a memory.
type change struct {
	// text is empty where it stays as it is.
	text string
	// metadata takes the place of the metadata that there is; nil leaves that as it is.
	metadata map[string]any
	// at is the time of the turn. Zero means now.
	at time.Time
}

// changeOf reads the requested change of a memory.
func (a *api) changeOf(in fields) (c change, err error) {
	if c.text, err = in.text("text"); err != nil {
		return c, err
	}
	if in.has("text") {
		if err := memory.ValidText("text", c.text, memory.MaxTextBytes); err != nil {
			return c, err
		}
	}
	if c.metadata, err = metadataIn(in); err != nil {
		return c, err
	}
	if in.has("expiration_date") {
		return c, problem.UnsupportedField("expiration_date", noExpiry)
	}
	if in.has("timestamp") {
		c.at, err = a.parseTimestamp(in)
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
		return nil, problem.Invalid("text", "is missing, as are metadata and timestamp: want one of them")
	}
	f, err := a.standing(r.Context(), r.PathValue("memory_id"))
	if err != nil {
		return nil, err
	}
	if err := a.change(r.Context(), &f, c); err != nil {
		return nil, err
	}
	return itemOf(f.user, f.newest), nil
}

// change writes a new version if the text, its time or the metadata changes. f is the lookup's result, with the
// newest version.
func (a *api) change(ctx context.Context, f *found, c change) error {
	if err := backend.Check(ctx, access.Erase, f.user); err != nil {
		return err
	}
	turn, changes, err := a.turnOver(f, c)
	if err != nil || !changes {
		return err
	}
	res, err := a.Services.Memories.UpdateMemory(ctx, connect.NewRequest(&mnemev1.UpdateMemoryRequest{
		UserId: f.user, MemoryId: f.newest.GetId(), Turn: contract.TurnToProto(turn),
	}))
	if err != nil {
		return err
	}
	f.newest = res.Msg.GetMemory()
	return nil
}

// turnOver returns a turn that replaces a memory. It has the words of the speaker. A memory in the third person
// becomes an assistant's turn. The turn's id derives from the change, so a repeated call writes nothing more.
// changes is false if nothing changes.
func (a *api) turnOver(f *found, c change) (t memory.Turn, changes bool, err error) {
	shown := itemOf(f.user, f.newest)
	t = memory.Turn{Speaker: f.newest.GetSpeaker(), Role: memory.RoleUser, Text: c.text, Time: c.at}
	if t.Speaker == "" {
		t.Speaker, t.Role = string(memory.RoleAssistant), memory.RoleAssistant
	}
	if t.Text == "" {
		t.Text = shown.Memory
	}
	moved := !c.at.IsZero() && !c.at.Equal(shown.created)
	if t.Text == shown.Memory && !moved && (c.metadata == nil || reflect.DeepEqual(c.metadata, metadataOf(f.newest))) {
		return t, false, nil
	}
	created := shown.created
	switch {
	case !c.at.IsZero():
		created = c.at
	case t.Text != shown.Memory:
		t.Time = a.Now().UTC()
	default: // relative times in the text keep their meaning
		t.Time = timeOf(f.newest.GetValidFrom())
	}
	t.AliasOf = shown.ID
	if t.Metadata, err = metadataOver(f.newest, c.metadata, created, t.Time); err != nil {
		return t, false, err
	}
	asked, err := json.Marshal([]any{f.newest.GetId(), t.Text, c.metadata, c.at})
	t.ID = turnID(uuid.NewSHA1(uuid.NameSpaceOID, asked).String(), 0)
	return t, true, err
}

// metadataOver returns the metadata of a turn that updates a memory. It is the requested metadata, or the current
// metadata if the request has none. The new version would keep keys that the turn lacks, so removed keys are null.
// The metadata carries the memory's creation time, unless that equals the turn's time.
func metadataOver(m *mnemev1.Memory, wanted map[string]any, created, said time.Time) (map[string]any, error) {
	if wanted == nil {
		wanted = metadataOf(m)
	}
	out := map[string]any{}
	for key := range m.GetMetadata().AsMap() {
		out[key] = nil
	}
	maps.Copy(out, wanted)
	if !created.Equal(said) {
		out[createdKey] = stamp(created)
	}
	if err := memory.CheckMetadata("metadata", out); err != nil {
		return nil, placed("", "with null for each key that goes, and the time at which the memory was created", err)
	}
	return out, nil
}

// batchOf reads the memories of a batch, each with where it stands.
func batchOf(in fields) ([]fields, error) {
	list, err := in.list("memories")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || len(list) > maxBatch {
		return nil, problem.Invalid("memories", fmt.Sprintf("has %d memories, want 1 to %d", len(list), maxBatch))
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
			return nil, problem.Invalid(fmt.Sprintf("memories[%d].memory_id", i), "is missing")
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
			return problem.Invalid(at+".memory_id", fmt.Sprintf("has the same memory as memories[%d]", first))
		}
		places[all[i].newest.GetId()] = i
	}
	for i, f := range all {
		if err := do(r.Context(), i, f); err != nil {
			return placed(fmt.Sprintf("memories[%d]", i), fmt.Sprintf("the %d before it are done", i), err)
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

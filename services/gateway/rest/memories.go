package rest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// verbatimSession is the session of memories that are added without one.
const verbatimSession = "verbatim"

type listMemories struct {
	User   userID     `path:"user"`
	Status []string   `query:"status,explode" enum:"active,superseded,retracted,quarantined" nullable:"false" maxItems:"4" doc:"Memories of these states only. Repeat the parameter for several states. Default: all states."`
	Tier   string     `query:"tier" enum:"memory,talk,all" default:"memory" doc:"memory: what a reader would write down. talk: parts of turns that are only searchable. all: both tiers."`
	Limit  int        `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of memories."`
	Cursor cursor     `query:"cursor"`
	Filter filterText `query:"filter"`
}

type memoryPageBody struct {
	Memories []Memory `json:"memories" nullable:"false" doc:"Oldest first."`
	Next     string   `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// NewMemory is a memory in a caller's own words.
type NewMemory struct {
	Content statement  `json:"content" doc:"The text of the memory. At most 32768 bytes."`
	Role    string     `json:"role,omitempty" enum:"user,assistant" doc:"The role of the speaker. Default: user."`
	Speaker speaker    `json:"speaker,omitempty"`
	Caption caption    `json:"caption,omitempty"`
	Time    *time.Time `json:"time,omitempty" doc:"The time of the turn, between 1970-01-01 and one day from now. Days in words (tomorrow) count from its day in its offset. Default: now, in UTC."`
	TurnID  textID     `json:"turn_id,omitempty" doc:"The id of the source turn. Default: an id derived from the Idempotency-Key. A repeated turn adds nothing. At most 128 bytes."`
	NewAttributes
}

type addMemory struct {
	Keyed
	User userID `path:"user"`
	Body struct {
		NewMemory
		Kind    string `json:"kind,omitempty" enum:"fact,preference,episodic,semantic,procedural" doc:"The kind of the memory. Default: fact."`
		Session textID `json:"session_id,omitempty" doc:"The session of the memory. Default: verbatim. At most 128 bytes."`
	}
}

type updateMemory struct {
	Keyed
	OfMemory
	Body NewMemory
}

// OfMemory is the part of a request that names a memory to change.
type OfMemory struct {
	User   userID      `path:"user"`
	Memory memoryID    `path:"memory"`
	Match  matchHeader `header:"If-Match"`
}

type readMemory struct {
	User   userID     `path:"user"`
	Memory memoryID   `path:"memory"`
	IfNone etagHeader `header:"If-None-Match"`
}

type readUser struct {
	User   userID     `path:"user"`
	IfNone etagHeader `header:"If-None-Match"`
}

type userRequest struct {
	User userID `path:"user"`
}

// read is an answer that a client may have already.
type read[T any] struct {
	Status int
	ETag   string `header:"ETag" doc:"The ETag of this answer. Send it in If-None-Match, or in If-Match when you change the memory."`
	Body   T
}

// MemoryWithSources is a memory with the turns it was made from, as far as they are kept.
type MemoryWithSources struct {
	Memory
	Turns []Turn `json:"source_turns" nullable:"false" doc:"The source turns that are still stored."`
}

// History is every version connected with a memory.
type History struct {
	Versions []Memory `json:"versions" nullable:"false" doc:"Oldest first."`
}

type workingMemoryBody struct {
	Turns []Turn `json:"turns" nullable:"false" doc:"Oldest first."`
}

func (a *API) memories() {
	const all, one = "/users/{user}/memories", "/users/{user}/memories/{memory}"
	conditional := []int{http.StatusNotFound, http.StatusNotModified}
	changed := []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed}
	matched := []conditionalScope{{If: "with `If-Match`", Scope: access.Read}}
	register(a, operation{
		id: "list-memories", route: "GET " + all, tag: tagMemories, scope: access.Read, summary: "List memories",
		description: "Lists a user's memories, oldest first. Talk, the parts of turns that are only searchable, is " +
			"left out unless `tier` requests it.",
	}, a.listMemories)
	register(a, operation{
		id: "add-memory", route: "POST " + all, tag: tagMemories, scope: access.Ingest, keyed: true,
		status: http.StatusCreated, summary: "Add a memory",
		description: "Stores a memory with your text, without comparing it with stored memories. You can read it as " +
			"soon as the answer arrives.",
	}, a.addMemory)
	register(a, operation{
		id: "get-memory", route: "GET " + one, tag: tagMemories, scope: access.Read, errors: conditional,
		summary: "Get a memory", description: "Returns a memory with its source turns.",
	}, a.getMemory)
	register(a, operation{
		id: "update-memory", route: "PATCH " + one, tag: tagMemories, scope: access.Erase, when: matched, keyed: true,
		errors: changed, summary: "Update a memory",
		description: "Writes a new version of a valid memory with your text, and returns it. The new version has a new " +
			"id and supersedes the previous one. It keeps the previous attributes unless you replace them. To change the " +
			"metadata alone, send the same content with other metadata.",
	}, a.updateMemory)
	register(a, operation{
		id: "delete-memory", route: "DELETE " + one, tag: tagMemories, scope: access.Erase, when: matched,
		errors: changed, summary: "Retract a memory",
		description: "Retracts a memory. Recall no longer shows it, and its history stays. The call refuses a " +
			"superseded memory.",
	}, a.deleteMemory)
	register(a, operation{
		id: "get-memory-history", route: "GET " + one + "/history", tag: tagMemories, scope: access.Read,
		errors: conditional, summary: "Get a memory's history",
		description: "Returns all versions of a memory, oldest first.",
	}, a.getHistory)
	register(a, operation{
		id: "release-memory", route: "POST " + one + "/release", tag: tagMemories, scope: access.Erase, when: matched,
		errors: changed, summary: "Release a memory",
		description: "Ends the quarantine of a memory. Recall shows it from then on. You may repeat the call.",
	}, a.releaseMemory)
	register(a, operation{
		id: "get-working-memory", route: "GET /users/{user}/working-memory", tag: tagMemories, scope: access.Read,
		summary: "Get working memory", description: "Returns the sliding window of a user's recent salient turns.",
	}, a.getWorkingMemory)
	register(a, operation{
		id: "get-core", route: "GET /users/{user}/core", tag: tagMemories, scope: access.Read,
		errors: []int{http.StatusNotModified}, summary: "Get the core block",
		description: "Returns the core block of a user.",
	}, a.getCore)
}

func (a *API) listMemories(ctx context.Context, in *listMemories) (*answer[memoryPageBody], error) {
	which := append([]string{string(in.User), string(in.Filter), in.Tier},
		slices.Compact(slices.Sorted(slices.Values(in.Status)))...)
	all := listOf(ctx, "memories", which...)
	token, err := all.place(in.Cursor)
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(inQuery, []byte(in.Filter))
	if err != nil {
		return nil, err
	}
	size := uint32(in.Limit) //nolint:gosec // checked
	req := &mnemev1.ListMemoriesRequest{UserId: string(in.User), PageSize: size, PageToken: string(token), Filter: filter,
		Tiers: contract.TiersOf(in.Tier)}
	for _, s := range in.Status {
		req.Statuses = append(req.Statuses, mnemev1.Status(mnemev1.Status_value["STATUS_"+strings.ToUpper(s)]))
	}
	return ask(ctx, a.Services.Memories.ListMemories, req, func(res *mnemev1.ListMemoriesResponse) memoryPageBody {
		return memoryPageBody{each(res.GetMemories(), memoryOf), all.cursor([]byte(res.GetNextPageToken()))}
	})
}

// turn returns the turn that carries a memory in the caller's words.
func (a *API) turn(in NewMemory, key keyHeader, where string) (*mnemev1.Turn, error) {
	attributes, err := in.read("")
	if err != nil {
		return nil, err
	}
	out := contract.TurnToProto(memory.Turn{
		ID: string(in.TurnID), Speaker: string(in.Speaker), Role: memory.RoleUser, Text: string(in.Content),
		Caption: string(in.Caption), Time: a.timeOr(in.Time), Attributes: attributes,
	})
	if out.TurnId == "" {
		out.TurnId = deriveID(key, where, 0)
	}
	if in.Role == "assistant" {
		out.Role = mnemev1.Role_ROLE_ASSISTANT
	}
	if out.Speaker == "" {
		out.Speaker = word(out.GetRole(), "ROLE_")
	}
	return out, nil
}

// timeOr is a given time, or now.
func (a *API) timeOr(given *time.Time) time.Time {
	if given != nil {
		return *given
	}
	return a.Now().UTC()
}

func (a *API) addMemory(ctx context.Context, in *addMemory) (*answer[Memory], error) {
	session := cmp.Or(string(in.Body.Session), verbatimSession)
	turn, err := a.turn(in.Body.NewMemory, in.Key, "memory of "+session)
	if err != nil {
		return nil, err
	}
	return ask(ctx, a.Services.Memories.AddMemory, &mnemev1.AddMemoryRequest{
		UserId: string(in.User), Turn: turn, SessionId: session,
		Kind: mnemev1.Kind(mnemev1.Kind_value["KIND_"+strings.ToUpper(in.Body.Kind)]),
	}, memoryIn)
}

func (a *API) updateMemory(ctx context.Context, in *updateMemory) (*answer[Memory], error) {
	if err := a.unchanged(ctx, in.OfMemory); err != nil {
		return nil, err
	}
	turn, err := a.turn(in.Body, in.Key, "version of "+string(in.Memory))
	if err != nil {
		return nil, err
	}
	return ask(ctx, a.Services.Memories.UpdateMemory,
		&mnemev1.UpdateMemoryRequest{UserId: string(in.User), MemoryId: string(in.Memory), Turn: turn}, memoryIn)
}

func (a *API) deleteMemory(ctx context.Context, in *OfMemory) (*answer[Memory], error) {
	if err := a.unchanged(ctx, *in); err != nil {
		return nil, err
	}
	return ask(ctx, a.Services.Memories.DeleteMemory,
		&mnemev1.DeleteMemoryRequest{UserId: string(in.User), MemoryId: string(in.Memory)}, memoryIn)
}

func (a *API) releaseMemory(ctx context.Context, in *OfMemory) (*answer[Memory], error) {
	if err := a.unchanged(ctx, *in); err != nil {
		return nil, err
	}
	return ask(ctx, a.Services.Memories.ReleaseMemory,
		&mnemev1.ReleaseMemoryRequest{UserId: string(in.User), MemoryId: string(in.Memory)}, memoryIn)
}

func (a *API) getMemory(ctx context.Context, in *readMemory) (*read[MemoryWithSources], error) {
	res, err := backend.Ask(ctx, a.Services.Memories.GetMemory,
		&mnemev1.GetMemoryRequest{UserId: string(in.User), MemoryId: string(in.Memory)})
	if err != nil {
		return nil, err
	}
	return conditional(MemoryWithSources{memoryIn(res), each(res.GetSources(), turnOf)}, in.IfNone)
}

func (a *API) getHistory(ctx context.Context, in *readMemory) (*read[History], error) {
	res, err := backend.Ask(ctx, a.Services.Memories.GetMemoryHistory,
		&mnemev1.GetMemoryHistoryRequest{UserId: string(in.User), MemoryId: string(in.Memory)})
	if err != nil {
		return nil, err
	}
	return conditional(History{each(res.GetVersions(), memoryOf)}, in.IfNone)
}

func (a *API) getWorkingMemory(ctx context.Context, in *userRequest) (*answer[workingMemoryBody], error) {
	return ask(ctx, a.Services.Memories.GetWorkingMemory, &mnemev1.GetWorkingMemoryRequest{UserId: string(in.User)},
		func(res *mnemev1.GetWorkingMemoryResponse) workingMemoryBody {
			return workingMemoryBody{each(res.GetTurns(), turnOf)}
		})
}

func (a *API) getCore(ctx context.Context, in *readUser) (*read[CoreBlock], error) {
	res, err := backend.Ask(ctx, a.Services.Memories.GetCore, &mnemev1.GetCoreRequest{UserId: string(in.User)})
	if err != nil {
		return nil, err
	}
	return conditional(coreOf(res.GetCore()), in.IfNone)
}

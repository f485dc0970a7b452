package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// maxBatch is how long the operations of a batch may take.
const maxBatch = 30 * time.Second

// Verbatim stores items unchanged. items.Store implements it. Its errors are problems, which name fields of its
// arguments as the API does.
type Verbatim interface {
	// Token returns the token of a new request, for its changes.
	Token(ctx context.Context, scope memory.Scope) (redisstore.Token, error)
	// Put keeps an item.
	Put(ctx context.Context, scope memory.Scope, token redisstore.Token, p items.Put) error
	// Delete removes an item, if it is there.
	Delete(ctx context.Context, scope memory.Scope, n items.Name) error
	// Get returns an item, if it is there.
	Get(ctx context.Context, scope memory.Scope, n items.Name) (items.Item, bool, error)
	// Refresh is Get, and has the item live as long again.
	Refresh(ctx context.Context, scope memory.Scope, n items.Name) (items.Item, bool, error)
	// Search carries out searches. It reads the items once for all of them.
	Search(ctx context.Context, scope memory.Scope, searches ...items.Search) ([]items.Found, error)
	// Read returns the items that a search has found.
	Read(ctx context.Context, scope memory.Scope, f items.Found) ([]items.Item, error)
	// Namespaces returns the requested namespaces.
	Namespaces(ctx context.Context, scope memory.Scope, l items.Listing) ([]items.Namespace, error)
	// Append appends items to a session, and returns how many it has then.
	Append(ctx context.Context, scope memory.Scope, token redisstore.Token, c items.Call, items []items.Object) (int,
		error)
	// Pop takes the last item off a session, if there is one.
	Pop(ctx context.Context, scope memory.Scope, token redisstore.Token, c items.Call) (items.Object, bool, error)
	// Latest returns the last items of a session before a place, oldest first, and the place of the first item.
	Latest(ctx context.Context, scope memory.Scope, session string, limit, before int) ([]items.Object, int, error)
	// Clear removes all items of a session.
	Clear(ctx context.Context, scope memory.Scope, session string) error
}

// freeObject is any JSON object, as it comes.
type freeObject struct{ json.RawMessage }

// Schema implements huma.SchemaProvider, as do the others.
func (freeObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// isFree reports whether a schema is freeObject's schema.
func isFree(s *huma.Schema) bool { return s.AdditionalProperties == true }

type (
	label   string
	itemKey string
)

func (label) Schema(huma.Registry) *huma.Schema {
	return letters(items.MaxLabel, fmt.Sprintf("A label: 1 to %d bytes without a dot.", items.MaxLabel))
}

func (itemKey) Schema(huma.Registry) *huma.Schema {
	return letters(items.MaxKey, fmt.Sprintf("The key in the namespace: 1 to %d bytes.", items.MaxKey))
}

// letters is the schema of a text of any characters.
func letters(limit int, doc string) *huma.Schema {
	one := 1
	return &huma.Schema{Type: huma.TypeString, MinLength: &one, MaxLength: &limit, Description: doc}
}

// StoreOperation is something to do with items.
type StoreOperation struct {
	Op        string     `json:"op" enum:"put,delete,get,search,list_namespaces" doc:"put stores a value, replaces an item of the same name, and also needs the scope ingest. delete removes an item, if it exists, and also needs the scope erase. get returns an item. search returns items. list_namespaces returns the namespaces of items, in order."`
	Namespace []label    `json:"namespace,omitempty" minItems:"1" maxItems:"16" nullable:"false" doc:"Required for put, delete and get: the namespace of the item, from the outermost label to the innermost."`
	Key       itemKey    `json:"key,omitempty" doc:"Required for put, delete and get: the key in the namespace, 1 to 1024 bytes."`
	Value     freeObject `json:"value,omitempty" doc:"Required for put: any object of up to 256 KiB. get returns it unchanged, without the white space between its tokens."`
	TTL       *count     `json:"ttl_seconds,omitempty" minimum:"1" maximum:"315360000" doc:"For put: the lifetime of the item, in seconds. Default: no limit."`
	Refresh   *bool      `json:"refresh_ttl,omitempty" doc:"For get and search: restarts the lifetime of returned items that expire. It also needs the scope ingest. Default: false."`
	Prefix    []label    `json:"namespace_prefix,omitempty" maxItems:"16" nullable:"false" doc:"Required for search: the beginning of the namespaces; an empty list matches all."`
	Filter    freeObject `json:"filter,omitempty" doc:"For search: conditions on the top-level keys of a value. A condition is an equal value, or an object of $eq, $ne, $gt, $gte, $lt and $lte. Only two numbers or two strings have an order. A missing key counts as null."`
	Query     *string    `json:"query,omitempty" doc:"For search: words to find in the strings of values. The search is lexical: it stems words, ignores stop words, and compares no meanings. It leaves out items without any of the words. At most 4096 bytes."`
	Limit     *count     `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"For search: maximum number of items, 1 to 100. Default: 10. For list_namespaces: maximum number of namespaces. Default: 100."`
	Offset    *count     `json:"offset,omitempty" minimum:"0" maximum:"1000000" doc:"For search and list_namespaces: number of results to skip."`
	Starts    []label    `json:"prefix,omitempty" maxItems:"16" nullable:"false" doc:"For list_namespaces: the beginning of the namespaces; the label * matches any."`
	Ends      []label    `json:"suffix,omitempty" maxItems:"16" nullable:"false" doc:"For list_namespaces: the end of the namespaces; the label * matches any."`
	MaxDepth  *count     `json:"max_depth,omitempty" minimum:"1" maximum:"16" doc:"For list_namespaces: maximum number of labels of a returned namespace. Default: all."`
}

type storeBatch struct {
	User userID `path:"user"`
	Body struct {
		Operations []StoreOperation `json:"operations" minItems:"1" maxItems:"100" nullable:"false" doc:"The operations, in the order of their execution."`
	}
}

// StoreItem is an item.
type StoreItem struct {
	Namespace []string   `json:"namespace" nullable:"false"`
	Key       string     `json:"key"`
	Value     freeObject `json:"value" doc:"The stored value."`
	CreatedAt time.Time  `json:"created_at" doc:"Time of the first put."`
	UpdatedAt time.Time  `json:"updated_at" doc:"Time of the last put."`
	Score     *float64   `json:"score,omitempty" minimum:"0" maximum:"1" doc:"Share of the query's words in the value; absent without a query."`
}

// StoreResult is the result of an operation on items. It is empty for put, for delete, and for get of a missing
// item.
type StoreResult struct {
	Item       *StoreItem    `json:"item,omitempty" doc:"The result of get."`
	Items      *[]StoreItem  `json:"items,omitempty" nullable:"false" doc:"The results of search: the highest score first, or without a query the newest first."`
	Namespaces *[]labelsList `json:"namespaces,omitempty" nullable:"false" doc:"The results of list_namespaces."`
}

// labelsList is a namespace.
type labelsList []string

func (labelsList) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
}

type storeResultsBody struct {
	Results []StoreResult `json:"results" nullable:"false" doc:"One result for each operation, in the same order."`
}

type readSession struct {
	OfSession
	Limit  int `query:"limit" minimum:"1" maximum:"10000" default:"10000" doc:"Maximum number of items."`
	Before int `query:"before" minimum:"1" maximum:"10000" doc:"Only items before this position. Default: the last items."`
}

type sessionItemsBody struct {
	Items []freeObject `json:"items" nullable:"false" doc:"The latest items, oldest first."`
	First int          `json:"first" doc:"The position of the first returned item in the session, from 0. Pass it as before to read earlier items."`
}

type appendItems struct {
	Keyed
	OfSession
	Body struct {
		Items []freeObject `json:"items" minItems:"1" maxItems:"1000" nullable:"false" doc:"The items, in order; objects of up to 256 KiB each."`
	}
}

type appendedItemsBody struct {
	Count int `json:"count" doc:"Number of items in the session."`
}

type popItem struct {
	Keyed
	OfSession
}

type poppedItemBody struct {
	Item *freeObject `json:"item,omitempty" doc:"The removed item; absent if the session was empty."`
}

func (a *API) verbatim() {
	const items = "/users/{user}/sessions/{session}/items"
	register(a, operation{
		id: "batch-items", route: "POST /users/{user}/items/batch", tag: tagVerbatim, scope: access.Read,
		when: []conditionalScope{
			{If: "where an operation is `put` or has `refresh_ttl`", Scope: access.Ingest},
			{If: "where an operation is `delete`", Scope: access.Erase},
		},
		errors: []int{http.StatusConflict}, summary: "Put, get and search items",
		description: "Runs operations on the items of a user, in order. Items have namespaces and keys. Each operation " +
			"sees the effects of the earlier ones in the batch. Searches without a change between them see the same " +
			"state. The gateway checks all limits before it runs the first. If a later operation fails, the earlier " +
			"effects stay. A user has at most 10,000 items, and an answer at most 16 MiB. The operator may also limit " +
			"the items of a tenant. You may repeat every operation.",
	}, a.batchItems)
	register(a, operation{
		id: "list-session-items", route: "GET " + items, tag: tagVerbatim, scope: access.Read,
		summary: "List items of a session",
		description: "Lists the latest items of a session, oldest first. An answer has at most 16 MiB, so it may have " +
			"fewer items than the limit although `first` is not 0. To read the earlier items, pass `first` as `before`.",
	}, a.listSessionItems)
	register(a, operation{
		id: "append-session-items", route: "POST " + items, tag: tagVerbatim, scope: access.Ingest, keyed: true,
		status: http.StatusCreated, summary: "Append items to a session",
		description: "Appends items to a session in order, all of them or none. A session has at most 10,000 items, " +
			"and a user at most 1,000 sessions with items. Mneme makes no memories of items, only of turns.",
	}, a.appendSessionItems)
	register(a, operation{
		id: "pop-session-item", route: "POST " + items + "/pop", tag: tagVerbatim, scope: access.Read, also: access.Erase,
		keyed: true, summary: "Take the last item off a session",
		description: "Removes the last item of a session, and returns it.",
	}, a.popSessionItem)
	register(a, operation{
		id: "clear-session-items", route: "DELETE " + items, tag: tagVerbatim, scope: access.Erase,
		status: http.StatusNoContent, summary: "Remove the items of a session",
		description: "Removes all items of a session. Turns and memories stay. You may repeat the call.",
	}, a.clearSessionItems)
}

func (a *API) listSessionItems(ctx context.Context, in *readSession) (*answer[sessionItemsBody], error) {
	items, first, err := a.Verbatim.Latest(ctx, scopeOf(ctx, string(in.User)), string(in.Session), in.Limit, in.Before)
	if err != nil {
		return nil, err
	}
	return &answer[sessionItemsBody]{sessionItemsBody{each(items, objectOf), first}}, nil
}

// callOf names a request on a session by its Idempotency-Key and the API key that it came with.
func callOf(ctx context.Context, key keyHeader, session textID) items.Call {
	p, _ := access.FromContext(ctx) // admit has checked
	return items.Call{Session: string(session), Once: deriveID(key, "items for "+p.KeyID, 0)}
}

func (a *API) appendSessionItems(ctx context.Context, in *appendItems) (*answer[appendedItemsBody], error) {
	appended := make([]items.Object, len(in.Body.Items))
	for i, item := range in.Body.Items {
		var err error
		if appended[i], err = items.NewObject(item.RawMessage); err != nil {
			return nil, inEntry("items", i, err)
		}
	}
	if err := memory.ValidNewUser(string(in.User)); err != nil {
		return nil, err
	}
	if err := memory.ValidNewID("session_id", string(in.Session), memory.MaxIDBytes); err != nil {
		return nil, err
	}
	scope := scopeOf(ctx, string(in.User))
	token, err := a.Verbatim.Token(ctx, scope)
	if err != nil {
		return nil, err
	}
	n, err := a.Verbatim.Append(ctx, scope, token, callOf(ctx, in.Key, in.Session), appended)
	return respond(n, a.overQuota(ctx, err), func(n int) appendedItemsBody { return appendedItemsBody{n} })
}

func (a *API) popSessionItem(ctx context.Context, in *popItem) (*answer[poppedItemBody], error) {
	scope := scopeOf(ctx, string(in.User))
	token, err := a.Verbatim.Token(ctx, scope)
	if err != nil {
		return nil, err
	}
	item, ok, err := a.Verbatim.Pop(ctx, scope, token, callOf(ctx, in.Key, in.Session))
	if err != nil || !ok {
		return &answer[poppedItemBody]{}, err
	}
	return &answer[poppedItemBody]{poppedItemBody{new(objectOf(item))}}, nil
}

func (a *API) clearSessionItems(ctx context.Context, in *OfSession) (*nothing, error) {
	return nil, a.Verbatim.Clear(ctx, scopeOf(ctx, string(in.User)), string(in.Session))
}

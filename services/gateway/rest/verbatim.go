package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
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

// storeFields are the fields of operations on items, those that are needed first.
var storeFields = map[string]struct{ needed, possible []string }{
	"put":             {[]string{"namespace", "key", "value"}, []string{"ttl_seconds"}},
	"delete":          {[]string{"namespace", "key"}, nil},
	"get":             {[]string{"namespace", "key"}, []string{"refresh_ttl"}},
	"search":          {[]string{"namespace_prefix"}, []string{"filter", "query", "limit", "offset", "refresh_ttl"}},
	"list_namespaces": {nil, []string{"prefix", "suffix", "max_depth", "limit", "offset"}},
}

// setFields returns the fields of an operation, except its name.
func (o StoreOperation) setFields() []string {
	var out []string
	for name, there := range map[string]bool{
		"namespace": o.Namespace != nil, "key": o.Key != "", "value": o.Value.RawMessage != nil,
		"ttl_seconds": o.TTL != nil, "refresh_ttl": o.Refresh != nil, "namespace_prefix": o.Prefix != nil,
		"filter": o.Filter.RawMessage != nil, "query": o.Query != nil, "limit": o.Limit != nil,
		"offset": o.Offset != nil, "prefix": o.Starts != nil, "suffix": o.Ends != nil, "max_depth": o.MaxDepth != nil,
	} {
		if there {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// changes reports whether an operation changes items.
func (o StoreOperation) changes() bool { return o.Op == "put" || o.Op == "delete" }

// check holds the fields of an operation against its name.
func (o StoreOperation) check() error {
	of, given := storeFields[o.Op], o.setFields()
	for _, name := range of.needed {
		if !slices.Contains(given, name) {
			return problem.Invalid(name, "is missing, which "+o.Op+" needs")
		}
	}
	for _, name := range given {
		if !slices.Contains(of.needed, name) && !slices.Contains(of.possible, name) {
			return problem.Invalid(name, "has no meaning for "+o.Op)
		}
	}
	return nil
}

// step is an operation that was found to be within limits.
type step func(context.Context, memory.Scope, redisstore.Token) (StoreResult, error)

// searches are the searches of a batch without a change in between. The first search carries out all of them.
type searches struct {
	wanted []items.Search
	found  []items.Found
}

func (a *API) batchItems(ctx context.Context, in *storeBatch) (*answer[storeResultsBody], error) {
	user, operations := string(in.User), in.Body.Operations
	if err := checkBatch(ctx, user, operations); err != nil {
		return nil, err
	}
	scope, token := scopeOf(ctx, user), redisstore.Token("")
	if slices.ContainsFunc(operations, StoreOperation.changes) {
		var err error
		if token, err = a.Verbatim.Token(ctx, scope); err != nil {
			return nil, err
		}
	}
	steps, together := make([]step, len(operations)), &searches{}
	for i, o := range operations {
		if o.changes() {
			together = &searches{}
		}
		err := o.check()
		if err == nil {
			steps[i], err = a.stepOf(o, together)
		}
		if err != nil {
			return nil, inEntry("operations", i, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxBatch)
	defer cancel()
	out, room := &answer[storeResultsBody]{}, items.MaxAnswer
	for i, do := range steps {
		result, err := do(ctx, scope, token)
		if err != nil {
			return nil, inEntry("operations", i, a.overQuota(ctx, err))
		}
		if room -= result.size(); room < 0 {
			return nil, inEntry("operations", i, problem.Problem{
				Status: http.StatusRequestEntityTooLarge, Code: problem.CodeTooLarge,
				Detail: fmt.Sprintf("the answer would exceed %d MiB: request less at once", items.MaxAnswer>>20),
			})
		}
		out.Body.Results = append(out.Body.Results, result)
	}
	return out, nil
}

// checkBatch checks operations against the caller's scopes. It checks the user of a put against the rules for a new
// id.
func checkBatch(ctx context.Context, user string, operations []StoreOperation) error {
	for _, o := range operations {
		var err error
		switch {
		case o.Op == "delete":
			err = backend.Check(ctx, access.Erase, user)
		case o.Op == "put" || o.Refresh != nil && *o.Refresh:
			err = backend.Check(ctx, access.Ingest, user)
		}
		if err == nil && o.Op == "put" {
			err = memory.ValidNewUser(user)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overQuota turns a store error into the caller's error. For an exceeded limit, the quota names the limit.
func (a *API) overQuota(ctx context.Context, err error) error {
	if errors.Is(err, items.ErrQuota) {
		return a.Usage.OverItems(ctx)
	}
	return err
}

// size is about how large a result is, in bytes.
func (r StoreResult) size() int {
	n := 0
	if r.Item != nil {
		n += r.Item.size()
	}
	if r.Items != nil {
		for _, item := range *r.Items {
			n += item.size()
		}
	}
	if r.Namespaces != nil {
		for _, namespace := range *r.Namespaces {
			n += sizeOf(namespace)
		}
	}
	return n
}

func (i StoreItem) size() int { return len(i.Value.RawMessage) + len(i.Key) + sizeOf(i.Namespace) }

func sizeOf(labels []string) int {
	n := 0
	for _, l := range labels {
		n += len(l)
	}
	return n
}

// inEntry returns an error of an entry of a list in the body. An error that is not the caller's fault has no field.
func inEntry(list string, i int, err error) error {
	p := problem.From(err)
	if p.Status >= http.StatusInternalServerError {
		return err
	}
	at := list + "[" + strconv.Itoa(i) + "]"
	p.Field = strings.TrimSuffix(at+"."+p.Field, ".")
	return located{p, inBody}
}

// inField is an error of a field, where it names none.
func inField(field string, err error) error {
	p := problem.From(err)
	if p.Status >= http.StatusInternalServerError || p.Field != "" {
		return err
	}
	p.Field = field
	return p
}

// stepOf returns an operation. Its fields must fit its name. Its errors are problems.
func (a *API) stepOf(o StoreOperation, together *searches) (step, error) {
	name := items.Name{Namespace: texts(o.Namespace), Key: string(o.Key)}
	switch o.Op {
	case "put":
		return a.stepOfPut(o, name)
	case "delete":
		return func(ctx context.Context, scope memory.Scope, _ redisstore.Token) (StoreResult, error) {
			return StoreResult{}, a.Verbatim.Delete(ctx, scope, name)
		}, name.Check()
	case "get":
		get := a.Verbatim.Get
		if o.Refresh != nil && *o.Refresh {
			get = a.Verbatim.Refresh
		}
		return stepOfGet(get, name), name.Check()
	case "search":
		return a.stepOfSearch(o, together)
	}
	return a.stepOfListing(o)
}

func (a *API) stepOfPut(o StoreOperation, name items.Name) (step, error) {
	value, err := items.NewObject(o.Value.RawMessage)
	if err != nil {
		return nil, inField("value", err)
	}
	put := items.Put{Name: name, Value: value, TTL: time.Duration(number(o.TTL, 0)) * time.Second}
	return func(ctx context.Context, scope memory.Scope, token redisstore.Token) (StoreResult, error) {
		return StoreResult{}, a.Verbatim.Put(ctx, scope, token, put)
	}, put.Check()
}

func stepOfGet(
	get func(context.Context, memory.Scope, items.Name) (items.Item, bool, error), name items.Name,
) step {
	return func(ctx context.Context, scope memory.Scope, _ redisstore.Token) (StoreResult, error) {
		item, ok, err := get(ctx, scope, name)
		if err != nil || !ok {
			return StoreResult{}, err
		}
		return StoreResult{Item: new(storeItemOf(item))}, nil
	}
}

func (a *API) stepOfSearch(o StoreOperation, together *searches) (step, error) {
	q := items.Search{Prefix: texts(o.Prefix), Limit: number(o.Limit, 10), Offset: number(o.Offset, 0)}
	if o.Query != nil {
		q.Query = *o.Query
	}
	if o.Filter.RawMessage != nil {
		var err error
		if q.Filter, err = items.ParseFilter(o.Filter.RawMessage); err != nil {
			return nil, err
		}
	}
	at := len(together.wanted)
	together.wanted = append(together.wanted, q)
	return func(ctx context.Context, scope memory.Scope, _ redisstore.Token) (StoreResult, error) {
		if together.found == nil {
			var err error
			if together.found, err = a.Verbatim.Search(ctx, scope, together.wanted...); err != nil {
				return StoreResult{}, err
			}
		}
		found, err := a.Verbatim.Read(ctx, scope, together.found[at])
		if o.Refresh != nil && *o.Refresh {
			for _, item := range found {
				_, _, refreshed := a.Verbatim.Refresh(ctx, scope, item.Name)
				err = errors.Join(err, refreshed)
			}
		}
		items := each(found, storeItemOf)
		if q.Query != "" {
			for i := range items {
				items[i].Score = &found[i].Score
			}
		}
		return StoreResult{Items: &items}, err
	}, q.Check()
}

func (a *API) stepOfListing(o StoreOperation) (step, error) {
	l := items.Listing{
		Prefix: texts(o.Starts), Suffix: texts(o.Ends), MaxDepth: number(o.MaxDepth, 0), Limit: number(o.Limit, 100),
		Offset: number(o.Offset, 0),
	}
	return func(ctx context.Context, scope memory.Scope, _ redisstore.Token) (StoreResult, error) {
		found, err := a.Verbatim.Namespaces(ctx, scope, l)
		namespaces := each(found, func(n items.Namespace) labelsList { return labelsList(n) })
		return StoreResult{Namespaces: &namespaces}, err
	}, l.Check()
}

// number is a number that may be left out.
func number(n *count, without int) int {
	if n == nil {
		return without
	}
	return int(*n)
}

func storeItemOf(i items.Item) StoreItem {
	return StoreItem{
		Namespace: i.Namespace, Key: i.Key, Value: objectOf(i.Value), CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
	}
}

func objectOf(o items.Object) freeObject { return freeObject{json.RawMessage(o)} }

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

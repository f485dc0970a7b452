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

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/items"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

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

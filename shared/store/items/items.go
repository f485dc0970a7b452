package items

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/redisstore"
)

// Put stores an item. It replaces an item with the same name and keeps its creation time. token is the token of the
// request.
func (s *Store) Put(ctx context.Context, scope memory.Scope, token redisstore.Token, p Put) error {
	if err := p.Check(); err != nil {
		return err
	}
	if p.TTL > 0 { // before there is an item to sweep
		err := s.Do(ctx, "note a tenant", func(ctx context.Context) error {
			return s.Redis.SAdd(ctx, s.tenantsKey(), scope.Tenant).Err()
		})
		if err != nil {
			return err
		}
	}
	user := redisstore.Hash(scope.User)
	ttl := strconv.FormatInt(p.TTL.Microseconds(), 10)
	kept, err := s.Eval(ctx, "put", s.scripts.put, append(s.itemKeys(scope.Tenant, user), s.FenceKey(scope)),
		p.member(), []byte(p.Value), ttl, MaxItems, user, s.o.Items, string(token))
	if err != nil {
		return err
	}
	switch n, _ := kept.Int(); n {
	case 0:
		return fmt.Errorf("%w: the user has %d items, which is the maximum: delete some", ErrManyItems, MaxItems)
	case -1:
		return ErrQuota
	case -2:
		return redisstore.ErrErased
	}
	return nil
}

// Delete removes an item if it exists.
func (s *Store) Delete(ctx context.Context, scope memory.Scope, n Name) error {
	if err := n.Check(); err != nil {
		return err
	}
	user := redisstore.Hash(scope.User)
	_, err := s.Eval(ctx, "delete", s.scripts.remove, s.itemKeys(scope.Tenant, user), n.member(), user)
	return err
}

// Get returns an item if it exists.
func (s *Store) Get(ctx context.Context, scope memory.Scope, n Name) (Item, bool, error) {
	return s.get(ctx, scope, n, "0")
}

// Refresh returns an item if it exists. The lifetime of an item that expires starts again.
func (s *Store) Refresh(ctx context.Context, scope memory.Scope, n Name) (Item, bool, error) {
	return s.get(ctx, scope, n, "1")
}

func (s *Store) get(ctx context.Context, scope memory.Scope, n Name, refresh string) (Item, bool, error) {
	if err := n.Check(); err != nil {
		return Item{}, false, err
	}
	user := redisstore.Hash(scope.User)
	kept, err := s.Eval(ctx, "get", s.scripts.get, s.itemKeys(scope.Tenant, user), n.member(), refresh, user)
	if err != nil {
		return Item{}, false, err
	}
	fields, err := kept.StringSlice()
	if err == nil && len(fields) == 0 {
		return Item{}, false, nil
	}
	if err == nil && len(fields) == 2 {
		var item Item
		if item, err = itemOf(n, fields[0], fields[1]); err == nil {
			return item, true, nil
		}
	}
	return Item{}, false, unreadable("get", err)
}

// Namespaces returns the requested namespaces of items, in order.
func (s *Store) Namespaces(ctx context.Context, scope memory.Scope, l Listing) ([]Namespace, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	members, err := s.names(ctx, scope)
	if err != nil {
		return nil, err
	}
	names := make([]Name, len(members))
	for i, member := range members {
		names[i] = nameOf(member)
	}
	return l.list(names), nil
}

// names returns the members of a user's items, last updated first.
func (s *Store) names(ctx context.Context, scope memory.Scope) ([]string, error) {
	keys := s.itemKeys(scope.Tenant, redisstore.Hash(scope.User))
	out, err := s.Eval(ctx, "read names", s.scripts.names, keys[:2])
	if err != nil {
		return nil, err
	}
	lists, err := out.Slice()
	if err != nil || len(lists) != 2 {
		return nil, unreadable("read names", err)
	}
	expired := map[string]bool{}
	for _, member := range texts(lists[1]) {
		expired[member] = true
	}
	return slices.DeleteFunc(texts(lists[0]), func(member string) bool { return expired[member] }), nil
}

// texts converts a list of Redis to texts.
func texts(list any) []string {
	entries, _ := list.([]any)
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		if text, ok := e.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// Limits of one sweep: users of a tenant, and items of a user.
const (
	sweptUsers = 100
	sweptItems = 200
)

// Run removes expired items until ctx ends. Any number of replicas may run it. Reads never return an expired item,
// even before its removal.
func (s *Store) Run(ctx context.Context) error {
	tick := time.NewTicker(s.o.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.sweep(ctx); err != nil && ctx.Err() == nil { // the next round tries again
				s.o.Log.ErrorContext(ctx, "cannot remove expired verbatim items", "error", err)
			}
		}
	}
}

// sweep removes the expired items.
func (s *Store) sweep(ctx context.Context) error {
	tenants, err := s.Members(ctx, "read tenants", s.tenantsKey())
	for _, tenant := range tenants {
		for err == nil {
			var more bool
			if more, err = s.sweepTenant(ctx, tenant); !more {
				break
			}
		}
	}
	return err
}

// sweepTenant removes some expired items of a tenant. There may be more.
func (s *Store) sweepTenant(ctx context.Context, tenant string) (more bool, err error) {
	due, err := s.Eval(ctx, "find expired items", s.scripts.due, []string{s.Key(tenant, "due")}, sweptUsers)
	if err != nil {
		return false, err
	}
	users, err := due.StringSlice()
	if err != nil {
		return false, unreadable("find expired items", err)
	}
	for _, user := range users {
		if _, err := s.Eval(ctx, "sweep", s.scripts.sweep, s.itemKeys(tenant, user), user, sweptItems); err != nil {
			return false, err
		}
	}
	return len(users) > 0, nil
}

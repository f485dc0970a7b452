package weaviate

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/filters"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// native is the part of a filter that the index can evaluate: no entry matches, or at most the entries of where. A
// nil where means that every entry may match.
type native struct {
	none  bool
	where *pb.Filters
}

var (
	any0  = native{}
	none0 = native{none: true}
)

// narrowed returns the index filter that finds all matching entries, and perhaps others. ok is false if no entry can
// match. Entries written before tokens existed have no attributes, and the index has none of their other fields.
func narrowed(userID string, f memory.Filter) (where []*pb.Filters, ok bool) {
	if f.IsZero() {
		return nil, true
	}
	user := token(userID)
	listed := narrow(f, false, user.test)
	older := narrow(f, false, olderTest)
	if older.where == nil && !older.none {
		older.where = unequal(user.encode(tokenListed))
	}
	n := either(listed, native{where: equal(propTokens, user.encode(tokenUnlisted))}, older)
	switch {
	case n.none:
		return nil, false
	case n.where == nil:
		return nil, true
	}
	return []*pb.Filters{n.where}, true
}

// narrow pushes a negation down to the conditions.
func narrow(f memory.Filter, negated bool, test func(c memory.Condition, negated bool) native) native {
	switch {
	case f.Condition != nil:
		return test(*f.Condition, negated)
	case f.Not != nil:
		return narrow(*f.Not, !negated, test)
	}
	parts, combine := f.And, both
	if len(f.Or) > 0 {
		parts = f.Or
	}
	if (len(f.Or) > 0) != negated {
		combine = either
	}
	out := make([]native, len(parts))
	for i, part := range parts {
		out[i] = narrow(part, negated, test)
	}
	return combine(out...)
}

// both is the intersection of all parts.
func both(parts ...native) native {
	var where []*pb.Filters
	for _, n := range parts {
		if n.none {
			return none0
		}
		if n.where != nil {
			where = append(where, n.where)
		}
	}
	return native{where: joined(pb.Filters_OPERATOR_AND, where)}
}

// either is the union of the parts.
func either(parts ...native) native {
	var where []*pb.Filters
	for _, n := range parts {
		if !n.none && n.where == nil {
			return any0
		}
		if n.where != nil {
			where = append(where, n.where)
		}
	}
	return native{none: len(where) == 0, where: joined(pb.Filters_OPERATOR_OR, where)}
}

func joined(operator pb.Filters_Operator, where []*pb.Filters) *pb.Filters {
	if len(where) < 2 {
		return append(where, nil)[0]
	}
	return &pb.Filters{Operator: operator, Filters: where}
}

// has allows entries with one of the tokens.
func has(tokens ...string) native {
	if len(tokens) == 0 {
		return none0
	}
	return native{where: anyOf(propTokens, tokens)}
}

// lacks allows entries without any of the tokens.
func lacks(tokens ...string) native {
	parts := make([]native, len(tokens))
	for i, t := range tokens {
		parts[i].where = unequal(t)
	}
	return both(parts...)
}

func unequal(t string) *pb.Filters { return compare(propTokens, pb.Filters_OPERATOR_NOT_EQUAL, t) }

// test converts a condition to tokens.
func (user token) test(c memory.Condition, negated bool) native {
	there := user.encode(tokenThere, c.Field)
	switch {
	case c.Exists != nil && *c.Exists != negated:
		return has(there)
	case c.Exists != nil:
		return lacks(there)
	case c.Range != nil:
		return user.inRange(c.Field, *c.Range, negated)
	case c.Contains != nil && negated:
		return any0
	case c.Contains != nil:
		tokens := []string{user.equal(c.Field, c.Contains)}
		if _, isText := c.Contains.(string); isText {
			tokens = append(tokens, user.encode(tokenWhole, c.Field))
		}
		return has(tokens...)
	}
	values := c.In
	if c.Equals != nil {
		values = []any{c.Equals}
	}
	tokens := make([]string, len(values))
	for i, value := range values {
		if !memory.IsDateField(c.Field) {
			tokens[i] = user.equal(c.Field, value)
			continue
		}
		if negated {
			return any0 // other dates share a date's token
		}
		at, _ := memory.DateOf(value)
		tokens[i] = user.prefix(tokenDate, c.Field, levels, encodeNumber(seconds(at)))
	}
	if negated {
		return lacks(tokens...)
	}
	return has(tokens...)
}

// inRange allows entries with a value whose token is in the range. Negated, it allows entries with a value that is or
// may be outside, or without a value.
func (user token) inRange(field string, r memory.Range, negated bool) native {
	sort, low, high := tokenOrder, uint64(0), uint64(math.MaxUint32)
	bound := func(value any) uint64 {
		if number, ok := value.(float64); ok {
			return encodeNumber(number)
		}
		sort = tokenDate
		at, _ := memory.DateOf(value)
		return encodeNumber(seconds(at))
	}
	for _, value := range []any{r.GT, r.GTE} {
		if value != nil {
			low = max(low, bound(value))
		}
	}
	for _, value := range []any{r.LT, r.LTE} {
		if value != nil {
			high = min(high, bound(value))
		}
	}
	if !negated {
		return has(user.rangeTokens(sort, field, low, high)...)
	}
	outside := []native{lacks(user.prefix(sort, field, 0, 0))}
	if r.GT != nil || r.GTE != nil {
		outside = append(outside, has(user.rangeTokens(sort, field, 0, low)...))
	}
	if r.LT != nil || r.LTE != nil {
		outside = append(outside, has(user.rangeTokens(sort, field, high, math.MaxUint32)...))
	}
	return either(outside...)
}

// olderTest converts a condition for entries without tokens: they have no attributes, and the index has none of their
// other fields.
func olderTest(c memory.Condition, negated bool) native {
	attribute := strings.HasPrefix(c.Field, memory.MetadataPrefix) || c.Field == "agent_id" || c.Field == "app_id" ||
		c.Field == "run_id"
	if absent := c.Exists != nil && !*c.Exists; !attribute || absent != negated {
		return any0
	}
	return none0
}

// CountListed implements bank.Bank. The index counts the filters that it matches exactly. For other filters, the
// entries from the index are read.
func (b *Bank) CountListed(ctx context.Context, scope memory.Scope, o bank.ListOptions) (int, error) {
	o.Token = ""
	o, _, err := o.Checked()
	if err != nil {
		return 0, err
	}
	where := slices.Concat(inStatus(o.Statuses), inTier(o.Tiers), madeOf(o.Sources))
	if o.Filter.IsZero() {
		return b.count(ctx, scope, b.collections.memory(), where...)
	}
	if !countable(o.Filter) {
		return bank.CountEach(ctx, b, scope, o)
	}
	user := token(scope.User)
	listed, unlisted := user.encode(tokenListed), user.encode(tokenUnlisted)
	n, err := b.count(ctx, scope, b.collections.memory(), append(where, either(has(unlisted), lacks(listed)).where)...)
	if err != nil {
		return 0, err
	}
	if n > 0 { // the index has no information on these
		return bank.CountEach(ctx, b, scope, o)
	}
	narrowed := narrow(o.Filter, false, user.test)
	switch {
	case narrowed.none:
		return 0, nil
	case narrowed.where != nil:
		where = append(where, narrowed.where)
	}
	return b.count(ctx, scope, b.collections.memory(), where...)
}

// countable reports whether the entries' tokens determine the matches. They do not for parts of a text, and for
// ranges of numbers and dates.
func countable(f memory.Filter) bool {
	switch {
	case f.Condition != nil:
		c := f.Condition
		return c.Exists != nil || (c.Equals != nil || c.In != nil) && !memory.IsDateField(c.Field)
	case f.Not != nil:
		return countable(*f.Not)
	}
	return !slices.ContainsFunc(slices.Concat(f.And, f.Or), func(part memory.Filter) bool { return !countable(part) })
}

// inGraphQL converts a filter to the GraphQL protocol, because only GraphQL can count.
func inGraphQL(f *pb.Filters) *filters.WhereBuilder {
	where := filters.Where()
	if len(f.GetFilters()) > 0 {
		operands := make([]*filters.WhereBuilder, len(f.GetFilters()))
		for i, part := range f.GetFilters() {
			operands[i] = inGraphQL(part)
		}
		operator := filters.And
		if f.GetOperator() == pb.Filters_OPERATOR_OR {
			operator = filters.Or
		}
		return where.WithOperator(operator).WithOperands(operands)
	}
	where.WithPath([]string{f.GetTarget().GetProperty()})
	switch f.GetOperator() {
	case pb.Filters_OPERATOR_CONTAINS_ANY:
		return where.WithOperator(filters.ContainsAny).WithValueText(f.GetValueTextArray().GetValues()...)
	case pb.Filters_OPERATOR_NOT_EQUAL:
		return where.WithOperator(filters.NotEqual).WithValueText(f.GetValueText())
	}
	return where.WithOperator(filters.Equal).WithValueText(f.GetValueText())
}

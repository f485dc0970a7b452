package weaviate

import (
	"context"
	"slices"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/filters"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

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

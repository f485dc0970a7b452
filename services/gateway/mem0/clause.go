package mem0

import (
	"google.golang.org/protobuf/types/known/structpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// clause is a condition on the memories of one user. It is a filter that the bank evaluates, or a constant result
// for all memories.
type clause struct {
	// filter is nil where holds is the answer for every memory of the user.
	filter *mnemev1.Filter
	holds  bool
}

// decided is a clause with the same answer for every memory of the user.
func decided(holds bool) clause { return clause{holds: holds} }

// every is a clause that holds where all of its parts hold.
func every(parts ...clause) clause {
	var filters []*mnemev1.Filter
	for _, c := range parts {
		switch {
		case c.filter.GetAnd() != nil: // as flat as can be: the depth of filters is bounded
			filters = append(filters, c.filter.GetAnd().GetFilters()...)
		case c.filter != nil:
			filters = append(filters, c.filter)
		case !c.holds:
			return c
		}
	}
	switch len(filters) {
	case 0:
		return decided(true)
	case 1:
		return clause{filter: filters[0]}
	}
	return clause{filter: &mnemev1.Filter{Filter: &mnemev1.Filter_And{And: &mnemev1.Filters{Filters: filters}}}}
}

// either is a clause that holds where one of its parts holds.
func either(parts ...clause) clause {
	var filters []*mnemev1.Filter
	for _, c := range parts {
		switch {
		case c.filter.GetOr() != nil:
			filters = append(filters, c.filter.GetOr().GetFilters()...)
		case c.filter != nil:
			filters = append(filters, c.filter)
		case c.holds:
			return c
		}
	}
	switch len(filters) {
	case 0:
		return decided(false)
	case 1:
		return clause{filter: filters[0]}
	}
	return clause{filter: &mnemev1.Filter{Filter: &mnemev1.Filter_Or{Or: &mnemev1.Filters{Filters: filters}}}}
}

// not is a clause that holds where c does not.
func (c clause) not() clause {
	if c.filter == nil {
		return decided(!c.holds)
	}
	if inner := c.filter.GetNot(); inner != nil {
		return clause{filter: inner}
	}
	return clause{filter: &mnemev1.Filter{Filter: &mnemev1.Filter_Not{Not: c.filter}}}
}

func leaf(c *mnemev1.Condition) clause {
	return clause{filter: &mnemev1.Filter{Filter: &mnemev1.Filter_Condition{Condition: c}}}
}

func equals(field string, value *structpb.Value) clause {
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_Equals{Equals: value}})
}

// among is a clause that holds where the field equals one of the values.
func among(field string, values []*structpb.Value) clause {
	if len(values) == 0 {
		return decided(false)
	}
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_In{In: &structpb.ListValue{Values: values}}})
}

func exists(field string) clause {
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_Exists{Exists: true}})
}

func contains(field string, value *structpb.Value) clause {
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_Contains{Contains: value}})
}

// bounded is a clause that compares the field with a bound by the operator gt, gte, lt or lte.
func bounded(field, operator string, bound *structpb.Value) clause {
	r := &mnemev1.Range{}
	switch operator {
	case "gt":
		r.Gt = bound
	case "gte":
		r.Gte = bound
	case "lt":
		r.Lt = bound
	case "lte":
		r.Lte = bound
	}
	return leaf(&mnemev1.Condition{Field: field, Test: &mnemev1.Condition_Range{Range: r}})
}

// firstPresent applies a test to the first of two fields that a memory has.
func firstPresent(field, second string, test func(field string) clause) clause {
	return either(test(field), every(exists(field).not(), test(second)))
}

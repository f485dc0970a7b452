package contract

import (
	"google.golang.org/protobuf/types/known/structpb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func attributesFrom(p *mnemev1.Turn) memory.Attributes {
	a := memory.Attributes{
		AgentID: p.GetAgentId(), AppID: p.GetAppId(), RunID: p.GetRunId(), AliasOf: memory.CanonicalID(p.GetAliasOf()),
	}
	if len(p.GetMetadata().GetFields()) > 0 {
		a.Metadata = p.GetMetadata().AsMap()
	}
	return a
}

// structOf converts metadata, which memory.CheckMetadata has accepted.
func structOf(metadata map[string]any) *structpb.Struct {
	if len(metadata) == 0 {
		return nil
	}
	s, err := structpb.NewStruct(metadata)
	if err != nil {
		return nil
	}
	return s
}

// FilterFrom converts and checks a filter; nil is the zero filter. Errors are terminal and name the part, beginning
// with `filter`.
func FilterFrom(p *mnemev1.Filter) (memory.Filter, error) {
	if p == nil {
		return memory.Filter{}, nil
	}
	f, err := filterFrom(p, 1)
	if err != nil {
		return memory.Filter{}, err
	}
	if f.IsZero() {
		return f, fault.Terminal("filter", "is empty, want one of and, or, not and a condition")
	}
	return f, f.Validate()
}

func filterFrom(p *mnemev1.Filter, depth int) (f memory.Filter, err error) {
	if depth > memory.MaxFilterDepth {
		return f, fault.Terminal("filter", "has more than %d levels", memory.MaxFilterDepth)
	}
	switch part := p.GetFilter().(type) {
	case *mnemev1.Filter_And:
		f.And, err = filtersFrom(part.And, depth)
	case *mnemev1.Filter_Or:
		f.Or, err = filtersFrom(part.Or, depth)
	case *mnemev1.Filter_Not:
		f.Not = new(memory.Filter)
		*f.Not, err = filterFrom(part.Not, depth+1)
	case *mnemev1.Filter_Condition:
		f.Condition = conditionFrom(part.Condition)
	}
	return f, err
}

func filtersFrom(p *mnemev1.Filters, depth int) ([]memory.Filter, error) {
	out := make([]memory.Filter, len(p.GetFilters()))
	for i, part := range p.GetFilters() {
		var err error
		if out[i], err = filterFrom(part, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// conditionFrom converts a condition; UUIDs in upper case become lower case. Validate refuses a null value as a missing
// test.
func conditionFrom(p *mnemev1.Condition) *memory.Condition {
	c := &memory.Condition{Field: p.GetField()}
	switch test := p.GetTest().(type) {
	case *mnemev1.Condition_Equals:
		c.Equals = test.Equals.AsInterface()
	case *mnemev1.Condition_In:
		c.In = test.In.AsSlice()
	case *mnemev1.Condition_Exists:
		c.Exists = &test.Exists
	case *mnemev1.Condition_Range:
		r := test.Range
		c.Range = &memory.Range{
			GT: r.GetGt().AsInterface(), GTE: r.GetGte().AsInterface(), LT: r.GetLt().AsInterface(),
			LTE: r.GetLte().AsInterface(),
		}
	case *mnemev1.Condition_Contains:
		c.Contains = test.Contains.AsInterface()
	}
	if c.Field == "id" {
		c.Equals = canonicalID(c.Equals)
		for i, value := range c.In {
			c.In[i] = canonicalID(value)
		}
	}
	return c
}

func canonicalID(value any) any {
	if id, ok := value.(string); ok {
		return memory.CanonicalID(id)
	}
	return value
}

// FilterToProto converts a valid filter; the zero filter gives nil.
func FilterToProto(f memory.Filter) *mnemev1.Filter {
	switch {
	case f.IsZero():
		return nil
	case f.Condition != nil:
		return &mnemev1.Filter{Filter: &mnemev1.Filter_Condition{Condition: conditionTo(*f.Condition)}}
	case f.Not != nil:
		return &mnemev1.Filter{Filter: &mnemev1.Filter_Not{Not: FilterToProto(*f.Not)}}
	case len(f.Or) > 0:
		return &mnemev1.Filter{Filter: &mnemev1.Filter_Or{Or: filtersTo(f.Or)}}
	}
	return &mnemev1.Filter{Filter: &mnemev1.Filter_And{And: filtersTo(f.And)}}
}

func filtersTo(parts []memory.Filter) *mnemev1.Filters {
	out := &mnemev1.Filters{}
	for _, part := range parts {
		out.Filters = append(out.Filters, FilterToProto(part))
	}
	return out
}

func conditionTo(c memory.Condition) *mnemev1.Condition {
	p := &mnemev1.Condition{Field: c.Field}
	switch {
	case c.Equals != nil:
		p.Test = &mnemev1.Condition_Equals{Equals: valueOf(c.Equals)}
	case c.In != nil:
		list := &structpb.ListValue{}
		for _, value := range c.In {
			list.Values = append(list.Values, valueOf(value))
		}
		p.Test = &mnemev1.Condition_In{In: list}
	case c.Exists != nil:
		p.Test = &mnemev1.Condition_Exists{Exists: *c.Exists}
	case c.Range != nil:
		p.Test = &mnemev1.Condition_Range{Range: &mnemev1.Range{
			Gt: valueOf(c.Range.GT), Gte: valueOf(c.Range.GTE), Lt: valueOf(c.Range.LT), Lte: valueOf(c.Range.LTE),
		}}
	case c.Contains != nil:
		p.Test = &mnemev1.Condition_Contains{Contains: valueOf(c.Contains)}
	}
	return p
}

// valueOf converts a text, number or truth value; nil gives nil.
func valueOf(value any) *structpb.Value {
	if value == nil {
		return nil
	}
	v, err := structpb.NewValue(value)
	if err != nil {
		return nil
	}
	return v
}

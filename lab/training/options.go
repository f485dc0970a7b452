package training

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/shared/fault"
)

// The options of a training are a struct. The tags of a field describe an option:
//
//	json   the name in the record of the training; the name of the flag has hyphens
//	flag   the name of the flag of an option that the record does not have
//	range  the interval of valid values, in the notation of mathematics: [0,1) has 0 and not 1
//	use    the description of the flag; an option without one has no flag
type option struct {
	name  string
	tag   reflect.StructTag
	value reflect.Value
}

// optionsOf lists the options of a struct, with the options of embedded structs in their places.
func optionsOf(options any) (out []option) {
	s := reflect.ValueOf(options).Elem()
	for _, f := range reflect.VisibleFields(s.Type()) {
		if !f.Anonymous {
			name := strings.ReplaceAll(cmp.Or(f.Tag.Get("flag"), f.Tag.Get("json")), "_", "-")
			out = append(out, option{name, f.Tag, s.FieldByIndex(f.Index)})
		}
	}
	return out
}

// Flags defines a flag for each option, with the present value as the default.
func Flags(f *pflag.FlagSet, options any) {
	for _, o := range optionsOf(options) {
		use := o.tag.Get("use")
		if use == "" {
			continue
		}
		switch p := o.value.Addr().Interface().(type) {
		case *int:
			f.IntVar(p, o.name, *p, use)
		case *uint64:
			f.Uint64Var(p, o.name, *p, use)
		case *float64:
			f.Float64Var(p, o.name, *p, use)
		case *bool:
			f.BoolVar(p, o.name, *p, use)
		case *[]int:
			f.IntSliceVar(p, o.name, *p, use)
		default:
			panic(fmt.Sprintf("option %s has the type %T", o.name, p))
		}
	}
}

// check returns a terminal error about the first option out of its range.
func check[O any](options O) error {
	for _, o := range optionsOf(&options) {
		interval, v := o.tag.Get("range"), o.value
		if interval == "" {
			continue
		}
		if v.Kind() != reflect.Slice {
			list := reflect.MakeSlice(reflect.SliceOf(v.Type()), 0, 1)
			v = reflect.Append(list, v)
		} else if v.Len() == 0 {
			return fault.Terminal(o.name, "is empty, want at least one number")
		}
		for i := range v.Len() {
			if x := v.Index(i); !within(x.Convert(reflect.TypeFor[float64]()).Float(), interval) {
				return fault.Terminal(o.name, "is %v, want a number in %s", x, interval)
			}
		}
	}
	return nil
}

// within reports whether an interval has a number.
func within(x float64, interval string) bool {
	end := len(interval) - 1
	bound := func(s string, open float64) float64 {
		if s == "" {
			return open
		}
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(err) // a tag is wrong
		}
		return n
	}
	low, high, _ := strings.Cut(interval[1:end], ",")
	a, b := bound(low, math.Inf(-1)), bound(high, math.Inf(1))
	return (x > a || x == a && interval[0] == '[') && (x < b || x == b && interval[end] == ']')
}

// Descent are the options of a training by steps down the gradient.
type Descent struct {
	Epochs int     `json:"epochs" range:"[1,1000]" use:"how often everything is learned from"`
	Rate   float64 `json:"rate" range:"(0,1]" use:"first rate of learning"`
	Decay  float64 `json:"decay" range:"[0,1)" use:"pull of every weight to zero"`
}

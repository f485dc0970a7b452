package items

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func TestFilters(t *testing.T) {
	value := object(t, `{"city":"Porto","age":41,"big":9007199254740993,"tags":["a",{"b":1.0}],"none":null,"on":true,
		"sub":{"x":{"y":1}},"$odd":1}`)
	for filter, want := range map[string]bool{
		`{}`:                                true,
		`{"city":"Porto"}`:                  true,
		`{"city":"porto"}`:                  false,
		`{"city":"Porto","age":42}`:         false,
		`{"age":41.0}`:                      true,
		`{"age":4.1e1}`:                     true,
		`{"age":"41"}`:                      false,
		`{"big":9007199254740993}`:          true,
		`{"big":9007199254740992}`:          false,
		`{"tags":["a",{"b":1}]}`:            true,
		`{"tags":["a"]}`:                    false,
		`{"tags":{"b":1}}`:                  false,
		`{"sub":{"x":{"y":1}}}`:             true,
		`{"sub":{"x":{"y":1,"z":1}}}`:       false,
		`{"sub":{}}`:                        false,
		`{"x":1}`:                           false, // at the top level only
		`{"none":null}`:                     true,
		`{"nothing":null}`:                  true,
		`{"city":null}`:                     false,
		`{"on":true}`:                       true,
		`{"on":1}`:                          false,
		`{"$odd":1}`:                        true,
		`{"city":{"$eq":"Porto"}}`:          true,
		`{"city":{"$ne":"Porto"}}`:          false,
		`{"city":{"$ne":["Porto"]}}`:        true,
		`{"nothing":{"$ne":"x"}}`:           true,
		`{"nothing":{"$ne":null}}`:          false,
		`{"age":{"$gt":40,"$lt":42}}`:       true,
		`{"age":{"$gt":41}}`:                false,
		`{"age":{"$gte":41.000,"$lte":41}}`: true,
		`{"age":{"$lt":-1}}`:                false,
		`{"age":{"$gt":"40"}}`:              false,
		`{"city":{"$gt":"Lisbon"}}`:         true,
		`{"city":{"$lte":"Lisbon"}}`:        false,
		`{"on":{"$gte":true}}`:              false,
		`{"big":{"$gt":9007199254740992}}`:  true,
		`{"nothing":{"$lt":1}}`:             false,
	} {
		f, err := ParseFilter([]byte(filter))
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got, err := f.matches(&content{value: value}); got != want || err != nil {
			t.Errorf("%s: %v, %v", filter, got, err)
		}
	}
	for filter, detail := range map[string]string{
		`null`: "is not an object", `[]`: "is not an object", `{`: "is not an object",
		`{"a":{"$in":[1]}}`: "$lte", `{"a":{"$gt":1,"b":2}}`: "$lte",
		`{"a":1` + manyKeys(64) + `}`: "more than 64",
	} {
		_, err := ParseFilter([]byte(filter))
		invalid(t, err, "filter", detail)
	}
}

// manyKeys returns fields of an object, after another one.
func manyKeys(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
	}
	return out.String()
}

func TestNumbersCompareExactly(t *testing.T) {
	numbers := []string{
		"0", "-0", "0.0", "0e5", "1", "1.0", "10e-1", "0.1e1", "-1", "-1.5", "1.5", "15", "150", "1.5e2", "1e2", "100",
		"99.99", "0.001", "1e-3",
		"0.0010", "9007199254740992", "9007199254740993", "123456789012345678901234567890", "-0.5", "-5e-1", "12e30",
		"1.2E+31", "0.09",
	}
	for _, a := range numbers {
		for _, b := range numbers {
			x, okX := new(big.Rat).SetString(a)
			y, okY := new(big.Rat).SetString(b)
			if !okX || !okY {
				t.Fatal(a, b)
			}
			if got, want := decimalOf(json.Number(a)).compare(decimalOf(json.Number(b))), x.Cmp(y); got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
	for _, c := range [][2]string{
		{"1e999999999", "1e1000000000"}, {"-1e1000000000", "1"}, {"1e-1000000000", "1e-9"}, {"1", "1e99999999999999999999"},
	} {
		if decimalOf(json.Number(c[0])).compare(decimalOf(json.Number(c[1]))) != -1 {
			t.Errorf("%s is not less than %s", c[0], c[1])
		}
	}
}

func FuzzDecimals(f *testing.F) {
	f.Add("1.50", "15e-1")
	f.Add("-0.0e9", "1e-400")
	f.Fuzz(func(t *testing.T, a, b string) {
		var x, y json.Number
		if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || len(a)+len(b) > 40 {
			return // not numbers
		}
		if strings.ContainsAny(a+b, "eE") { // exponents that big.Rat would expand
			d := decimalOf(x)
			if d.compare(decimalOf(y)) != -decimalOf(y).compare(d) || d.compare(d) != 0 {
				t.Errorf("%s and %s", a, b)
			}
			return
		}
		r, ok := new(big.Rat).SetString(a)
		s, also := new(big.Rat).SetString(b)
		if ok && also && r.Cmp(s) != decimalOf(x).compare(decimalOf(y)) {
			t.Errorf("%s and %s", a, b)
		}
	})
}

func TestScores(t *testing.T) {
	for _, c := range []struct {
		query, value string
		want         float64
	}{
		{"tea in Porto", `{"text":"I drink tea."}`, 0.5},
		{"tea in Porto", `{"a":{"b":["Porto",{"c":"TEA!"}]}}`, 1},
		{"cities", `{"text":"a city"}`, 1},
		{"tea", `{"tea":"coffee","n":1,"x":null,"y":true}`, 0}, // keys are not searched
		{"the", `{"text":"the"}`, 0},                           // no content word
		{"?!", `{"text":"?!"}`, 0},
		{"tea tea tea Porto", `{"text":"tea"}`, 0.5},
		{"SKU-4711", `{"id":"sku-4711"}`, 1},
		{"東京", `{"text":"私は東京に住んでいます"}`, 1},
		{"tea", `{"text":"teapot"}`, 0},
	} {
		if got, err := newQuestion(c.query).score(&content{value: object(t, c.value)}); got != c.want || err != nil {
			t.Errorf("%s in %s: %v, want %v (%v)", c.query, c.value, got, c.want, err)
		}
	}
}

func TestRankKeepsTheOrderOfWhatIsEqual(t *testing.T) {
	all := []match{{"a", "", 0.5}, {"b", "", 1}, {"c", "", 0.5}, {"d", "", 1}}
	rank(all)
	var got string
	for _, f := range all {
		got += f.member
	}
	if got != "bdac" {
		t.Errorf("got %s", got)
	}
}

func TestListings(t *testing.T) {
	var names []Name
	for _, text := range []string{"b/1", "a.x/1", "a.y.z/1", "a.x/2", "a-b/1", "a/1", "b.y.z/1", "c.y.q/1"} {
		names = append(names, named(text))
	}
	for _, c := range []struct {
		listing Listing
		want    string
	}{
		{Listing{}, "a|a.x|a.y.z|a-b|b|b.y.z|c.y.q"},
		{Listing{Prefix: Namespace{"a"}}, "a|a.x|a.y.z"},
		{Listing{Prefix: Namespace{"*", "y"}}, "a.y.z|b.y.z|c.y.q"},
		{Listing{Suffix: Namespace{"z"}}, "a.y.z|b.y.z"},
		{Listing{Suffix: Namespace{"y", "*"}, Prefix: Namespace{"b"}}, "b.y.z"},
		{Listing{Prefix: Namespace{"a", "x", "*"}}, ""},
		{Listing{MaxDepth: 1}, "a|a-b|b|c"},
		{Listing{MaxDepth: 2, Suffix: Namespace{"z"}}, "a.y|b.y"},
		{Listing{Offset: 2, Limit: 2}, "a.y.z|a-b"},
		{Listing{Offset: 100}, ""},
	} {
		if c.listing.Limit == 0 {
			c.listing.Limit = 100
		}
		var got []string
		for _, n := range c.listing.list(names) {
			got = append(got, strings.Join(n, "."))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%+v: %v, want %s", c.listing, got, c.want)
		}
	}
}

func TestMembersNameOneItem(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range []Name{
		{Namespace{"a", "b"}, "c"}, {Namespace{"a"}, "b..c"}, {Namespace{"a"}, ".b"}, {Namespace{"a"}, "..b"},
		{Namespace{"a", "b"}, "."},
		{Namespace{"a\x00"}, "b"}, {Namespace{"a"}, "\x00b"}, {Namespace{"a", " "}, "b"}, {Namespace{"a"}, "b"},
	} {
		if got := nameOf(n.member()); got.Key != n.Key || strings.Join(got.Namespace, ".") != strings.Join(n.Namespace, ".") {
			t.Errorf("%q is read as %q", n, got)
		}
		if seen[n.member()] {
			t.Errorf("%q is another's", n)
		}
		seen[n.member()] = true
	}
}

func TestObjects(t *testing.T) {
	got := object(t, " {\"n\" : 1.50E+2, \"s\": \"<\\u00e9é & \" ,\n\"a\":[ ]} ")
	if string(got) != `{"n":1.50E+2,"s":"<\u00e9é & ","a":[]}` {
		t.Errorf("kept as %s", got)
	}
	largest := `{"a":"` + strings.Repeat("x", MaxObject-8) + `"}`
	if got := object(t, largest+"   "); len(got) != MaxObject {
		t.Errorf("%d bytes", len(got))
	}
	for text, detail := range map[string]string{
		"": "is not an object", "[]": "is not an object", "1": "is not an object", "null": "is not an object",
		`{"a"`:                                 "is not an object",
		strings.Replace(largest, "x", "xx", 1): "is 262145 bytes long, want at most 262144",
	} {
		_, err := NewObject([]byte(text))
		invalid(t, err, "", detail)
	}
}

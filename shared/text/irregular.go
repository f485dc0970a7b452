package text

import (
	_ "embed"
	"strings"
	"sync"
)

// irregularForms has the base form and then its irregular forms, a line each. It leaves out forms that are mostly
// another word, such as "rose", "ground" and "bit".
//
//go:embed irregular.txt
var irregularForms string

// baseForms maps the stem of an irregular form to the stem of its base form.
var baseForms = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(irregularForms) {
		forms := strings.Fields(line)
		if len(forms) == 0 {
			continue
		}
		for _, form := range forms[1:] {
			out[Stem(form)] = Stem(forms[0])
		}
	}
	return out
})

// BaseForm returns the stem of the base form for the stem of an irregular English form: "grow" for "grew". It returns
// any other stem as it is. Stem itself keeps irregular forms apart.
func BaseForm(stem string) string {
	if base, ok := baseForms()[stem]; ok {
		return base
	}
	return stem
}

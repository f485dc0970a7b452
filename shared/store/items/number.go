package items

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// decimal is an exact JSON number: 0.DIGITS times ten to the exponent. Digits neither begin nor end with 0, and zero
// has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// maxExponent is larger than any useful exponent, and additions to it do not overflow.
const maxExponent = 1 << 60

func decimalOf(n json.Number) decimal {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, power := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, power = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent, _ := strconv.ParseInt(power, 10, 64) // an exponent out of range becomes the nearest one, and a missing one 0
	exponent = max(-maxExponent, min(maxExponent, exponent)) + int64(len(digits)-len(fraction))
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return decimal{}
	}
	return decimal{negative, digits, exponent}
}

// compare returns -1, 0 or 1 if d is less than, equal to or more than o.
func (d decimal) compare(o decimal) int {
	if c := cmp.Compare(d.sign(), o.sign()); c != 0 || d.digits == "" {
		return c
	}
	return d.sign() * cmp.Or(cmp.Compare(d.exponent, o.exponent), strings.Compare(d.digits, o.digits))
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// choice reads PersonaMem's options, a list in Python or JSON notation, and the letter of the right option: "(b)". It
// removes letters before options, as in "(b) Tea". Options without letters get letters by their place.
func choice(list, right string) (options []string, answer string, err error) {
	if json.Unmarshal([]byte(list), &options) != nil {
		if options, err = pythonList(list); err != nil {
			return nil, "", fmt.Errorf("%s: %w", columnOptions, err)
		}
	}
	right = strings.ToLower(strings.Trim(right, "() "))
	found := 0
	for i, o := range options {
		letter, text := string(rune('a'+i)), strings.TrimSpace(o)
		if len(text) >= 3 && text[0] == '(' && text[2] == ')' {
			letter, text = strings.ToLower(text[1:2]), strings.TrimSpace(text[3:])
		}
		if options[i] = text; text == "" {
			return nil, "", fmt.Errorf("%s: option %d is empty", columnOptions, i)
		}
		if letter == right {
			answer = text
			found++
		}
	}
	if found != 1 {
		return nil, "", fmt.Errorf("%s: is %q, want the letter of one of %d options", columnAnswer, right, len(options))
	}
	return options, answer, nil
}

// errList reports a malformed list of texts in Python's notation.
var errList = errors.New("want a list of texts")

// pythonList reads a list of texts in Python's notation, with either kind of quotes and with Python's escapes.
func pythonList(in string) ([]string, error) {
	in = strings.TrimSpace(in)
	if len(in) < 2 || in[0] != '[' || in[len(in)-1] != ']' {
		return nil, errList
	}
	in = strings.TrimSpace(in[1 : len(in)-1])
	var out []string
	for in != "" {
		text, rest, err := pythonText(in)
		if err != nil {
			return nil, fmt.Errorf("option %d: %w", len(out), err)
		}
		out = append(out, text)
		rest = strings.TrimSpace(rest)
		if rest != "" && rest[0] != ',' {
			return nil, fmt.Errorf("option %d: want a comma after it", len(out)-1)
		}
		in = strings.TrimSpace(strings.TrimPrefix(rest, ","))
	}
	return out, nil
}

// pythonText reads a quoted text and returns it with the rest of the input.
func pythonText(in string) (text, rest string, err error) {
	quote := in[0]
	if quote != '\'' && quote != '"' {
		return "", "", errList
	}
	var out strings.Builder
	for i := 1; i < len(in); {
		switch {
		case in[i] == quote:
			return out.String(), in[i+1:], nil
		case in[i] != '\\':
			out.WriteByte(in[i])
			i++
		case i+1 == len(in):
			return "", "", errors.New("has no closing quote")
		default:
			n, err := pythonEscape(&out, in[i+1:])
			if err != nil {
				return "", "", err
			}
			i += 1 + n
		}
	}
	return "", "", errors.New("has no closing quote")
}

// pythonEscape writes the character of an escape and returns the length of the escape in the input. An unknown escape
// stays unchanged, as in Python.
func pythonEscape(out *strings.Builder, in string) (int, error) {
	digits := 0
	switch in[0] {
	case 'n':
		out.WriteByte('\n')
	case 'r':
		out.WriteByte('\r')
	case 't':
		out.WriteByte('\t')
	case '\\', '\'', '"':
		out.WriteByte(in[0])
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		out.WriteString("\\" + in[:1])
	}
	if digits == 0 {
		return 1, nil
	}
	if len(in) < 1+digits {
		return 0, errors.New("has a broken escape")
	}
	code, err := strconv.ParseUint(in[1:1+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(code)) {
		return 0, errors.New("has a broken escape")
	}
	out.WriteRune(rune(code))
	return 1 + digits, nil
}

package llm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

// maxAnswerBytes bounds the bytes read of an answer. It leaves room for the longest text and the largest batch of
// vectors.
const maxAnswerBytes = 64 << 20

// maxErrorBytes bounds how much of an error's body is read.
const maxErrorBytes = 64 << 10

// parseStatus reads the error forms in use: {"error":{...}}, {"error":"..."}, {"message":...}, {"detail":...}, and
// text. It keeps the server's part of the message, without quotations of the request.
func parseStatus(body []byte, key config.Secret) *StatusError {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   string `json:"param"`
		Code    any    `json:"code"` // a string or a number
	}
	e := &StatusError{message: string(body)}
	if json.Unmarshal(body, &outer) != nil {
		return e
	}
	_ = json.Unmarshal(outer.Error, &inner) // an unknown form leaves the fields empty
	var said string
	_ = json.Unmarshal(outer.Error, &said)
	if m := strings.TrimSpace(strings.Join([]string{outer.Message, inner.Message, said, detail(outer.Detail)},
		" ")); m != "" {
		e.message = m
	}
	code, _ := inner.Code.(string)
	e.Code, e.Type, e.Param = identifier(code, key), identifier(inner.Type, key), identifier(inner.Param, key)
	return e
}

// detail is the text of validators such as FastAPI's: a text, or a list of faults and their places.
func detail(raw json.RawMessage) string {
	var said string
	if json.Unmarshal(raw, &said) == nil {
		return said
	}
	var all []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	_ = json.Unmarshal(raw, &all)
	for _, d := range all {
		said += fmt.Sprint(d.Msg, " ", d.Loc, " ")
	}
	return said
}

var identifierPattern = regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,64}$`)

// identifier lets only texts pass that can be neither a sentence nor the key.
func identifier(s string, key config.Secret) string {
	if !identifierPattern.MatchString(s) || (key != "" && strings.Contains(s, key.Reveal())) {
		return ""
	}
	return s
}

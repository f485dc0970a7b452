// Package client is for programs in Go that reach Mneme through its gateway, with an API key: turns go in over the REST API, everything
// else is asked by the RPC contracts, whose clients it holds.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

const (
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 8 << 20
	// retries is how often a call that the gateway cannot serve now is made again, if it is to wait no longer than maxPause for that.
	retries  = 2
	maxPause = 30 * time.Second
)

// Client reaches a gateway. It is safe for concurrent use. It never shows its key.
type Client struct {
	// Utilizer recalls, answers, and is told what an answer cited.
	Utilizer mnemev1connect.UtilizerServiceClient
	// Memories reads and changes what is remembered.
	Memories mnemev1connect.MemoryServiceClient
	// UserData exports, imports and erases all that is kept of a user.
	UserData mnemev1connect.UserDataServiceClient
	// Diagnosis says why something was not recalled.
	Diagnosis mnemev1connect.DiagnosisServiceClient
	// Reranker shows the tenant's weights, and takes them back.
	Reranker mnemev1connect.RerankerServiceClient

	base string
	key  string
	http connect.HTTPClient
}

// New makes a client of the gateway at a base URL, with an API key, over an HTTP client; nil is http.DefaultClient. Its error says what
// is wrong with the URL or the key.
func New(baseURL, apiKey string, over connect.HTTPClient) (*Client, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("mneme: the base URL is none such as https://mneme.example.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("mneme: the base URL holds more than scheme, host and path")
	case apiKey == "" || strings.ContainsFunc(apiKey, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, errors.New("mneme: the API key is empty, or holds what no key does")
	}
	if over == nil {
		over = http.DefaultClient
	}
	c := &Client{base: strings.TrimSuffix(baseURL, "/"), key: apiKey, http: over}
	o := connect.WithInterceptors(bearer{"Bearer " + apiKey})
	c.Utilizer = mnemev1connect.NewUtilizerServiceClient(over, c.base, o)
	c.Memories = mnemev1connect.NewMemoryServiceClient(over, c.base, o)
	c.UserData = mnemev1connect.NewUserDataServiceClient(over, c.base, o)
	c.Diagnosis = mnemev1connect.NewDiagnosisServiceClient(over, c.base, o)
	c.Reranker = mnemev1connect.NewRerankerServiceClient(over, c.base, o)
	return c, nil
}

// String names the gateway, and not the key.
func (c *Client) String() string { return "mneme at " + c.base }

// GoString is String.
func (c *Client) GoString() string { return c.String() }

// bearer puts the key on calls.
type bearer struct{ header string }

// WrapUnary implements connect.Interceptor.
func (b bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		req.Header().Set("Authorization", b.header)
		return next(ctx, req)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (b bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set("Authorization", b.header)
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor; this is a client's.
func (bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// Turn is something that is said.
type Turn struct {
	// ID is unique over all sessions of the user; the gateway makes one where it is empty.
	ID string `json:"id,omitempty"`
	// Speaker is who says it, by name; the role where it is empty.
	Speaker string `json:"speaker,omitempty"`
	// Role is "user" or "assistant".
	Role string `json:"role"`
	Text string `json:"text"`
	// Caption describes a picture that was shown.
	Caption string `json:"caption,omitempty"`
	// Time is when it was said; now where it is zero.
	Time time.Time `json:"time,omitzero"`
	// Metadata is a JSON object of your own, at most 2,048 bytes, which memories carry and filters test. A number that a double does not
	// hold exactly is refused.
	Metadata map[string]any `json:"metadata,omitempty"`
	// AgentID, AppID and RunID are what the turn belongs to; empty for none, at most 128 bytes each.
	AgentID string `json:"agent_id,omitempty"`
	AppID   string `json:"app_id,omitempty"`
	RunID   string `json:"run_id,omitempty"`
}

// LeftOutError says that the gateway accepted some turns of a request and left the others out, of which nothing is kept.
type LeftOutError struct {
	// Turns are those that were left out, in their order.
	Turns []LeftOut
}

// LeftOut is a turn that was left out.
type LeftOut struct {
	// Place is that of the turn in the request, from 0, and ID its id.
	Place int
	ID    string
	// Code, Field and Detail say why, as those of a Problem do.
	Code, Field, Detail string
}

// Error implements error. It names the turns.
func (e *LeftOutError) Error() string {
	out := make([]string, len(e.Turns))
	for i, t := range e.Turns {
		out[i] = fmt.Sprintf("turn %d (%s): %s: %s", t.Place, t.ID, t.Field, t.Detail)
	}
	return "mneme: left out, while the other turns were accepted: " + strings.Join(out, "; ")
}

// AddTurns puts in what was said in a session, in order, 200 turns at most, and returns the ids of the turns that were accepted. When it
// returns, they are acknowledged by all in-sync replicas of the bus; turns that come again under their ids have no effect. A gateway that
// cannot accept them now is asked again, a few times within ctx. The error is a *LeftOutError where some turns were accepted and others
// were not, and a *Problem where the gateway has refused all.
func (c *Client) AddTurns(ctx context.Context, user, session string, turns []Turn) (ids []string, err error) {
	body, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		return nil, fmt.Errorf("mneme: encode turns: %w", err)
	}
	var out struct {
		Turns   []struct{ ID string }
		Results []struct {
			TurnID  string `json:"turn_id"`
			Problem *struct{ Code, Field, Detail string }
		}
	}
	header := http.Header{"Idempotency-Key": {uuid.NewString()}}
	err = c.call(ctx, http.MethodPost, "users/"+segment(user)+"/sessions/"+segment(session)+"/turns", header, body, &out)
	if err != nil {
		return nil, err
	}
	for _, t := range out.Turns {
		ids = append(ids, t.ID)
	}
	var left LeftOutError
	for i, r := range out.Results {
		if p := r.Problem; p != nil {
			left.Turns = append(left.Turns, LeftOut{i, r.TurnID, p.Code, p.Field, p.Detail})
		} else {
			ids = append(ids, r.TurnID)
		}
	}
	if len(left.Turns) > 0 {
		return ids, &left
	}
	return ids, nil
}

// CloseSession says that a session has ended, so that its memories are formed now. lastTurn is the id of its last turn, or empty.
func (c *Client) CloseSession(ctx context.Context, user, session, lastTurn string) error {
	body := []byte("{}")
	if lastTurn != "" {
		var err error
		if body, err = json.Marshal(map[string]string{"last_turn_id": lastTurn}); err != nil {
			return fmt.Errorf("mneme: encode the last turn: %w", err)
		}
	}
	return c.call(ctx, http.MethodPost, "users/"+segment(user)+"/sessions/"+segment(session)+"/close", nil, body, nil)
}

// TurnStatus is what became of a turn.
type TurnStatus struct {
	// Status is "accepted" (it is on its way), "remembered", "kept" (as dialogue, without a memory), "dropped" (not worth remembering) or
	// "dead_letter" (it can never be processed).
	Status string `json:"status"`
	// MemoryIDs are the memories made of it.
	MemoryIDs []string `json:"memory_ids"`
}

// TurnStatus returns what became of a turn: a *Problem of status 404 where nothing is known of it.
func (c *Client) TurnStatus(ctx context.Context, user, turnID string) (out TurnStatus, err error) {
	return out, c.call(ctx, http.MethodGet, "users/"+segment(user)+"/turns/"+segment(turnID), nil, nil, &out)
}

// Usage returns what the tenant did on a day ("2026-11-25", in UTC; empty for today), by what it did, and which day that is.
func (c *Client) Usage(ctx context.Context, day string) (of string, counts map[string]int64, err error) {
	path := "usage"
	if day != "" {
		path += "?day=" + url.QueryEscape(day)
	}
	var out struct {
		Day    string
		Counts map[string]int64
	}
	err = c.call(ctx, http.MethodGet, path, nil, nil, &out)
	return out.Day, out.Counts, err
}

// segment is an id as one segment of a path. Dots alone would be taken for a way up.
func segment(id string) string {
	switch id {
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	return url.PathEscape(id)
}

// call makes a call of the REST API until it is answered, and reads the answer into out, where that is not nil.
func (c *Client) call(ctx context.Context, method, path string, header http.Header, body []byte, out any) error {
	for try := 0; ; try++ {
		err := c.once(ctx, method, path, header, body, out)
		var p *Problem
		if !errors.As(err, &p) || p.RetryAfter == 0 || p.RetryAfter > maxPause || try == retries {
			return err
		}
		wait := time.NewTimer(p.RetryAfter)
		select {
		case <-ctx.Done():
			wait.Stop()
			return err
		case <-wait.C:
		}
	}
}

func (c *Client) once(ctx context.Context, method, path string, header http.Header, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/v1/tenants/self/"+path, bytes.NewReader(body))
	if err != nil {
		return errors.New("mneme: the request cannot be made")
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return unreachable(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return unreachable(err)
	}
	if res.StatusCode/100 != 2 {
		return problemOf(res, data)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return errors.New("mneme: the answer is none of a gateway's")
	}
	return nil
}

// unreachable is the error of a request that was not answered, without its address, which names the user.
func unreachable(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("mneme: the gateway does not answer: %w", err)
}

// Problem is what the gateway says is wrong.
type Problem struct {
	// Status is the HTTP status.
	Status int
	// Code is for programs: invalid, unauthenticated, forbidden, not_found, conflict, too_large, rate_limited, over_quota, unsupported,
	// internal or unavailable; empty where it was not the gateway that answered.
	Code string
	// Detail is for people.
	Detail string
	// Field is the field at fault ("turns[3].text"); empty where it is none.
	Field string
	// RequestID names the call in the gateway's log.
	RequestID string
	// RetryAfter is when it is worth trying again; zero where that does not help.
	RetryAfter time.Duration
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("mneme: %s (%d)", p.Detail, p.Status) }

func problemOf(res *http.Response, body []byte) *Problem {
	p := &Problem{Status: res.StatusCode, Detail: "the gateway answers " + res.Status, RequestID: res.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	var told struct {
		Code, Detail string
		Errors       []struct{ Field string }
	}
	if json.Unmarshal(body, &told) == nil && told.Code != "" {
		p.Code, p.Detail = told.Code, told.Detail
		if len(told.Errors) > 0 {
			p.Field = told.Errors[0].Field
		}
	}
	return p
}

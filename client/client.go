// Package client reaches Mneme through its gateway with an API key, for Go programs. It sends turns over the REST
// API. For every other call it holds the clients of the RPC contracts.
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
	// maxAnswer limits the size of an answer, in bytes.
	maxAnswer = 8 << 20
	// retries is the number of retries of a call that the gateway cannot serve now. A required wait of more than
	// maxPause prevents a retry.
	retries  = 2
	maxPause = 30 * time.Second
)

// Client is a client of a gateway. It is safe for concurrent use. It never prints its key.
type Client struct {
	// Utilizer recalls, answers, and accepts reports of citations.
	Utilizer mnemev1connect.UtilizerServiceClient
	// Memories reads and changes memories.
	Memories mnemev1connect.MemoryServiceClient
	// UserData exports, imports and erases all data of a user.
	UserData mnemev1connect.UserDataServiceClient
	// Diagnosis explains why a recall lacks a fact.
	Diagnosis mnemev1connect.DiagnosisServiceClient
	// Reranker shows the tenant's weights and rolls them back.
	Reranker mnemev1connect.RerankerServiceClient

	base string
	http connect.HTTPClient
}

// New returns a client of the gateway at a base URL, with an API key, over an HTTP client; nil means
// http.DefaultClient. Its error describes the fault in the URL or the key.
func New(baseURL, apiKey string, over connect.HTTPClient) (*Client, error) {
	u, err := url.Parse(baseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("mneme: the base URL is invalid, want a URL such as https://mneme.example.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("mneme: the base URL has more than scheme, host and path")
	case apiKey == "" || strings.ContainsFunc(apiKey, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, errors.New("mneme: the API key is empty, or has a character that no key has")
	}
	if over == nil {
		over = http.DefaultClient
	}
	c := &Client{base: strings.TrimSuffix(baseURL, "/"), http: keyed{over, apiKey}}
	c.Utilizer = mnemev1connect.NewUtilizerServiceClient(c.http, c.base)
	c.Memories = mnemev1connect.NewMemoryServiceClient(c.http, c.base)
	c.UserData = mnemev1connect.NewUserDataServiceClient(c.http, c.base)
	c.Diagnosis = mnemev1connect.NewDiagnosisServiceClient(c.http, c.base)
	c.Reranker = mnemev1connect.NewRerankerServiceClient(c.http, c.base)
	return c, nil
}

// String returns the gateway's address without the key.
func (c *Client) String() string { return "mneme at " + c.base }

// GoString returns the same as String.
func (c *Client) GoString() string { return c.String() }

// keyed adds the key to calls.
type keyed struct {
	connect.HTTPClient
	key string
}

// Do implements connect.HTTPClient.
func (k keyed) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.HTTPClient.Do(r)
}

// Turn is one message of a conversation.
type Turn struct {
	// ID is unique over all sessions of the user. The gateway generates an empty one.
	ID string `json:"id,omitempty"`
	// Speaker is the speaker's name; empty means the role.
	Speaker string `json:"speaker,omitempty"`
	// Role is "user" or "assistant". Mneme does not remember turns of "system", "developer", "tool" and "function".
	Role string `json:"role"`
	// Text has at most 512 KiB. Mneme keeps the first and the last part of a text of more than 32 KiB.
	Text string `json:"text"`
	// Caption describes an attached picture.
	Caption string `json:"caption,omitempty"`
	// Time is the time of the message; zero means now.
	Time time.Time `json:"time,omitzero"`
	// Metadata is a JSON object of the caller's own, at most 2,048 bytes. Memories carry it and filters test it. The
	// gateway refuses a number that a double does not hold exactly.
	Metadata map[string]any `json:"metadata,omitempty"`
	// AgentID, AppID and RunID name the turn's agent, application and run. Each is at most 128 bytes; empty means
	// none.
	AgentID string `json:"agent_id,omitempty"`
	AppID   string `json:"app_id,omitempty"`
	RunID   string `json:"run_id,omitempty"`
}

// Added is a turn that the gateway accepted, or a valid turn that it does not remember.
type Added struct {
	// Place is the turn's place in the request, from 0. ID is its id.
	Place int
	ID    string
	// ShortenedBy is the number of bytes that the gateway left out of a long text; 0 for a complete text.
	ShortenedBy int
	// NotRemembered is the reason why the gateway does not remember the turn; empty for an accepted turn.
	NotRemembered string
}

// LeftOutError says that the gateway accepted some turns of a request and left out the others. It stores no data of
// those left out.
type LeftOutError struct {
	// Turns are the left-out turns, in their order.
	Turns []LeftOut
}

// LeftOut is a left-out turn.
type LeftOut struct {
	// Place is the turn's place in the request, from 0. ID is its id.
	Place int
	ID    string
	// Code, Field and Detail describe the reason, as in a Problem.
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

// AddTurns sends turns of a session in order, 200 at most, and returns the accepted turns. It also returns the turns
// that the gateway does not remember. When it returns, all in-sync replicas of the bus have acknowledged the accepted
// turns. A repeated turn with the same id has no effect. If the gateway cannot accept the turns now, AddTurns retries a
// few times within ctx. The error is a *LeftOutError if the gateway left out some turns, and a *Problem if it also
// accepted none.
func (c *Client) AddTurns(ctx context.Context, user, session string, turns []Turn) (added []Added, err error) {
	body, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		return nil, fmt.Errorf("mneme: encode turns: %w", err)
	}
	var out struct {
		Turns   []struct{ ID string }
		Results []struct {
			TurnID      string `json:"turn_id"`
			ShortenedBy int    `json:"shortened_by"`
			Reason      string
			Problem     *struct{ Code, Field, Detail string }
		}
	}
	header := http.Header{"Idempotency-Key": {uuid.NewString()}}
	err = c.call(ctx, http.MethodPost, "users/"+segment(user)+"/sessions/"+segment(session)+"/turns", header, body, &out)
	if err != nil {
		return nil, err
	}
	for i, t := range out.Turns {
		added = append(added, Added{Place: i, ID: t.ID})
	}
	var left LeftOutError
	for i, r := range out.Results {
		if p := r.Problem; p != nil {
			left.Turns = append(left.Turns, LeftOut{i, r.TurnID, p.Code, p.Field, p.Detail})
		} else {
			added = append(added, Added{Place: i, ID: r.TurnID, ShortenedBy: r.ShortenedBy, NotRemembered: r.Reason})
		}
	}
	if len(left.Turns) > 0 {
		return added, &left
	}
	return added, nil
}

// CloseSession marks a session as ended, so that its memories are formed now. lastTurn is the id of its last turn, or
// empty.
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

// TurnStatus is the processing state of a turn.
type TurnStatus struct {
	// Status is one of these values:
	//   - "accepted": the turn is being processed
	//   - "remembered": a memory rests on the turn
	//   - "kept": the turn is stored as dialogue or talk, without a memory
	//   - "dropped": the turn is not worth remembering
	//   - "dead_letter": the turn can never be processed
	Status string `json:"status"`
	// MemoryIDs are the memories formed from the turn.
	MemoryIDs []string `json:"memory_ids"`
	// TalkIDs are the entries of the turn that are only searchable.
	TalkIDs []string `json:"talk_ids"`
}

// TurnStatus returns the state of a turn. The error is a *Problem of status 404 for an unknown turn.
func (c *Client) TurnStatus(ctx context.Context, user, turnID string) (out TurnStatus, err error) {
	return out, c.call(ctx, http.MethodGet, "users/"+segment(user)+"/turns/"+segment(turnID), nil, nil, &out)
}

// Usage returns the tenant's operation counts of a day, by operation, and the day itself. The day is a date in UTC
// ("2026-11-25"); empty means today.
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

// segment escapes an id as one segment of a path. It also escapes ids of dots alone, which would otherwise mean the
// parent path.
func segment(id string) string {
	switch id {
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	return url.PathEscape(id)
}

// call sends a REST call with retries and decodes the answer into out, unless out is nil.
func (c *Client) call(ctx context.Context, method, path string, header http.Header, body []byte, out any) error {
	for try := 0; ; try++ {
		err := c.once(ctx, method, path, header, body, out)
		p, ok := errors.AsType[*Problem](err)
		if !ok || p.RetryAfter == 0 || p.RetryAfter > maxPause || try == retries {
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
		return errors.New("mneme: cannot create the request")
	}
	for name, values := range header {
		req.Header[name] = values
	}
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
		return errors.New("mneme: the answer is not from a gateway")
	}
	return nil
}

// unreachable is the error of a request without an answer. It omits the address, which contains the user.
func unreachable(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	return fmt.Errorf("mneme: the gateway does not answer: %w", err)
}

// Problem is an error from the gateway.
type Problem struct {
	// Status is the HTTP status.
	Status int
	// Code is for programs: invalid, unauthenticated, forbidden, not_found, conflict, too_large, rate_limited,
	// over_quota, unsupported, internal or unavailable. It is empty if another server answered.
	Code string
	// Detail is for people.
	Detail string
	// Field is the wrong field ("turns[3].text"); empty if no field is wrong.
	Field string
	// RequestID identifies the call in the gateway's log.
	RequestID string
	// RetryAfter is the time to wait before a retry; zero if a retry does not help.
	RetryAfter time.Duration
}

// Error implements error.
func (p *Problem) Error() string { return fmt.Sprintf("mneme: %s (%d)", p.Detail, p.Status) }

func problemOf(res *http.Response, body []byte) *Problem {
	p := &Problem{Status: res.StatusCode, Detail: "the gateway answers " + res.Status,
		RequestID: res.Header.Get("X-Request-Id")}
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

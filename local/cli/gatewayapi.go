package cli

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
	"time"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

const (
	apiTimeout = 30 * time.Second
	maxAnswer  = 1 << 20  // bytes of an answer that are read
	maxProblem = 64 << 10 // bytes of an error that are read
)

// gatewayAPI is the gateway's own API.
type gatewayAPI struct {
	base   string
	key    config.Secret
	client *http.Client
}

// newTurn is a turn as the API takes it.
type newTurn struct {
	ID      string      `json:"id"`
	Speaker string      `json:"speaker"`
	Role    memory.Role `json:"role"`
	Text    string      `json:"text"`
	Caption string      `json:"caption,omitempty"`
	Time    time.Time   `json:"time"`
}

// Turns puts turns in. The same turns that come again are the same request.
func (g *gatewayAPI) Turns(ctx context.Context, user, session string, turns []memory.Turn) error {
	body := struct {
		Turns []newTurn `json:"turns"`
	}{make([]newTurn, len(turns))}
	ids := ""
	for i, t := range turns {
		body.Turns[i] = newTurn{ID: t.ID, Speaker: t.Speaker, Role: t.Role, Text: t.Text, Caption: t.Caption, Time: t.Time}
		ids += strconv.Itoa(len(t.ID)) + ":" + t.ID
	}
	return g.post(ctx, user, session, "turns", uuid.NewSHA1(uuid.NameSpaceOID, []byte(ids)).String(), body)
}

// CloseSession says that a session has ended; the gateway says when.
func (g *gatewayAPI) CloseSession(ctx context.Context, user, session, last string, _ time.Time) error {
	return g.post(ctx, user, session, "close", "", map[string]string{"last_turn_id": last})
}

func (g *gatewayAPI) post(ctx context.Context, user, session, what, idempotencyKey string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s: %w", what, err)
	}
	path := "users/" + segment(user) + "/sessions/" + segment(session) + "/" + what
	req, err := g.request(ctx, http.MethodPost, path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", idempotencyKey)
	}
	_, err = g.do(req)
	return err
}

// request is a request of the API, by its path behind the tenant.
func (g *gatewayAPI) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, g.base+"/v1/tenants/self/"+path, body)
	if err != nil {
		return nil, fmt.Errorf("address of the gateway: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+g.key.Reveal())
	return req, nil
}

// do makes a request and returns what it was answered with.
func (g *gatewayAPI) do(req *http.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(req.Context(), apiTimeout)
	defer cancel()
	res, err := g.client.Do(req.WithContext(ctx))
	if err != nil {
		return nil, unreachable(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, problemOf(res)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxAnswer))
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

// unreachable is the error of a request that was not answered, without the address, which names the user.
func unreachable(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return door.Problem{
		Status: http.StatusServiceUnavailable, Code: door.CodeUnavailable, Detail: "the gateway does not answer: " + err.Error(),
	}
}

// problemOf is the problem that the API answered with, or what is known of an answer that is none of its own.
func problemOf(res *http.Response) error {
	p := door.Problem{Status: res.StatusCode, Code: door.CodeInternal, Detail: "the gateway answers " + res.Status}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	var told struct{ Code, Detail string }
	data, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	if err == nil && json.Unmarshal(data, &told) == nil && told.Code != "" && told.Detail != "" {
		p.Code, p.Detail = told.Code, told.Detail
	}
	return p
}

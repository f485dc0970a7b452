package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// gatewayMemories is the number of memories of the user in recalls through the gateway.
const gatewayMemories = 1000

// throughGateway measures recall over the gateway's REST API, with key, limits and counting. The baseline is the same
// recall over connect without the gateway.
func throughGateway(ctx context.Context, b *bench) (Row, error) {
	scope := b.scope("gateway")
	p := b.scaled(plan{rounds: 5, each: 60, warm: 40})
	asked, err := b.fill(ctx, scope, gatewayMemories, p.warm+p.rounds*p.each)
	if err != nil {
		return Row{}, err
	}
	row, err := latencies(ctx, p, b.profiled("gateway", func(ctx context.Context, i int) (time.Duration, error) {
		return b.recallREST(ctx, scope.User, asked[i].Text)
	}), func(ctx context.Context, i int) (time.Duration, error) {
		return b.recall(ctx, scope, asked[i].Text)
	})
	row.What = fmt.Sprintf("recall among %d memories, REST through the gateway", gatewayMemories)
	row.BaselineWhat = "connect, without the gateway"
	row.judge(above(1))
	return row, err
}

// recallREST recalls over the gateway's REST API.
func (b *bench) recallREST(ctx context.Context, user, query string) (time.Duration, error) {
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return 0, err
	}
	address := b.stack.Connection.Gateway + "/v1/tenants/self/users/" + url.PathEscape(user) + "/recall"
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+b.stack.Connection.APIKey)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var got struct {
		Cited    []json.RawMessage `json:"cited"`
		Degraded []string          `json:"degraded"`
	}
	err = json.NewDecoder(res.Body).Decode(&got)
	took := time.Since(began)
	switch {
	case err != nil:
		return 0, err
	case res.StatusCode != http.StatusOK:
		return 0, errors.New("the gateway answers " + res.Status)
	case len(got.Degraded) > 0:
		return 0, fmt.Errorf("the recall is degraded: %v", got.Degraded)
	case len(got.Cited) == 0:
		return 0, errors.New("the recall found nothing")
	}
	return took, nil
}

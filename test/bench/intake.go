package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/memory"
)

// intake measures the rate of turns per second through filter and booster, until each is in W and its user's workflow
// is signalled. The baseline is one pass of the same records through the bare bus.
func intake(ctx context.Context, b *bench) (row Row, err error) {
	baseline, err := openBareBus(ctx, b.system, bareBatch)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, baseline.Close()) }()
	users, each := 200, 50
	if b.quick {
		users = 40
	}
	p := b.scaled(plan{rounds: 5, each: 1, warm: 1})
	row, err = rates(ctx, p, users*each, "events/s",
		b.profiled("intake", func(ctx context.Context, _ int) (time.Duration, error) {
			return b.takeIn(ctx, users, each)
		}), func(ctx context.Context, _ int) (time.Duration, error) {
			msgs, _, err := b.crowd(users, each)
			if err != nil {
				return 0, err
			}
			records := bare(msgs)
			began := time.Now()
			err = baseline.pass(ctx, records)
			return time.Since(began), err
		})
	row.What, row.BaselineWhat = fmt.Sprintf("turns of %d users in W and signalled", users), "bare produce + consume"
	row.judge(atLeast(0.5))
	return row, err
}

// takeIn publishes the turns of a crowd as fast as it can.
func (b *bench) takeIn(ctx context.Context, users, each int) (time.Duration, error) {
	msgs, lasts, err := b.crowd(users, each)
	if err != nil {
		return 0, err
	}
	before, err := b.processed(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := b.busClient.Publisher.Publish(ctx, msgs...); err != nil {
		return 0, err
	}
	for scope, turn := range lasts {
		seen := func(ctx context.Context) (bool, error) { return b.inWindow(ctx, scope, turn) }
		if err := until(ctx, 5*time.Millisecond, "a turn in W", seen); err != nil {
			return 0, err
		}
	}
	// Signals follow the appends. The metrics are not read earlier, because that takes much processor time.
	err = until(ctx, 10*time.Millisecond, "the booster", func(ctx context.Context) (bool, error) {
		now, err := b.processed(ctx)
		return now-before >= float64(len(msgs)), err
	})
	return time.Since(began), err
}

// crowd returns the events of many users, alternating between users, and the last turn of each user.
func (b *bench) crowd(users, each int) ([]bus.Message, map[memory.Scope]string, error) {
	lasts := make(map[memory.Scope]string, users)
	byUser := make([][]bus.Message, users)
	for u := range byUser {
		session := "s-" + uuid.NewString()
		scope := b.scope("crowd-" + session)
		turns := b.turns(session, each)
		lasts[scope] = turns[each-1].ID
		var err error
		if byUser[u], err = events(scope, turns); err != nil {
			return nil, nil, err
		}
	}
	msgs := make([]bus.Message, 0, users*each)
	for t := range each {
		for u := range byUser {
			msgs = append(msgs, byUser[u][t])
		}
	}
	return msgs, lasts, nil
}

// processed returns the number of salient events that the booster has finished since its start, by its own metrics.
func (b *bench) processed(ctx context.Context) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.boosterMetrics, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", "identity") // compression would cost more than the transfer
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		return 0, fmt.Errorf("metrics of the booster: %w", err)
	}
	return total(families["mneme_bus_messages_processed_total"]), nil
}

func total(f *dto.MetricFamily) float64 {
	sum := 0.0
	for _, m := range f.GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	return sum
}

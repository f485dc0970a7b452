package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/kafka"
	"github.com/mneme-memory/mneme/shared/contract"
)

func (c commands) replay() *cobra.Command {
	var cfg bus.ReplayConfig
	var list bool
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Put dead letters back on their topics, or list them",
		Long: "replay puts dead letters back on their topics. Repair their cause first: a record that fails again\n" +
			"becomes a dead letter again. --list prints the dead letters with their reasons, and changes nothing.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runReplay(cmd.Context(), cfg, list) },
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the dead letters and change nothing")
	cmd.Flags().StringVar(&cfg.KeyPrefix, "prefix", "", "only records with this prefix of the key: tenant/ or tenant/user")
	cmd.Flags().StringVar(&cfg.Handler, "handler", "",
		"only records of this handler: saliency-filter, booster, consolidation, budget, ...")
	return cmd
}

func (c commands) runReplay(ctx context.Context, cfg bus.ReplayConfig, list bool) error {
	s, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	if len(s.Brokers) == 0 {
		return command.Usage(errors.New("replay needs --brokers (or " + console.EnvBrokers + ")"))
	}
	busClient, err := wiring.Bus{Brokers: s.Brokers, Partitions: 24}.Open(ctx, "mneme-replay", s.Telemetry)
	if err != nil {
		return fmt.Errorf("connect to kafka: %w", err)
	}
	defer busClient.Close()
	source, err := kafka.NewSource(kafka.SourceConfig{
		Cluster: kafka.Cluster{Brokers: s.Brokers, ClientID: "mneme-replay"}, Group: contract.GroupReplay,
		Topics: []string{contract.TopicDeadLetters}, MaxWait: 200 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	if list {
		return c.listDeadLetters(ctx, cfg, source)
	}
	result, err := bus.Replay(ctx, cfg, source, busClient.Raw(), busClient.Instruments())
	if err != nil {
		return err
	}
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]int{
			"replayed": result.Replayed, "kept": result.Kept, "refused": result.Refused, "unreadable": result.Unreadable,
		})
	}
	fmt.Fprintf(c.Out, "replayed %d, kept %d, refused %d, unreadable %d\n", result.Replayed, result.Kept, result.Refused,
		result.Unreadable)
	return nil
}

// listedDeadLetter is a dead letter in a list, without its contents.
type listedDeadLetter struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Handler string    `json:"handler"`
	Topic   string    `json:"topic"`
	Key     string    `json:"key"`
	Field   string    `json:"field"`
	Reason  string    `json:"reason"`
}

func (c commands) listDeadLetters(ctx context.Context, cfg bus.ReplayConfig, source bus.Source) error {
	waiting, err := bus.DeadLetters(ctx, cfg, source)
	if err != nil {
		return err
	}
	listed := make([]listedDeadLetter, len(waiting))
	for i, l := range waiting {
		listed[i] = listedDeadLetter{
			ID: l.GetId(), Time: l.GetTime().AsTime(), Handler: l.GetHandler(), Topic: l.GetTopic(),
			Key: command.Printable(string(l.GetKey())), Field: l.GetField(), Reason: command.Printable(l.GetReason()),
		}
	}
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{"dead_letters": listed})
	}
	slices.SortStableFunc(listed, func(a, b listedDeadLetter) int { return a.Time.Compare(b.Time) })
	t := c.Table("dead letters", "time (UTC)", "handler", "topic", "record key", "reason")
	for _, l := range listed {
		t.AppendRow([]any{l.Time.UTC().Format(time.DateTime), l.Handler, l.Topic, l.Key, l.Reason})
	}
	t.Render()
	return nil
}

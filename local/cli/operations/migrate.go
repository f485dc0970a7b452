package operations

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// migrated is one part of a migration.
type migrated struct {
	Part string `json:"part"`
	Done bool   `json:"done"` // false if it was skipped
	Made string `json:"made,omitempty"`
	run  func(context.Context) error
}

func (c commands) migrate() *cobra.Command {
	var skip []string
	var retention, timeout time.Duration
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create or update the topics, collections and namespace of the services (for operators)",
		Long: "migrate works on the Kafka, Weaviate and Temporal that the variables of the services name\n" +
			"(MNEME_KAFKA_BROKERS, MNEME_KAFKA_RETENTION, MNEME_WEAVIATE_HTTP, MNEME_EMBEDDING, MNEME_TEMPORAL_ADDR and\n" +
			"others). You may repeat it while services run. It deletes nothing, and topics keep their partitions and\n" +
			"replicas.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return c.runMigration(ctx, skip, retention)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&skip, "skip", nil, "systems to skip: some of kafka, weaviate, temporal")
	f.DurationVar(&retention, "temporal-retention", 72*time.Hour,
		"time that Temporal keeps the histories of closed workflows, 24h or more")
	f.DurationVar(&timeout, "timeout", 2*time.Minute, "maximum duration of the command")
	return cmd
}

func (c commands) runMigration(ctx context.Context, skip []string, retention time.Duration) error {
	m, err := config.Load[wiring.Migration](config.Environ())
	if err != nil {
		return command.Usage(err)
	}
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{LogLevel: "warn", LogFormat: "text"}, c.Err)
	if err != nil {
		return err
	}
	defer func() { _ = tel.Shutdown(context.WithoutCancel(ctx)) }() // without an export
	parts := []migrated{
		{Part: "kafka", Made: "topics", run: func(ctx context.Context) error { return m.Topics(ctx, "mneme-cli") }},
		{Part: "weaviate", Made: "collections " + m.Bank.Prefix + "*", run: func(ctx context.Context) error {
			return m.Collections(ctx, tel)
		}},
		{Part: "temporal", Made: fmt.Sprintf("namespace %s, histories kept %s", m.Workflows.Namespace, retention),
			run: func(ctx context.Context) error { return m.RegisterNamespace(ctx, retention, tel) }},
	}
	for _, name := range skip {
		if !slices.ContainsFunc(parts, func(p migrated) bool { return p.Part == name }) {
			return command.Usage(fmt.Errorf("--skip is %q, want some of kafka, weaviate, temporal", name))
		}
	}
	return c.migrateParts(ctx, parts, skip)
}

func (c commands) migrateParts(ctx context.Context, parts []migrated, skip []string) error {
	for i, p := range parts {
		outcome := "skipped"
		if p.Done = !slices.Contains(skip, p.Part); p.Done {
			outcome = p.Made
			if err := p.run(ctx); fault.IsTerminal(err) {
				return command.Usage(err)
			} else if err != nil {
				return err
			}
		}
		if !p.Done {
			p.Made = ""
		}
		parts[i] = p
		if !c.JSON {
			fmt.Fprintf(c.Out, "%s: %s\n", p.Part, outcome)
		}
	}
	if c.JSON {
		return command.WriteJSON(c.Out, parts)
	}
	return nil
}

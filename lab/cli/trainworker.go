package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/lab/checkpoint"
	checkpointredis "github.com/mneme-memory/mneme/lab/checkpoint/redis"
	"github.com/mneme-memory/mneme/lab/distributed"
	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// envTemporal names the Temporal server of the processes of train worker. The environment also gives its namespace.
const envTemporal = "MNEME_TEMPORAL_ADDR"

// keepTrainings is the lifetime of a training's result that no caller fetches.
const keepTrainings = 7 * 24 * time.Hour

// trainingServers are the shared servers of many training processes.
type trainingServers struct {
	temporal string
	redis    []string
}

func (s *trainingServers) flags(f *pflag.FlagSet, temporal string) {
	f.StringVar(&s.temporal, "temporal", "", "Temporal, host:port, "+temporal)
	command.RedisFlag(f, &s.redis)
}

func (c *cli) trainWorker() *cobra.Command {
	var s trainingServers
	parallel := 0
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Make parts of the trainings of train policy --temporal, until interrupted",
		Long: "worker makes rollouts and updates of the trainings that were started with train policy --temporal.\n" +
			"Any number of workers, on any number of machines, share them; all have to be of one build and one\n" +
			"kind of processor. What one that ends has begun, another does.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTrainWorker(cmd.Context(), s, parallel) },
	}
	f := cmd.Flags()
	s.flags(f, "(or "+envTemporal+")")
	f.IntVar(&parallel, "parallel", 0, "people whose rollouts are made at a time; 0 means one a processor")
	return cmd
}

func (c *cli) runTrainWorker(ctx context.Context, s trainingServers, parallel int) error {
	if parallel < 0 {
		return command.Usage(fmt.Errorf("--parallel is %d, want 0 or more", parallel))
	}
	return c.withTrainings(ctx, s, func(temporal client.Client, store checkpoint.Store) error {
		w := distributed.Worker(temporal, &distributed.Activities{Trainer: reinforcement.Durable{}, Store: store}, parallel)
		fmt.Fprintf(c.err, "trains for whoever asks on task queue %s, until interrupted\n", distributed.Queue)
		interrupted := make(chan any)
		defer context.AfterFunc(ctx, func() { close(interrupted) })()
		return w.Run(interrupted)
	})
}

// withTrainings opens the shared servers of many training processes.
func (c *cli) withTrainings(
	ctx context.Context, s trainingServers, run func(client.Client, checkpoint.Store) error,
) (err error) {
	environ := config.Environ()
	if s.temporal != "" {
		environ[envTemporal] = s.temporal
	}
	temporal, err := config.Load[wiring.Workflows](environ)
	if err != nil {
		return command.Usage(err)
	}
	redis, _, err := command.FindRedis(ctx, s.redis, c.dir)
	if err != nil {
		return err
	}
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{LogLevel: "warn", LogFormat: "text"}, c.err)
	if err != nil {
		return err
	}
	defer func() { _ = tel.Shutdown(context.WithoutCancel(ctx)) }() // this command exports no telemetry
	connection, err := temporal.Open(ctx, tel)
	if err != nil {
		return err
	}
	defer connection.Close()
	checkpoints, err := redis.OpenWithin(tel, time.Minute) // a checkpoint has megabytes
	if err != nil {
		return err
	}
	store, err := checkpointredis.New(checkpoints, checkpointredis.Options{TTL: keepTrainings})
	if err != nil {
		return errors.Join(err, checkpoints.Close())
	}
	return errors.Join(run(connection, store), checkpoints.Close())
}

// trained runs a training and passes its last state on. Without a Temporal address it runs in this process.
func (c *cli) trained(
	ctx context.Context, o reinforcement.Options, s trainingServers, keep func(reinforcement.State) error,
) error {
	bar := command.NewBar(c.err, o.Persons, "people")
	if s.temporal == "" {
		last, err := reinforcement.Train(ctx, o, reinforcement.Start(o), func(s reinforcement.State) error {
			return bar.Set(s.Next)
		})
		if err != nil {
			return err
		}
		return keep(last)
	}
	options, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode options: %w", err)
	}
	return c.withTrainings(ctx, s, func(temporal client.Client, store checkpoint.Store) error {
		fmt.Fprintln(c.err, "waiting for the policy: it is made by `mneme-lab train worker`")
		told := func(p distributed.Progress) { _ = bar.Set(p.People) }
		err := distributed.Starter{Client: temporal, Store: store}.Train(ctx, options, told, func(state []byte) error {
			var last reinforcement.State
			if err := json.Unmarshal(state, &last); err != nil {
				return fmt.Errorf("read the last state: %w", err)
			}
			return errors.Join(bar.Finish(), keep(last))
		})
		switch {
		case err != nil && ctx.Err() != nil:
			return errors.New("interrupted; where the training has begun, it goes on: the same command waits for it, and ends " +
				"it with --cancel")
		case fault.IsTerminal(err):
			return command.Usage(err)
		}
		return err
	})
}

func (c *cli) cancelTraining(ctx context.Context, o reinforcement.Options, s trainingServers) error {
	if s.temporal == "" {
		return command.Usage(errors.New("--cancel needs --temporal"))
	}
	options, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode options: %w", err)
	}
	return c.withTrainings(ctx, s, func(temporal client.Client, store checkpoint.Store) error {
		came, err := distributed.Starter{Client: temporal, Store: store}.Cancel(ctx, options)
		switch {
		case err != nil:
			return err
		case came == distributed.NotFound:
			return command.Usage(errors.New("--cancel: Temporal knows no training of these options"))
		case came == distributed.Over:
			fmt.Fprintln(c.err, "that training is over: what was left of it is deleted")
		default:
			fmt.Fprintln(c.err, "cancelled: it ends, and what is kept of it is deleted, as soon as a worker sees that")
		}
		return nil
	})
}

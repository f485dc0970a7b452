// Package tenants holds operators' commands for tenants, their keys and their usage.
package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/services/gateway/keys"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.tenants(), c.keys(), c.usage()}
}

func (c commands) tenants() *cobra.Command {
	var redis []string
	cmd := command.Group("tenants", "Create, change, suspend and list tenants (for operators)",
		"tenants manages the tenants in Redis, which services read if MNEME_TENANTS_DIRECTORY is true. It is\n"+
			"for the operators of Mneme. Services apply changes within seconds. Change tenants of the tenants\n"+
			"file in that file.",
		c.tenantsCreate(&redis), c.tenantsChange(&redis), c.tenantsSuspend(&redis, true), c.tenantsSuspend(&redis, false),
		c.tenantsList(&redis))
	command.RedisFlag(cmd.PersistentFlags(), &redis)
	return cmd
}

// tenantFlags are a tenant's settings as flags.
type tenantFlags struct {
	name, strategy, policy, saliency, explore string
	talkDays                                  int
}

func (w *tenantFlags) add(f *pflag.FlagSet) {
	f.StringVar(&w.name, "name", "", "name of the tenant, for people")
	f.StringVar(&w.strategy, "strategy", "", fmt.Sprintf("strategy that forms memories: %s",
		command.Names(tenant.Strategies())))
	f.StringVar(&w.policy, "policy", "", fmt.Sprintf("policy: %s, or embedded@VERSION for a trained policy",
		command.Names(tenant.Policies())))
	f.StringVar(&w.saliency, "saliency", "", fmt.Sprintf("mode of the filter: %s (default: the mode of the strategy)",
		command.Names(memory.SaliencyModes())))
	f.StringVar(&w.explore, "explore", "", "exploration in recalls: on, off, or a share from 0 to 1")
	f.IntVar(&w.talkDays, "talk-days", 0, "days that the bank keeps talk, the parts of turns that are only "+
		"searchable; 0 for ever")
}

// change returns the settings whose flags are set.
func (w *tenantFlags) change(f *pflag.FlagSet) (c keys.TenantChange, given bool) {
	strategy, policy := tenant.Strategy(w.strategy), tenant.Policy(w.policy)
	saliency, explore := memory.SaliencyMode(w.saliency), tenant.Exploration(w.explore)
	for name, take := range map[string]func(){
		"name": func() {
			c.Name = &w.name
		}, "strategy": func() { c.Strategy = &strategy }, "policy": func() { c.Policy = &policy },
		"saliency": func() { c.Saliency = &saliency }, "explore": func() { c.Explore = &explore },
		"talk-days": func() { c.TalkDays = &w.talkDays },
	} {
		if f.Changed(name) {
			take()
			given = true
		}
	}
	return c, given
}

func (c commands) tenantsCreate(redis *[]string) *cobra.Command {
	var w tenantFlags
	cmd := &cobra.Command{
		Use:   "create ID",
		Short: "Create a tenant",
		Args:  console.OneID(),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.withDirectory(cmd.Context(), *redis, func(ctx context.Context, o *operator) error {
				t, err := o.CreateTenant(ctx, tenant.Tenant{
					ID: given[0], Name: w.name, Strategy: tenant.Strategy(w.strategy), Policy: tenant.Policy(w.policy),
					Saliency: memory.SaliencyMode(w.saliency), Explore: tenant.Exploration(w.explore), TalkDays: w.talkDays,
				})
				return c.printTenant(t, err, "is created")
			})
		},
	}
	w.add(cmd.Flags())
	return cmd
}

func (c commands) tenantsChange(redis *[]string) *cobra.Command {
	var w tenantFlags
	cmd := &cobra.Command{
		Use:   "change ID",
		Short: "Change settings of a tenant",
		Args:  console.OneID(),
		RunE: func(cmd *cobra.Command, given []string) error {
			change, some := w.change(cmd.Flags())
			if !some {
				return command.Usage(errors.New("no setting to change: " + cmd.UseLine()))
			}
			return c.withDirectory(cmd.Context(), *redis, func(ctx context.Context, o *operator) error {
				t, err := o.ChangeTenant(ctx, given[0], change)
				return c.printTenant(t, err, "is changed")
			})
		},
	}
	w.add(cmd.Flags())
	return cmd
}

func (c commands) tenantsSuspend(redis *[]string, suspended bool) *cobra.Command {
	use, short, done := "suspend ID", "Refuse all calls of a tenant; accepted turns still become memories", "is suspended"
	if !suspended {
		use, short, done = "resume ID", "Accept the calls of a suspended tenant again", "is resumed"
	}
	return &cobra.Command{
		Use: use, Short: short, Args: console.OneID(),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.withDirectory(cmd.Context(), *redis, func(ctx context.Context, o *operator) error {
				t, err := o.SuspendTenant(ctx, given[0], suspended)
				return c.printTenant(t, err, done)
			})
		},
	}
}

func (c commands) tenantsList(redis *[]string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tenants of the tenants file and of Redis",
		Args:  command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withDirectory(cmd.Context(), *redis, func(ctx context.Context, o *operator) error {
				all, err := o.Tenants(ctx)
				if err != nil {
					return err
				}
				return c.printTenants(o, all)
			})
		},
	}
}

// shownTenant is a tenant in JSON.
type shownTenant struct {
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	Strategy  tenant.Strategy     `json:"strategy"`
	Policy    tenant.Policy       `json:"policy"`
	Saliency  memory.SaliencyMode `json:"saliency"`
	Explore   tenant.Exploration  `json:"explore"`
	TalkDays  int                 `json:"talk_days"`
	Suspended bool                `json:"suspended"`
}

func showTenant(t tenant.Tenant) shownTenant {
	if t.Explore == "" {
		t.Explore = tenant.ExplorationOn
	}
	return shownTenant(t)
}

// Sources of tenants.
const (
	fromFile   = "tenants file"
	fromRun    = "run time"
	fromUnused = "run time, not used: the tenants file has it"
)

// listedTenant is a tenant in a JSON list.
type listedTenant struct {
	shownTenant
	From string `json:"from"`
}

// allTenants returns all tenants, starting with the tenants of the file.
func (o *operator) allTenants(made []tenant.Tenant) []listedTenant {
	out := make([]listedTenant, 0, len(o.file)+len(made))
	for _, t := range o.file {
		out = append(out, listedTenant{showTenant(t), fromFile})
	}
	for _, t := range made {
		from := fromRun
		if slices.ContainsFunc(o.file, func(f tenant.Tenant) bool { return f.ID == t.ID }) {
			from = fromUnused
		}
		out = append(out, listedTenant{showTenant(t), from})
	}
	return out
}

// printTenant prints the result for a tenant, or returns the error.
func (c commands) printTenant(t tenant.Tenant, err error, done string) error {
	if err != nil {
		return err
	}
	if c.JSON {
		return command.WriteJSON(c.Out, showTenant(t))
	}
	fmt.Fprintf(c.Out, "tenant %s %s\n", command.Printable(t.ID), done)
	return nil
}

func (c commands) printTenants(o *operator, made []tenant.Tenant) error {
	shown := o.allTenants(made)
	if !o.filed {
		fmt.Fprintf(c.Err, "note: the list lacks the tenants of the tenants file: set %s\n", envTenantsFile)
	}
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{"tenants": shown})
	}
	t := c.Table("tenants", "id", "name", "strategy", "policy", "saliency", "explore", "source", "state")
	for _, s := range shown {
		state := "active"
		if s.Suspended {
			state = "suspended"
		}
		t.AppendRow(table.Row{
			command.Printable(s.ID), command.Printable(s.Name), command.Printable(string(s.Strategy)),
			command.Printable(string(s.Policy)), command.Printable(string(s.Saliency)),
			command.Printable(string(s.Explore)), s.From, state,
		})
	}
	t.Render()
	return nil
}

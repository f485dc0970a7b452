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

func (c commands) tenants() *cobra.Command {
	var redis []string
	cmd := command.Group("tenants", "Make, change, suspend and list tenants at run time (for operators)",
		"tenants works on the tenants that services find in Redis where MNEME_TENANTS_DIRECTORY is true: it is for whoever runs Mneme. Changes\n"+
			"are in effect everywhere within seconds. Tenants of the tenants file are changed there.",
		c.tenantsCreate(&redis), c.tenantsChange(&redis), c.tenantsSuspend(&redis, true), c.tenantsSuspend(&redis, false), c.tenantsList(&redis))
	command.RedisFlag(cmd.PersistentFlags(), &redis)
	return cmd
}

// tenantFlags are a tenant's settings as flags.
type tenantFlags struct{ name, strategy, policy, saliency, explore string }

func (w *tenantFlags) add(f *pflag.FlagSet) {
	f.StringVar(&w.name, "name", "", "what people call the tenant")
	f.StringVar(&w.strategy, "strategy", "", fmt.Sprintf("how its memories are formed: %s", command.Names(tenant.Strategies())))
	f.StringVar(&w.policy, "policy", "", fmt.Sprintf("what decides: %s, or embedded@VERSION of a trained policy", command.Names(tenant.Policies())))
	f.StringVar(&w.saliency, "saliency", "", fmt.Sprintf("what the filter does: %s; empty for the strategy's", command.Names(memory.SaliencyModes())))
	f.StringVar(&w.explore, "explore", "", "how often recall explores: on, off, or a share from 0 to 1")
}

// change returns the settings whose flags are set.
func (w *tenantFlags) change(f *pflag.FlagSet) (c keys.TenantChange, given bool) {
	strategy, policy := tenant.Strategy(w.strategy), tenant.Policy(w.policy)
	saliency, explore := memory.SaliencyMode(w.saliency), tenant.Exploration(w.explore)
	for name, take := range map[string]func(){
		"name": func() { c.Name = &w.name }, "strategy": func() { c.Strategy = &strategy }, "policy": func() { c.Policy = &policy },
		"saliency": func() { c.Saliency = &saliency }, "explore": func() { c.Explore = &explore },
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
		Short: "Make a tenant",
		Args:  console.OneID(),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.withDirectory(cmd.Context(), *redis, func(ctx context.Context, o *operator) error {
				t, err := o.CreateTenant(ctx, tenant.Tenant{
					ID: given[0], Name: w.name, Strategy: tenant.Strategy(w.strategy), Policy: tenant.Policy(w.policy),
					Saliency: memory.SaliencyMode(w.saliency), Explore: tenant.Exploration(w.explore),
				})
				return c.printTenant(t, err, "is made")
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
		Short: "Change a tenant: what is not named stays",
		Args:  console.OneID(),
		RunE: func(cmd *cobra.Command, given []string) error {
			change, some := w.change(cmd.Flags())
			if !some {
				return command.Usage(errors.New("nothing to change is named: " + cmd.UseLine()))
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
	use, short, done := "suspend ID", "Refuse all calls of a tenant; what was accepted is still formed", "is suspended"
	if !suspended {
		use, short, done = "resume ID", "Take the calls of a suspended tenant again", "is taken again"
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
		Short: "List the tenants, of the tenants file and made at run time",
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
		fmt.Fprintf(c.Err, "note: tenants of the tenants file are not shown: it is not known here (%s)\n", envTenantsFile)
	}
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{"tenants": shown})
	}
	t := c.Table("id", "name", "strategy", "policy", "saliency", "explore", "source", "state")
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

package tenants

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/directory"
)

func (c commands) keys() *cobra.Command {
	var redis []string
	cmd := command.Group("keys", "Create, list and revoke API keys (for operators)",
		"keys manages the API keys in Redis, for any tenant. It is for the operators of Mneme. Change keys of\n"+
			"the tenants file in that file. A tenant manages its own keys through the API of the gateway.",
		c.keysCreate(&redis), c.keysList(&redis), c.keysRevoke(&redis))
	command.RedisFlag(cmd.PersistentFlags(), &redis)
	return cmd
}

// wantedKey is a key as the flags describe it.
type wantedKey struct {
	user, name, expiresAt string
	scopes                []string
	expiresIn             time.Duration
}

// expiry returns the key's expiry time; zero means never.
func (w wantedKey) expiry(now time.Time) (time.Time, error) {
	switch {
	case w.expiresIn < 0:
		return time.Time{}, command.Usage(fmt.Errorf("--expires-in is %s, want more than 0s", w.expiresIn))
	case w.expiresIn > 0 && w.expiresAt != "":
		return time.Time{}, command.Usage(errors.New("give --expires-in or --expires-at, not both"))
	case w.expiresIn > 0:
		return now.Add(w.expiresIn), nil
	case w.expiresAt == "":
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, w.expiresAt)
	if err != nil {
		return time.Time{}, command.Usage(fmt.Errorf("--expires-at is %q, want a time such as 2031-01-02T15:04:05Z",
			w.expiresAt))
	}
	return at, nil
}

func (c commands) keysCreate(redis *[]string) *cobra.Command {
	var w wantedKey
	cmd := &cobra.Command{
		Use:   "create --tenant TENANT",
		Short: "Create a key and print it once",
		Long: "create prints the key on standard output, and its properties on standard error. Mneme stores only a\n" +
			"hash of the key. Without --scopes the key has all scopes except admin, and with --user all except\n" +
			"admin and erase.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("user") && w.user == "" { // for example, from an unset variable in a script
				return command.Usage(errors.New("--user is empty, want a user; without --user the key is valid for all users " +
					"of the tenant"))
			}
			expires, err := w.expiry(time.Now())
			if err != nil {
				return err
			}
			return c.withDirectory(cmd.Context(), *redis, func(ctx context.Context, o *operator) error {
				k := access.Key{User: w.user, Name: w.name, ExpiresAt: expires}
				for _, s := range w.scopes {
					k.Scopes = append(k.Scopes, access.Scope(s))
				}
				return c.createKey(ctx, o, k)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&w.user, "user", "", "the only user whom the key may access (default: all users of the tenant)")
	f.StringVar(&w.name, "name", "", "name of the key, for people")
	f.StringSliceVar(&w.scopes, "scopes", nil, "scopes of the key: some of ingest, recall, read, erase, admin")
	f.DurationVar(&w.expiresIn, "expires-in", 0, "lifetime of the key, such as 720h (default: no expiry)")
	f.StringVar(&w.expiresAt, "expires-at", "", "time of expiry, such as 2031-01-02T15:04:05Z")
	return cmd
}

func (c commands) createKey(ctx context.Context, o *operator, k access.Key) error {
	tenantID, err := c.tenantID(o)
	if err != nil {
		return err
	}
	k.Tenant = tenantID
	k, text, err := o.CreateKey(ctx, k)
	if err != nil {
		return err
	}
	if !o.filed {
		if _, err := o.Directory.Tenant(ctx, tenantID); errors.Is(err, directory.ErrNotFound) {
			fmt.Fprintf(c.Err, "note: Redis has no tenant %s, and %s names no tenants file here: the gateway refuses the key "+
				"unless the tenants file has the tenant\n", command.Printable(tenantID), envTenantsFile)
		}
	}
	if c.JSON {
		shown := showKey(k)
		shown.Key = text
		return command.WriteJSON(c.Out, shown)
	}
	fmt.Fprintf(c.Err, "key %s of tenant %s with the scopes %s; it is not shown again:\n", k.ID, k.Tenant,
		scopeNames(k.Scopes))
	fmt.Fprintln(c.Out, text)
	return nil
}

func (c commands) keysList(redis *[]string) *cobra.Command {
	return &cobra.Command{
		Use:   "list --tenant TENANT",
		Short: "List a tenant's keys, the oldest first",
		Args:  command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withDirectory(cmd.Context(), *redis, func(ctx context.Context, o *operator) error {
				tenantID, err := c.tenantID(o)
				if err != nil {
					return err
				}
				all, err := o.Keys(ctx, tenantID)
				if err != nil {
					return err
				}
				return c.printKeys(tenantID, all)
			})
		},
	}
}

func (c commands) keysRevoke(redis *[]string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke --tenant TENANT ID",
		Short: fmt.Sprintf("Revoke a key for good: it is refused everywhere within %.0f seconds",
			access.RevokedWithin.Seconds()),
		Args: console.OneID(),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.withDirectory(cmd.Context(), *redis, func(ctx context.Context, o *operator) error {
				tenantID, err := c.tenantID(o)
				if err != nil {
					return err
				}
				if err := o.RevokeKey(ctx, tenantID, given[0]); err != nil {
					return err
				}
				if c.JSON {
					return command.WriteJSON(c.Out, map[string]string{"tenant": tenantID, "revoked": given[0]})
				}
				fmt.Fprintf(c.Out, "key %s of tenant %s is revoked\n", command.Printable(given[0]), tenantID)
				return nil
			})
		},
	}
}

// shownKey is a key in JSON.
type shownKey struct {
	ID         string         `json:"id"`
	Key        string         `json:"key,omitempty"` // only when the key is made
	Tenant     string         `json:"tenant"`
	User       string         `json:"user,omitempty"`
	Name       string         `json:"name,omitempty"`
	Scopes     []access.Scope `json:"scopes"`
	CreatedAt  time.Time      `json:"created_at"`
	ExpiresAt  time.Time      `json:"expires_at,omitzero"`
	LastUsedAt time.Time      `json:"last_used_at,omitzero"`
}

func showKey(k access.Key) shownKey {
	return shownKey{
		ID: k.ID, Tenant: k.Tenant, User: k.User, Name: k.Name, Scopes: k.Scopes,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt,
	}
}

func (c commands) printKeys(tenantID string, all []access.Key) error {
	if c.JSON {
		shown := make([]shownKey, len(all))
		for i, k := range all {
			shown[i] = showKey(k)
		}
		return command.WriteJSON(c.Out, map[string]any{"tenant": tenantID, "keys": shown})
	}
	t := c.Table("keys", "id", "name", "user", "scopes", "created", "expires", "last used")
	for _, k := range all {
		expires := localTime(k.ExpiresAt, "never")
		if k.Expired(time.Now()) {
			expires += " (over)"
		}
		t.AppendRow(table.Row{
			command.Printable(k.ID), command.Printable(k.Name), command.Printable(k.User), scopeNames(k.Scopes),
			localTime(k.CreatedAt, ""), expires, localTime(k.LastUsedAt, "never"),
		})
	}
	t.Render()
	return nil
}

// localTime formats a time for people. A zero time is none.
func localTime(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func scopeNames(scopes []access.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = command.Printable(string(s))
	}
	return strings.Join(names, ", ")
}

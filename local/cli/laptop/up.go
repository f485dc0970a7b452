package laptop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func (c commands) up() *cobra.Command {
	var strategy, policy, listen, model string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run all of Mneme on this machine until interrupted",
		Long: "up starts Weaviate, Temporal, a Kafka broker, Redis and the services on loopback, with the data folder\n" +
			"given by --data, and prints where everything listens. The first time it builds the servers. It starts a\n" +
			"server that dies again, and ends when that does not help. The folder remembers the ports and the API key.\n" +
			"Settings of the services (docs/configuration.md) are taken from the environment. --model NAME lets a model form\n" +
			"memories: of a server on this machine (Ollama, llama.cpp), or of OPENAI_BASE_URL and OPENAI_API_KEY. Without a\n" +
			"model, up asks these servers on loopback for a list of models, and prints the command that uses one.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.CheckFormation(strategy, policy); err != nil {
				return err
			}
			for flag, value := range map[string]*string{"strategy": &strategy, "policy": &policy} {
				if !cmd.Flags().Changed(flag) {
					*value = "" // any value in the folder is accepted
				}
			}
			port, err := c.listenPort(listen, cmd.Flags().Changed("listen"))
			if err != nil {
				return err
			}
			o := standalone.Options{
				Dir: c.Dir, Progress: c.Err, Strategy: strategy, Policy: policy, Environ: laptopSettings(), GatewayPort: port,
			}
			if cmd.Flags().Changed("model") {
				if err := useModel(cmd.Context(), &o, model); err != nil {
					return err
				}
			}
			return c.runUp(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", defaultListen,
		"loopback address of the gateway; port 0 takes any free one. A data folder keeps its port until the flag "+
			"names another")
	cmd.Flags().StringVar(&model, "model", "",
		"model that forms memories, as NAME or NAME@URL of an OpenAI-compatible endpoint. The local tenant then "+
			"has policy llm")
	cmd.Flags().StringVar(&policy, "policy", "embedded",
		"policy of the local tenant of a new data folder: embedded, embedded@VERSION of a trained one, or llm (needs "+
			"MNEME_LLM_MODEL)")
	cmd.Flags().StringVar(&strategy, "strategy", string(tenant.Strategies()[0]),
		"how memory is formed for the local tenant of a new data folder: "+strings.Join(command.StrategyNames(), ", "))
	return cmd
}

// defaultListen is the gateway's address in a new data folder.
const defaultListen = "127.0.0.1:8400"

// listenPort returns the port that up asks for: 0 for the one that the folder remembers, or for any free one.
func (c commands) listenPort(listen string, given bool) (int, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return 0, command.Usage(fmt.Errorf("--listen is %q, want host:port", listen))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0, command.Usage(fmt.Errorf("--listen is %q, want a loopback address such as %s", listen, defaultListen))
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0, command.Usage(fmt.Errorf("--listen is %q, want a port from 0 to 65535", listen))
	}
	if !given && standalone.Remembers(c.Dir) {
		return 0, nil
	}
	return int(n), nil
}

// useModel sets the options for the value of --model.
func useModel(ctx context.Context, o *standalone.Options, model string) error {
	if o.Policy != "" && o.Policy != string(tenant.PolicyLLM) {
		return command.Usage(fmt.Errorf("--model needs policy llm, and --policy is %s", o.Policy))
	}
	settings, err := modelSettings(ctx, model, os.Getenv, modelServers)
	if err != nil {
		return err
	}
	maps.Copy(o.Environ, settings)
	o.Policy, o.ChangePolicy = string(tenant.PolicyLLM), true
	return nil
}

func (c commands) runUp(ctx context.Context, o standalone.Options) (err error) {
	stack, err := standalone.Start(ctx, o)
	if errors.Is(err, standalone.ErrNoModel) {
		err = fmt.Errorf("%w%s", err, c.modelHint(ctx, ". "))
	}
	if errors.Is(err, standalone.ErrOtherTenant) || errors.Is(err, standalone.ErrNoModel) ||
		errors.Is(err, wiring.ErrNoPolicy) {
		return command.Usage(err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop(context.WithoutCancel(ctx))) }()
	if c.JSON {
		shown := stack.Connection
		shown.APIKey = "" // the key is in the data folder, file api-key
		if err := command.WriteJSON(c.Out, shown); err != nil {
			return err
		}
	} else {
		c.printUp(stack)
		if hint := c.modelHint(ctx, "\n"); hint != "" && o.Environ[settingModel] == "" {
			fmt.Fprintln(c.Out, hint)
		}
		fmt.Fprintln(c.Out, "\nInterrupt (Ctrl-C) stops everything; the data folder stays.")
	}
	c.warnOfModel(stack.Connection.Model, modelState(ctx, stack.Connection.Model))
	return stack.Wait(ctx)
}

// modelHint names the command that uses a model of this machine or of the environment, after a prefix. It is empty if
// there is none.
func (c commands) modelHint(ctx context.Context, prefix string) string {
	found := endpoints(ctx, os.Getenv, modelServers)
	if len(found) == 0 {
		return ""
	}
	return prefix + found[len(found)-1].hint("bin/mneme"+dataFlag(c.Dir)+" up")
}

func (c commands) printUp(stack *standalone.Stack) {
	fmt.Fprintln(c.Out, "\nMneme is up:")
	for _, a := range stack.Addresses() {
		fmt.Fprintf(c.Out, "  %-32s %s\n", a[0], a[1])
	}
	fmt.Fprintf(c.Out, "  %-32s %s\n", "API key", stack.Connection.APIKey)
	fmt.Fprint(c.Out, "\nFrom a program:\n", ways(stack.Connection.Gateway, stack.Connection.APIKey))
	fmt.Fprintln(c.Out, "\nIn another terminal:")
	for _, line := range []string{
		"ingest local/cli/sample/sessions.jsonl", `recall --user ines --query "Where does Ines live now?"`,
		"memories --user ines",
	} {
		fmt.Fprintf(c.Out, "  bin/mneme%s %s\n", dataFlag(c.Dir), line)
	}
}

// ways returns lines to paste: over HTTP, with mem0's Python package, and for an MCP client.
func ways(gateway, key string) string {
	return fmt.Sprintf(`  curl %[1]s/v1/tenants/self/users/ines/recall -H 'Authorization: Bearer %[2]s' \
       -H 'Content-Type: application/json' -d '{"query":"Where does Ines live now?"}'
  from mem0 import MemoryClient; m = MemoryClient(api_key="%[2]s", host="%[1]s"); m.add("I live in Porto.", user_id="ines")
  {"mcpServers":{"mneme":{"type":"http","url":"%[1]s/mcp","headers":{"Authorization":"Bearer %[2]s"}}}}
`, gateway, key)
}

func dataFlag(dir string) string {
	if dir == command.DefaultDir {
		return ""
	}
	return " --data " + dir
}

// settingExploreLast is the share of recalls whose last place explores.
const settingExploreLast = "MNEME_RERANKER_EXPLORE_LAST"

// laptopSettings returns the services' settings for one user's Mneme. It does not explore by default: exploration costs
// the last place of a recall, and the ranking learns only from citations that a client reports.
func laptopSettings() map[string]string {
	out := ServiceSettings()
	if out[settingExploreLast] == "" {
		out[settingExploreLast] = "0"
	}
	return out
}

// ServiceSettings returns the services' settings in this process's environment, for the stack. It excludes addresses,
// which the stack sets.
func ServiceSettings() map[string]string {
	out := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		for _, prefix := range []string{"MNEME_LLM_", "MNEME_EMBEDDING", "MNEME_WINDOW_WORDS", "MNEME_WINDOW_AGE",
			"MNEME_WINDOW_IDLE", "MNEME_CONSOLIDATION_", "MNEME_GATEWAY_", "MNEME_WEBHOOK_", "MNEME_DECISION_",
			"MNEME_FILTER_", "MNEME_HTTP_BODY_", "MNEME_HTTP_HEADER_", "MNEME_HTTP_MAX_", "MNEME_RECALL_", "MNEME_LOG_",
			"MNEME_TELEMETRY_", "MNEME_BUS_", "MNEME_BOOSTER_", "MNEME_RERANKER_"} {
			if strings.HasPrefix(name, prefix) && name != "MNEME_RERANKER_URL" {
				out[name] = value
			}
		}
	}
	return out
}

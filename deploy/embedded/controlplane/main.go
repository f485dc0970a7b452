// Command controlplane is Kubernetes without a container engine. It contains the store, the API server, the
// controllers, the scheduler, simulated nodes that report pods as running, and kubectl. The first argument names the
// program; the others are the program's arguments. One binary holds all programs, because they share most of their
// code. It is a separate module, so that no other module has Kubernetes' dependencies.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	node "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	lease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	pod "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "name a program: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, "+
			"kwok or kubectl")
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	var program *cobra.Command
	switch os.Args[0] {
	case "etcd":
		etcdmain.Main(os.Args)
		return
	case "kube-apiserver":
		program = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		program = controllers.NewControllerManagerCommand()
	case "kube-scheduler":
		program = scheduler.NewSchedulerCommand()
	case "kubectl":
		program = kubectl.NewDefaultKubectlCommand()
	case "kwok":
		if err := nodes(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	default:
		fmt.Fprintf(os.Stderr, "there is no program %q\n", os.Args[0])
		os.Exit(2)
	}
	os.Exit(cli.Run(program))
}

// stages returns kwok's stages of nodes and pods with two changes. A pod takes a second until it is ready, because
// disruption budgets have no effect otherwise. Every pod without a restart completes, not only a Job's pod.
func stages() string {
	return strings.Join([]string{
		node.DefaultNodeInit, lease.DefaultNodeHeartbeatWithLease, pod.DefaultPodDelete,
		strings.Replace(pod.DefaultPodReady, "spec:", "spec:\n  delay: {durationMilliseconds: 1000}", 1),
		strings.NewReplacer("'.metadata.ownerReferences.[].kind'", "'.spec.restartPolicy'", "'Job'",
			"'Never'\n      - 'OnFailure'").
			Replace(pod.DefaultPodComplete),
	}, "\n---\n")
}

// nodes runs kwok with the stages on its standard input.
func nodes() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	go func() {
		defer write.Close()
		_, _ = write.WriteString(stages())
	}()
	os.Stdin = read
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError) // without the flags that Kubernetes has added
	os.Args = append(os.Args, "--config=-")
	flags := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	if ctx, err = config.InitFlags(ctx, flags); err != nil {
		return err
	}
	program := kwok.NewCommand(ctx)
	program.PersistentFlags().AddFlagSet(flags)
	return program.ExecuteContext(ctx)
}

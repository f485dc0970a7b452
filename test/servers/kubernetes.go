package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
)

// Programs of a control plane; their files in the directory have the same names.
const (
	nameEtcd        = "etcd"
	nameAPIServer   = "kube-apiserver"
	nameControllers = "kube-controller-manager"
	nameScheduler   = "kube-scheduler"
	nameKwok        = "kwok"
)

const (
	roleHTTP = "http"
	rolePeer = "peer"
	// roleMaster is the group of users with all rights.
	roleMaster = "system:masters"
)

// Kubernetes is a control plane with simulated nodes, which report pods as running. API server, controllers and
// scheduler are real, with certificates and RBAC. It cannot be restarted.
type Kubernetes struct {
	parts  []*process.Server
	config string
}

// Kubeconfig is the path of a file that gives kubectl and Helm all rights.
func (k *Kubernetes) Kubeconfig() string { return k.config }

// Stop ends all parts, each before the parts that it depends on.
func (k *Kubernetes) Stop(ctx context.Context) (err error) {
	for i := len(k.parts) - 1; i >= 0; i-- {
		err = errors.Join(err, k.parts[i].Stop(ctx))
	}
	return err
}

// Err is the first unexpected end of a part, as in the other servers.
func (k *Kubernetes) Err() error {
	for _, part := range k.parts {
		if err := part.Err(); err != nil {
			return err
		}
	}
	return nil
}

// StartKubernetes starts a control plane on a new directory and returns when all parts answer. There are no nodes
// yet; callers create objects of kind Node. The very first call builds the control plane, which takes many minutes.
func StartKubernetes(ctx context.Context, o process.Options) (_ *Kubernetes, err error) {
	if o, err = o.Prepare(); err != nil {
		return nil, err
	}
	if o.Binary != "" {
		return nil, errors.New("clusters run the cached build: Options.Binary must be empty")
	}
	binary, err := servers.Binary(ctx, o.Log, servers.NameControlPlane)
	if err != nil {
		return nil, err
	}
	keys, err := newAuthority(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("certificates of Kubernetes: %w", err)
	}
	k := &Kubernetes{}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Stop(context.WithoutCancel(ctx)))
		}
	}()
	start := func(name, health string, args func(process.Ports) []string, roles ...string) error {
		part, err := process.StartChild(ctx, name, o, process.Spec{
			Roles: roles,
			Command: func(p process.Ports) process.Command {
				return process.Command{Path: binary, Args: append([]string{name}, args(p)...), Dir: o.Dir}
			},
			Ready: func(ctx context.Context, p process.Ports) error {
				return process.GetOK(ctx, fmt.Sprintf(health, p.Addr(roleHTTP)), keys.trust)
			},
		})
		if err == nil {
			k.parts = append(k.parts, part)
		}
		return err
	}
	data := filepath.Join(o.Dir, nameEtcd)
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, fmt.Errorf("a control plane needs a new directory: %w", err)
	}
	if err := start(nameEtcd, "https://%s/health", func(p process.Ports) []string {
		return keys.etcd(p, data)
	}, roleHTTP, rolePeer); err != nil {
		return nil, err
	}
	if err := start(nameAPIServer, "https://%s/readyz", func(p process.Ports) []string {
		return append(keys.apiServer(p, k.parts[0].AddrOf(roleHTTP)), keys.serving()...)
	}, roleHTTP); err != nil {
		return nil, err
	}
	api := "https://" + k.parts[1].AddrOf(roleHTTP)
	if k.config, err = keys.kubeconfig(api, "admin", roleMaster); err != nil {
		return nil, err
	}
	for name, more := range map[string][]string{
		nameControllers: {
			"--use-service-account-credentials", "--service-account-private-key-file", keys.key, "--root-ca-file", keys.ca,
			"--horizontal-pod-autoscaler-sync-period=2s",
		},
		nameScheduler: nil,
	} {
		config, err := keys.kubeconfig(api, "system:"+name, "")
		if err != nil {
			return nil, err
		}
		if err := start(name, "https://%s/healthz", func(p process.Ports) []string {
			return append(append([]string{
				"--secure-port", p.Text(roleHTTP), "--leader-elect=false",
				"--kubeconfig", config, "--authentication-kubeconfig", config, "--authorization-kubeconfig", config,
			}, more...), keys.serving()...)
		}, roleHTTP); err != nil {
			return nil, err
		}
	}
	config, err := keys.kubeconfig(api, nameKwok, roleMaster)
	if err != nil {
		return nil, err
	}
	return k, start(nameKwok, "http://%s/healthz", func(p process.Ports) []string {
		flags := []string{"--manage-all-nodes", "--node-lease-duration-seconds=40", "--server-address", p.Addr(roleHTTP)}
		return append(flags, "--kubeconfig", config)
	}, roleHTTP)
}

// etcd returns etcd's arguments.
func (a *authority) etcd(p process.Ports, data string) []string {
	peer := "http://" + p.Addr(rolePeer)
	return []string{
		"--data-dir", data, "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=https://" + p.Addr(roleHTTP), "--advertise-client-urls=https://" + p.Addr(roleHTTP),
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--client-cert-auth", "--trusted-ca-file", a.ca, "--cert-file", a.cert, "--key-file", a.key,
	}
}

// serving returns the arguments with which the parts of Kubernetes serve on loopback.
func (a *authority) serving() []string {
	return []string{"--bind-address=" + process.Loopback, "--tls-cert-file", a.cert, "--tls-private-key-file", a.key}
}

// apiServer returns the API server's arguments, without the serving arguments that all parts share.
func (a *authority) apiServer(p process.Ports, etcd string) []string {
	return []string{
		"--secure-port", p.Text(roleHTTP), "--advertise-address=" + process.Loopback, "--endpoint-reconciler-type=none",
		"--etcd-servers=https://" + etcd,
		"--etcd-cafile", a.ca, "--etcd-certfile", a.cert, "--etcd-keyfile", a.key,
		"--client-ca-file", a.ca, "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file", a.key, "--service-account-signing-key-file", a.key,
	}
}

package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/mneme-memory/mneme/local/process"
)

const (
	namePostgres = "postgres"
	rolePostgres = "postgres"
)

// Postgres is a running PostgreSQL. Its user "postgres" needs no password.
type Postgres struct{ *process.Server }

// Addr is the host:port of the server.
func (p *Postgres) Addr() string { return p.AddrOf(rolePostgres) }

// StartPostgres starts PostgreSQL on the directory. PostgreSQL refuses to run as root, so a root caller runs it as
// the system's user "postgres". If it is not installed, the error is [process.ErrMissingTool].
func StartPostgres(ctx context.Context, o process.Options) (*Postgres, error) {
	o, err := o.Prepare()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(o.Dir, namePostgres)
	s, err := process.StartChild(ctx, namePostgres, o, process.Spec{
		Roles: []string{rolePostgres},
		Prepare: func(ctx context.Context, _ process.Ports) error {
			if exists(filepath.Join(data, "PG_VERSION")) {
				return nil
			}
			if err := ownedByPostgres(data); err != nil {
				return fmt.Errorf("prepare postgres: %w", err)
			}
			return runTool(ctx, "initdb", "-D", data, "-U", namePostgres, "--auth=trust", "-E", "UTF8", "--locale=C")
		},
		Command: func(p process.Ports) process.Command {
			tool, args, _ := postgresTool("postgres", "-D", data, "-p", p.Text(rolePostgres),
				"-c", "listen_addresses="+process.Loopback, "-c", "unix_socket_directories=", "-c", "max_connections=200")
			return process.Command{Path: tool, Args: args, Dir: data}
		},
		Ready: func(ctx context.Context, p process.Ports) error {
			return runTool(ctx, "pg_isready", "-h", process.Loopback, "-p", p.Text(rolePostgres))
		},
	})
	if err != nil {
		return nil, err
	}
	return &Postgres{s}, nil
}

// Run runs one of PostgreSQL's programs, such as pg_dump, on the server, and returns its output.
func (p *Postgres) Run(ctx context.Context, program string, args ...string) ([]byte, error) {
	tool, args, err := postgresTool(program, args...)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	host, port, err := net.SplitHostPort(p.Addr())
	if err != nil {
		return nil, err
	}
	cmd.Env = append(process.Environ(), "PGHOST="+host, "PGPORT="+port, "PGUSER="+namePostgres)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s: %w\n%s", program, err, process.LastLines(exit.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return out, nil
}

// postgresTool returns the path and the arguments of one of PostgreSQL's programs. Debian keeps the server's programs
// out of PATH.
func postgresTool(program string, args ...string) (string, []string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
		if len(found) == 0 {
			return "", nil, fmt.Errorf("%w: %s is not in PATH: install PostgreSQL 12 or later (Debian: postgresql)",
				process.ErrMissingTool, program)
		}
		slices.Sort(found)
		path = found[len(found)-1]
	}
	if os.Geteuid() != 0 {
		return path, args, nil
	}
	as := []string{"--reuid=" + namePostgres, "--regid=" + namePostgres, "--init-groups", "--pdeathsig=keep", path}
	return "setpriv", append(as, args...), nil
}

func runTool(ctx context.Context, program string, args ...string) error {
	tool, args, err := postgresTool(program, args...)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, process.LastLines(out))
	}
	return nil
}

// ownedByPostgres creates a folder that the server may write.
func ownedByPostgres(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return exec.Command("chown", namePostgres+":"+namePostgres, dir).Run()
}

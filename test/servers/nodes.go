package servers

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/local/process"
)

// node is one server of a cluster.
type node struct {
	process.Options
	ports process.Ports
}

// placeNodes creates the nodes' folders, node1 and so on. It chooses all ports before the first start, because each
// node's settings name the others. The ports of a node are consecutive, in the order of the roles.
func placeNodes(o process.Options, name string, count int, roles ...string) ([]node, error) {
	o, err := o.Prepare()
	if err != nil {
		return nil, err
	}
	nodes, taken := make([]node, count), process.Ports{}
	for i := range nodes {
		n := node{Options: o}
		n.Dir = filepath.Join(o.Dir, fmt.Sprintf("node%d", i+1))
		if n.Options, err = n.Prepare(); err != nil {
			return nil, err
		}
		file := n.PortsFile(name)
		if n.ports, err = process.ReadPorts(file); err != nil {
			return nil, err
		}
		if len(n.ports) == 0 {
			if n.ports, err = adjoining(taken, roles); err != nil {
				return nil, err
			}
		}
		for role, port := range n.ports {
			taken[fmt.Sprint(role, i)] = port
		}
		if err := process.WritePorts(file, n.ports); err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	return nodes, nil
}

// adjoining finds consecutive free ports.
func adjoining(taken process.Ports, roles []string) (process.Ports, error) {
	first, err := process.FreePorts(taken, len(roles))
	if err != nil {
		return nil, fmt.Errorf("no %d adjacent free ports: %w", len(roles), err)
	}
	found := process.Ports{}
	for i, role := range roles {
		found[role] = first + i
	}
	return found, nil
}

// each calls a function for all values at the same time.
func each[T any](all []T, do func(int, T) error) error {
	var g errgroup.Group
	for i, one := range all {
		g.Go(func() error { return do(i, one) })
	}
	return g.Wait()
}

// startNodes starts all nodes at the same time. After an error no node runs.
func startNodes[T interface{ Kill() error }](nodes []node, start func(int, node) (T, error)) ([]T, error) {
	started := make([]T, len(nodes))
	runs := make([]bool, len(nodes))
	err := each(nodes, func(i int, n node) (err error) {
		started[i], err = start(i, n)
		runs[i] = err == nil
		return err
	})
	if err == nil {
		return started, nil
	}
	for i, s := range started {
		if runs[i] {
			_ = s.Kill()
		}
	}
	return nil, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

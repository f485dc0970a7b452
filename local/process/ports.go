package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Loopback is the address on which all servers listen.
const Loopback = "127.0.0.1"

// Ports are below the range of outgoing connections' local ports (from 32768 on Linux, from 49152 elsewhere). So no
// client takes the port of a stopped server.
const (
	firstPort = 15000
	lastPort  = 32000
)

// portTries limits the search for a free port. It only matters if the range is nearly full.
const portTries = 2000

// A port in use is tried again every portPause, for portPatience.
const (
	portPause    = 100 * time.Millisecond
	portPatience = 5 * time.Second
)

// Ports maps a role ("http", "raft") to a port number.
type Ports map[string]int

// Addr is the host:port of a role on loopback.
func (p Ports) Addr(role string) string { return net.JoinHostPort(Loopback, p.Text(role)) }

// Text is the port number of a role in decimal.
func (p Ports) Text(role string) string { return strconv.Itoa(p[role]) }

// claimPorts returns the ports in the file. Without a file it chooses free ports for all roles and writes the file.
// If another process still uses a stored port after a while, that is an error. Cluster state in the data directory
// names the port.
func claimPorts(file string, roles ...string) (Ports, error) {
	known, err := ReadPorts(file)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, role := range roles {
		if port, ok := known[role]; ok {
			if !freeSoon(port) {
				return nil, fmt.Errorf("port %d (%s) is used by another process; stop it, or delete %s to choose new ports",
					port, role, file)
			}
			continue
		}
		if known[role], err = FreePorts(known, 1); err != nil {
			return nil, err
		}
		changed = true
	}
	if !changed {
		return known, nil
	}
	return known, WritePorts(file, known)
}

// ClaimPort returns a loopback address for a role, and the file remembers its port. The port is the one that is asked
// for, or else the one that the file remembers, or else a free one. A port that another process uses is an error.
func ClaimPort(file, role string, asked int) (string, error) {
	known, err := ReadPorts(file)
	if err != nil {
		return "", err
	}
	if asked != 0 && known[role] != asked {
		if !freeSoon(asked) {
			return "", fmt.Errorf("port %d (%s) is used by another process", asked, role)
		}
		known[role] = asked
		if err := WritePorts(file, known); err != nil {
			return "", err
		}
	}
	if known, err = claimPorts(file, role); err != nil {
		return "", err
	}
	return known.Addr(role), nil
}

// ReadPorts returns the ports in a file. A missing file has none. A file in another format is an error.
func ReadPorts(file string) (Ports, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Ports{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read remembered ports: %w", err)
	}
	known := Ports{}
	if err := json.Unmarshal(raw, &known); err != nil {
		return nil, fmt.Errorf("read remembered ports from %s: %w", filepath.Base(file), err)
	}
	return known, nil
}

// WritePorts writes the ports to a file. A crash leaves either the old or the new ones.
func WritePorts(file string, p Ports) error {
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("remember ports: %w", err)
	}
	if err := replaceFile(file, append(raw, '\n')); err != nil {
		return fmt.Errorf("remember ports: %w", err)
	}
	return nil
}

// replaceFile writes a file atomically: a reader or a crash sees either the old or the new content.
func replaceFile(file string, content []byte) error {
	unfinished := file + ".new"
	if err := os.WriteFile(unfinished, content, 0o644); err != nil {
		return err
	}
	return os.Rename(unfinished, file)
}

// FreePorts returns the first of some consecutive ports that are free now and that no role has taken. After many
// tries without success it returns an error.
func FreePorts(taken Ports, count int) (first int, err error) {
	for range portTries {
		first = firstPort + rand.IntN(lastPort-firstPort)
		usable := true
		for port := first; usable && port < first+count; port++ {
			usable = !holds(taken, port) && free(port)
		}
		if usable {
			return first, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d", firstPort, lastPort)
}

func holds(p Ports, port int) bool {
	for _, known := range p {
		if known == port {
			return true
		}
	}
	return false
}

// freeSoon reports whether a port is free, or becomes free within a short time. Its last user may be about to end.
func freeSoon(port int) bool {
	for deadline := time.Now().Add(portPatience); !free(port); time.Sleep(portPause) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// free reports whether a port can be bound on loopback and on all interfaces, for TCP and UDP. Weaviate's gossip uses
// UDP.
func free(port int) bool {
	text := strconv.Itoa(port)
	for _, host := range []string{Loopback, ""} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, text))
		if err != nil {
			return false
		}
		l.Close()
	}
	u, err := net.ListenPacket("udp", net.JoinHostPort(Loopback, text))
	if err != nil {
		return false
	}
	u.Close()
	return true
}

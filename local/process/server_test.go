package process

import (
	"context"
	"net"
	"testing"
)

const roleKafka = "kafka"

type nothing struct{}

func (nothing) Stop(context.Context) error { return nil }
func (nothing) Kill() error                { return nil }

// If another process takes a new port before the server listens, the server chooses another one. It keeps a port that
// clients know.
func TestOthersPortsAreGivenUpWhileNobodyKnowsThem(t *testing.T) {
	opts, err := Options{Dir: t.TempDir()}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	var thief net.Listener
	var asked []int
	open := func(_ context.Context, p Ports, _ func(error)) (Execution, error) {
		asked = append(asked, p[roleKafka])
		if thief == nil {
			if thief, err = net.Listen("tcp", p.Addr(roleKafka)); err != nil {
				t.Fatal(err)
			}
		}
		l, err := net.Listen("tcp", p.Addr(roleKafka))
		if err != nil {
			return nil, err
		}
		return nothing{}, l.Close()
	}
	s, err := Start(t.Context(), "some", opts, open, roleKafka)
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	if len(asked) != 2 || asked[0] == asked[1] || s.AddrOf(roleKafka) == thief.Addr().String() {
		t.Errorf("opened on %v, the second should be another", asked)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	// A search for a free port takes the known port for a moment, and then another process takes it for good.
	port, times := asked[1], 1
	momentarily := func(_ context.Context, p Ports, _ func(error)) (Execution, error) {
		asked = append(asked, p[roleKafka])
		if times--; times >= 0 {
			return nil, inUse(t)
		}
		return nothing{}, nil
	}
	s, err = Start(t.Context(), "some", opts, momentarily, roleKafka)
	if err != nil || s.ports[roleKafka] != port {
		t.Fatalf("opened on %v, %v", asked, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	times, asked = openTries, nil
	if _, err = Start(t.Context(), "some", opts, momentarily, roleKafka); err == nil || len(asked) != openTries ||
		asked[2] != port {
		t.Errorf("ports that clients know were changed: %v after %v", err, asked)
	}
}

// inUse returns the error of listening on a taken port.
func inUse(t *testing.T) error {
	t.Helper()
	l, err := net.Listen("tcp", Loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = net.Listen("tcp", l.Addr().String())
	return err
}

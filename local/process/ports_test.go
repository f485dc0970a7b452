package process

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestClaimPortRemembersThePort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "some.ports.json")
	preferred, err := FreePorts(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	first, err := ClaimPort(file, "some", preferred)
	if want := (Ports{"some": preferred}).Addr("some"); err != nil || first != want {
		t.Fatalf("got %s, %v, want the preferred %s", first, err, want)
	}
	if again, err := ClaimPort(file, "some", 0); err != nil || again != first {
		t.Errorf("got %s, %v, want %s again", again, err, first)
	}
	taken, err := net.Listen("tcp", first)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := ClaimPort(file, "some", 0); err == nil ||
		!strings.Contains(err.Error(), (Ports{"some": preferred}).Text("some")+" (some)") ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want that the port of some is taken, and the file", err)
	}
	other := filepath.Join(t.TempDir(), "other.ports.json")
	if _, err := ClaimPort(other, "some", preferred); err == nil ||
		!strings.Contains(err.Error(), "is used by another process") {
		t.Errorf("got %v, want that the port is taken", err)
	}
	chosen, err := ClaimPort(other, "some", 0)
	if err != nil || chosen == first {
		t.Fatalf("got %s, %v, want another port than the taken %s", chosen, err, first)
	}
	third, err := FreePorts(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if moved, err := ClaimPort(other, "some", third); err != nil || moved != (Ports{"some": third}).Addr("some") {
		t.Errorf("got %s, %v, want the port that is asked for", moved, err)
	}
}

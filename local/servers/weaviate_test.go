package servers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/mneme-memory/mneme/local/process"
	"github.com/mneme-memory/mneme/local/servers"
	"github.com/mneme-memory/mneme/test/servers/servertest"
)

// rest calls Weaviate and returns the body of an answer with status 200.
func rest(ctx context.Context, method, url, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewBufferString(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", res.StatusCode, raw)
	}
	return string(raw), nil
}

const thingID = "7d3f6a0e-2c7e-4a0e-9a43-5c4f1f0f8f11"

func writeThing(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	base := "http://" + addr + "/v1"
	schema := `{"class":"Thing","properties":[{"name":"text","dataType":["text"]}]}`
	if _, err := rest(ctx, http.MethodPost, base+"/schema", schema); err != nil {
		t.Fatal(err)
	}
	object := `{"class":"Thing","id":"` + thingID + `","properties":{"text":"green tea"},"vector":[1,0]}`
	if _, err := rest(ctx, http.MethodPost, base+"/objects", object); err != nil {
		t.Fatal(err)
	}
}

func readThing(ctx context.Context, addr string) error {
	body, err := rest(ctx, http.MethodGet, "http://"+addr+"/v1/objects/Thing/"+thingID, "")
	if err != nil {
		return err
	}
	if !strings.Contains(body, "green tea") {
		return fmt.Errorf("unexpected object %s", body)
	}
	return nil
}

func TestWeaviateKeepsDataAndPortsOverKillAndStop(t *testing.T) {
	ctx := servertest.Context(t)
	w, err := servers.StartWeaviate(ctx, process.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, w)
	addr, grpcAddr := w.HTTP(), w.GRPC()
	writeThing(ctx, t, addr)

	ends := map[string]func() error{"kill": w.Kill, "stop": func() error { return w.Stop(ctx) }}
	for name, end := range ends {
		if err := end(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		servertest.MustEnd(ctx, t, w)
		if err := refused(addr); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		if err := w.Restart(ctx); err != nil {
			t.Fatalf("restart after %s: %v", name, err)
		}
		if w.HTTP() != addr || w.GRPC() != grpcAddr {
			t.Errorf("after %s the addresses changed", name)
		}
		if err := readThing(ctx, addr); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

func TestWeaviateDirectoryHasOneOwner(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	first, err := servers.StartWeaviate(ctx, process.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, first)
	if _, err := servers.StartWeaviate(ctx, process.Options{Dir: dir}); !errors.Is(err, process.ErrInUse) {
		t.Errorf("a second server on the directory: got %v, want ErrInUse", err)
	}
	if err := first.Err(); err != nil {
		t.Errorf("the first server suffered: %v", err)
	}
}

func TestWeaviateUnexpectedEndIsReported(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	w, err := servers.StartWeaviate(ctx, process.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, w)
	if err := syscall.Kill(childPid(t, dir, servers.NameWeaviate), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.Done():
	case <-ctx.Done():
		t.Fatal("nobody noticed")
	}
	if err := w.Err(); !errors.Is(err, process.ErrExited) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v, want ErrExited with the reason", err)
	}
}

func TestWeaviateDiesWithItsKilledParentAndDataSurvive(t *testing.T) {
	ctx := servertest.Context(t)
	dir := t.TempDir()
	p := startParent(t, servers.NameWeaviate, dir)
	writeThing(ctx, t, p.addr)
	child := childPid(t, dir, servers.NameWeaviate)
	p.kill()
	eventually(ctx, t, "child of a killed parent", func() error { return gone(child) })

	w, err := servers.StartWeaviate(ctx, process.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	servertest.StopAtEnd(t, w)
	if w.HTTP() != p.addr {
		t.Errorf("address %s, before %s", w.HTTP(), p.addr)
	}
	if err := readThing(ctx, w.HTTP()); err != nil {
		t.Error(err)
	}
}

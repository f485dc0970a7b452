package wiring_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// answering is a service that answers with the caller's tenant.
type answering struct {
	mnemev1connect.UnimplementedRerankerServiceHandler
}

// Rerank implements the RPC.
func (answering) Rerank(
	ctx context.Context, _ *connect.Request[mnemev1.RerankRequest],
) (*connect.Response[mnemev1.RerankResponse], error) {
	t, ok := tenant.FromContext(ctx)
	if !ok {
		return nil, errors.New("no tenant")
	}
	return connect.NewResponse(&mnemev1.RerankResponse{WeightsVersion: t.ID}), nil
}

// serveAnswering runs it as a service, and returns its address and a function that stops it.
func serveAnswering(t *testing.T) (addr string, end func()) {
	t.Helper()
	tenants, err := tenant.Static(tenant.Entry{Tenant: tenant.Tenant{ID: "acme"},
		APIKeys: []string{tenant.HashKey("KEY-of-acme")}})
	if err != nil {
		t.Fatal(err)
	}
	build := func(_ context.Context, cfg wiring.Inside, tel *telemetry.Telemetry) (*runner.App, error) {
		mux := http.NewServeMux()
		mux.Handle(mnemev1connect.NewRerankerServiceHandler(answering{}))
		h, err := cfg.Require(tenants, tel, mux)
		return &runner.App{Handler: h}, err
	}
	service := runner.Define("answering", "answers", build)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	listening, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- runner.Run(ctx, service, runner.Options{
			Environ: map[string]string{"MNEME_HTTP_ADDR": "127.0.0.1:0"}, Stderr: io.Discard, OnListen: func(a string) {
				listening <- a
			},
		})
	}()
	end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	select {
	case addr = <-listening:
	case err := <-ended:
		t.Fatal(err)
	}
	for ready := false; !ready; { // the service answers 503 while it starts
		resp, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		ready = resp.StatusCode == http.StatusOK
		_ = resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	return addr, end
}

// hundred and announced are the attempts of callers without a key: the number of connections, and the announced bytes
// of each.
const (
	hundred   = 100
	announced = 4 << 20
)

func TestBodiesWithoutAKeyHoldNoMemoryAndNoConnection(t *testing.T) {
	addr, end := serveAnswering(t)
	defer end()
	most := bytes.Repeat([]byte("x"), announced-1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for range hundred {
		all.Go(func() {
			if err := announce(addr, most); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 50<<20 {
		t.Errorf("%d bytes more are held", grown)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 50<<20 {
		t.Errorf("%d bytes were allocated", made)
	}
	requireRefusals(t, addr, hundred)
}

// announce sends a body without a key, except the last byte. It returns nil if the service refuses the call and
// closes the connection.
func announce(addr string, most []byte) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/proto\r\nContent-Length: %d\r\n\r\n",
		mnemev1connect.RerankerServiceRerankProcedure, len(most)+1)
	if _, err := io.WriteString(conn, head); err != nil {
		return err
	}
	sent := make(chan struct{})
	go func() { defer close(sent); _, _ = conn.Write(most) }() // until the server closes
	r := bufio.NewReader(conn)
	status, err := r.ReadString('\n')
	if err != nil || !strings.Contains(status, " 401 ") {
		return fmt.Errorf("answered %q, %w", status, err)
	}
	_, _ = io.Copy(io.Discard, r) // ends, or is reset, when the server closes
	<-sent
	return nil
}

// requireRefusals fails the test unless the service has counted n refused calls.
func requireRefusals(t *testing.T, addr string, n int) {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "mneme_rpc_refused") && strings.Contains(line, "unauthenticated") &&
			strings.HasSuffix(line, fmt.Sprintf(" %d", n)) {
			return
		}
	}
	t.Errorf("the service does not say that it refused %d calls", n)
}

func TestStreamsWithoutAKeyHoldNoMemory(t *testing.T) {
	addr, end := serveAnswering(t)
	defer end()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	var all sync.WaitGroup
	for range hundred {
		all.Go(func() {
			req, err := http.NewRequest(http.MethodPost, "http://"+addr+mnemev1connect.RerankerServiceRerankProcedure, endless{})
			if err != nil {
				t.Error(err)
				return
			}
			req.ContentLength = announced
			req.Header.Set("Content-Type", "application/grpc")
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.Trailer.Get("Grpc-Status") != "16" {
				t.Errorf("answered %d %v, %v", resp.StatusCode, resp.Trailer, err)
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 50<<20 {
		t.Errorf("%d bytes more are held", grown)
	}
	requireRefusals(t, addr, hundred)
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestACallWithAKeyIsLetThrough(t *testing.T) {
	addr, end := serveAnswering(t)
	defer end()
	defer http.DefaultClient.CloseIdleConnections()
	req := connect.NewRequest(&mnemev1.RerankRequest{UserId: "ana"})
	req.Header().Set("Authorization", "Bearer KEY-of-acme")
	resp, err := mnemev1connect.NewRerankerServiceClient(http.DefaultClient, "http://"+addr).Rerank(t.Context(), req)
	if err != nil || resp.Msg.GetWeightsVersion() != "acme" {
		t.Errorf("got %v, %v", resp, err)
	}
}

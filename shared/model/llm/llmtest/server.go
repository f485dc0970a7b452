package llmtest

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/mneme-memory/mneme/shared/model/llm"
)

// TB is the part of testing.TB that New needs. It keeps package testing out of programs.
type TB interface {
	// Helper marks the caller as a helper of the test.
	Helper()
	// Cleanup registers a function to call when the test is over.
	Cleanup(func())
	// Fatalf fails the test and ends it.
	Fatalf(format string, args ...any)
}

// Server is a Handler that listens on a port of 127.0.0.1.
type Server struct {
	*Handler
	// URL is the base URL for llm.Config.
	URL  string
	http *http.Server
	done chan struct{}
}

// New starts a server that stops when the test ends.
func New(t TB, opts ...Option) *Server {
	t.Helper()
	s, err := Start(opts...)
	if err != nil {
		t.Fatalf("start the scripted model server: %v", err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Start starts a server. The caller stops it.
func Start(opts ...Option) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Handler: NewHandler(opts...), URL: "http://" + l.Addr().String() + "/v1", done: make(chan struct{})}
	s.http = &http.Server{Handler: s.Handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // ends with ErrServerClosed
	}()
	return s, nil
}

// Stop cuts every connection and frees the port.
func (s *Server) Stop() {
	_ = s.http.Close() // the listener belongs to this server, so an error needs no action
	<-s.done
}

// Config is a client configuration for this server that retries within milliseconds.
func (s *Server) Config() llm.Config {
	cfg := llm.DefaultConfig()
	cfg.BaseURL, cfg.Model = s.URL, "scripted"
	cfg.Retry.Base, cfg.Retry.Cap, cfg.Retry.Max = time.Millisecond, 2*time.Millisecond, 2
	return cfg
}

// Client is a client of this server that closes when the test ends.
func (s *Server) Client(t TB) *llm.Client {
	t.Helper()
	c, err := llm.NewClient(s.Config(), llm.Deps{})
	if err != nil {
		t.Fatalf("make a client of the scripted model server: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

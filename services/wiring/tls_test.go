package wiring_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// listen accepts TLS connections with an untrusted certificate, and reports the start of a handshake.
func listen(t *testing.T) (addr string, spoken <-chan struct{}) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	heard := make(chan struct{}, 100)
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		select {
		case heard <- struct{}{}:
		default:
		}
		return nil, nil
	}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the server logs every failed handshake
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), heard
}

func TestRedisAndTemporalAreReachedOverTLS(t *testing.T) {
	for name, open := range map[string]func(context.Context, all) error{
		"redis": func(ctx context.Context, cfg all) error {
			d, free, err := cfg.Window.OpenDirectory(newTelemetry(t))
			if err != nil {
				return err
			}
			defer free()
			_, err = d.Tenant(ctx, "any")
			return err
		},
		"temporal": func(ctx context.Context, cfg all) error {
			_, err := cfg.Workflows.Open(ctx, newTelemetry(t))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			addr, spoken := listen(t)
			cfg, err := config.Load[all](map[string]string{
				"MNEME_REDIS_ADDRS": addr, "MNEME_REDIS_TLS": "true", "MNEME_TEMPORAL_ADDR": addr, "MNEME_TEMPORAL_TLS": "true",
				"MNEME_TEMPORAL_API_KEY": "hush",
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- open(ctx, cfg) }()
			select {
			case <-spoken:
			case <-ctx.Done():
				t.Error("TLS was not spoken")
			}
			cancel()
			if err := <-done; err == nil {
				t.Error("a certificate of no authority was taken")
			}
		})
	}
}

func TestACertificateForTemporalThatIsMissing(t *testing.T) {
	w := wiring.Workflows{Addr: net.JoinHostPort("127.0.0.1", "1"), Namespace: "n", TLS: true, Cert: "missing.crt",
		Key: "missing.key"}
	if _, err := w.Open(t.Context(), newTelemetry(t)); !fault.IsTerminal(err) {
		t.Errorf("got %v", err)
	}
}

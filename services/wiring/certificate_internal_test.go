package wiring

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// writeCertificate writes a certificate and its key to the paths, and returns the certificate.
func writeCertificate(t *testing.T, cert, key string, serial int64) []byte {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial)}
	made, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made},
		key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// TestARenewedCertificateIsShownToTemporal checks the certificate function of the connections. A server that trusts
// the test would need a change of the process's trusted authorities.
func TestARenewedCertificateIsShownToTemporal(t *testing.T) {
	tel, err := telemetry.New(t.Context(), "test", "test", telemetry.Config{}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.WithoutCancel(t.Context())) })
	w := Workflows{Addr: "temporal:7233", Namespace: "n", TLS: true}
	w.Cert, w.Key = filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	writeCertificate(t, w.Cert, w.Key, 1)
	o, err := w.options(tel)
	if err != nil {
		t.Fatal(err)
	}
	want := writeCertificate(t, w.Cert, w.Key, 2)
	shown, err := o.ConnectionOptions.TLS.GetClientCertificate(nil)
	if err != nil || len(shown.Certificate) != 1 || !bytes.Equal(shown.Certificate[0], want) {
		t.Errorf("the renewed certificate is not shown: %v", err)
	}
}

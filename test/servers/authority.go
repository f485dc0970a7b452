package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/local/process"
)

// certificateLife is the validity of a local control plane's certificates.
const certificateLife = 7 * 24 * time.Hour

// authority signs the certificates of one control plane.
type authority struct {
	dir    string
	signer *ecdsa.PrivateKey
	self   *x509.Certificate
	// ca is the path of the authority's certificate. cert and key are the paths of a certificate for all servers on
	// loopback and its key.
	ca, cert, key string
	// trust is for clients of these servers.
	trust *tls.Config
}

// newAuthority creates an authority, and the servers' certificate, in a directory.
func newAuthority(dir string) (a *authority, err error) {
	a = &authority{dir: dir, ca: filepath.Join(dir, "ca.crt")}
	if a.signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	a.self = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "local"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certificateLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.self, a.self, a.signer.Public(), a.signer)
	if err != nil {
		return nil, err
	}
	if err := writePEM(a.ca, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	if a.cert, a.key, err = a.issue("server", ""); err != nil {
		return nil, err
	}
	own, err := tls.LoadX509KeyPair(a.cert, a.key)
	if err != nil {
		return nil, err
	}
	if a.self, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.trust = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{own}}
	a.trust.RootCAs.AddCert(a.self)
	return a, nil
}

// issue issues a certificate for loopback with a name and optionally a group. It returns the paths of the certificate
// and its key.
func (a *authority) issue(name, group string) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return "", "", err
	}
	subject := pkix.Name{CommonName: name}
	if group != "" {
		subject.Organization = []string{group}
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: subject, NotBefore: a.self.NotBefore, NotAfter: a.self.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.ParseIP(process.Loopback)}, DNSNames: []string{"localhost"},
	}, a.self, private.Public(), a.signer)
	if err != nil {
		return "", "", err
	}
	path := filepath.Join(a.dir, strings.ReplaceAll(name, ":", "-"))
	if err := writePEM(path+".crt", "CERTIFICATE", der); err != nil {
		return "", "", err
	}
	if der, err = x509.MarshalECPrivateKey(private); err != nil {
		return "", "", err
	}
	return path + ".crt", path + ".key", writePEM(path+".key", "EC PRIVATE KEY", der)
}

// kubeconfig creates a user of the API and returns the path of the user's client configuration.
func (a *authority) kubeconfig(api, user, group string) (string, error) {
	cert, key, err := a.issue(user, group)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(cert, ".crt") + ".kubeconfig"
	return path, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: local, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: local, user: {client-certificate: %q, client-key: %q}}]
contexts: [{name: local, context: {cluster: local, user: local}}]
current-context: local
`, api, a.ca, cert, key), 0o600)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

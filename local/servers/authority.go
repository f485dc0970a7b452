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
)

// certificateLife is how long certificates of a local control plane are good for.
const certificateLife = 7 * 24 * time.Hour

// authority signs the certificates of one control plane.
type authority struct {
	dir    string
	signer *ecdsa.PrivateKey
	self   *x509.Certificate
	// ca, cert and key are the paths of the authority's certificate, and of one for all servers on loopback.
	ca, cert, key string
	// trust is for clients of these servers.
	trust *tls.Config
}

// newAuthority makes an authority, and the certificate of the servers, in a directory.
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

// issue makes a certificate of a name, and of a group where there is one, for loopback; it returns the paths of it and its key.
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
		IPAddresses: []net.IP{net.ParseIP(loopback)}, DNSNames: []string{"localhost"},
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

// kubeconfig makes a user of the API, and returns the path of the file that clients know him by.
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

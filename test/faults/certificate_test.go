package faults

import (
	"crypto/x509"
	"os"

	"example.com/petstore/internal/processtest"
)

// writeCertificate writes a new certificate for the loopback, and its key, and
// returns what trusts it.
func writeCertificate(dir string) (*x509.CertPool, error) {
	cert, _, err := processtest.WriteCertificate(dir, "petstore")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(cert)
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(text)
	return trust, err
}

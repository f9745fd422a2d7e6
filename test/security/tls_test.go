package security

import (
	"testing"

	"example.com/petstore/internal/processtest"
)

// certify writes a new certificate and its key for 127.0.0.1 into dir.
func certify(t *testing.T, dir, name string) (flags []string) {
	t.Helper()
	cert, key, err := processtest.WriteCertificate(dir, name)
	must(t, err)
	return []string{"--tls-cert=" + cert, "--tls-key=" + key}
}

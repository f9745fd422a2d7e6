package ratelimit

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// errRefused is that a server does not have us with the password, the user or the database that we have.
var errRefused = errors.New("the server refuses")

// refused returns what a command of the greeting failed with.
func refused(command string, err error) error {
	if _, answered := errors.AsType[redis.Error](err); answered {
		return fmt.Errorf("%s: %w: %w", command, errRefused, err)
	}
	return fmt.Errorf("%s: %w", command, err)
}

// isRefusal reports whether only another password, user, right or certificate can help.
func isRefusal(err error) bool {
	if errors.Is(err, errRefused) {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	code := codeOf(err)
	return code == "NOAUTH" || code == "NOPERM"
}

// codeOf returns the word that an error of a server begins with; "" if err is none of a server.
func codeOf(err error) string {
	answer, _ := errors.AsType[redis.Error](err)
	code, _, _ := strings.Cut(string(answer), " ")
	return code
}

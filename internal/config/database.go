package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// OnPostgres reports whether DB is the URL of a PostgreSQL database, and not a file.
func (c *Config) OnPostgres() bool { return onPostgres(c.DB) }

// onPostgres is case-sensitive, since the driver does not take POSTGRES:// for a URL.
func onPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// notPath matches what is probably meant as a PostgreSQL database: a mistyped URL, or keywords of libpq.
var notPath = regexp.MustCompile(`(?i)^\s*(postgres(ql)?(:/?[^/]|:/?$|//)|(host|hostaddr|port|dbname|user|password|service)\s*=)`)

// CheckPath returns an error, which says what to use instead, if db is probably not
// meant as the path of a file. A path that begins with ./ is accepted unless it contains
// ://. The error does not contain a password.
func CheckPath(db string) error {
	switch {
	case notPath.MatchString(db):
		return errors.New("PostgreSQL is given as a URL, postgres://user@host/dbname; a file of that name as ./NAME")
	case strings.Contains(db, "://"):
		return fmt.Errorf("%q is neither the path of a database nor a postgres:// URL", Redact(db))
	}
	return nil
}

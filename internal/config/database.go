package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// OnPostgres reports whether DB is the URL of a PostgreSQL database, and not a file.
func (c *Config) OnPostgres() bool { return onPostgres(c.DB) }

// onPostgres is case-sensitive, since the driver does not take POSTGRES:// for a URL.
func onPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// CheckPath returns an error, which says what to use instead, if db is probably not
// meant as the path of a file: it is a URL; or it looks like a mistyped URL of
// PostgreSQL, as postgres:/h/d does; or it consists of libpq's keywords and values,
// with a host, a database, a service or a user. A path that begins with ./ is accepted
// unless it contains ://. The error does not contain a password.
func CheckPath(db string) error {
	switch {
	case hasKeywords(db), mistyped(db):
		return errors.New("PostgreSQL is given as a URL, postgres://user@host/dbname; a file of that name as ./NAME")
	case strings.Contains(db, "://"):
		return fmt.Errorf("%q is neither the path of a database nor a postgres:// URL", Redact(db))
	}
	return nil
}

// mistyped reports whether db looks like a URL of PostgreSQL without the colon, or
// without one or both of the slashes.
func mistyped(db string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(db)), "postgres")
	rest = strings.TrimPrefix(rest, "ql")
	return ok && (strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "://"))
}

// keyword matches a keyword of libpq with its value, bare or quoted, and the space
// after it.
var keyword = regexp.MustCompile(`^([a-z_]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)(?:\s+|$)`)

// hasKeywords reports whether db consists of keywords and values, at least one of which
// is a host, a database, a service or a user.
func hasKeywords(db string) bool {
	says := false
	for rest := strings.TrimSpace(db); rest != ""; {
		pair := keyword.FindStringSubmatch(rest)
		if pair == nil {
			return false
		}
		place := slices.Contains([]string{"host", "hostaddr", "dbname", "service", "user"}, pair[1])
		says = says || place && !inFolder(pair[2])
		rest = rest[len(pair[0]):]
	}
	return says
}

// inFolder reports whether a pair looks like a folder whose name contains an equals
// sign, such as user=ann/shop.db. The value of a socket's folder begins with a slash.
func inFolder(value string) bool {
	return strings.Contains(value, "/") && !strings.HasPrefix(value, "/") && !strings.Contains(value, "://")
}

package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// OnPostgres reports whether DB is a PostgreSQL server's, not a file.
func (c *Config) OnPostgres() bool { return onPostgres(c.DB) }

// onPostgres is exact: the driver takes POSTGRES:// for something else.
func onPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// CheckPath returns an error, which says what to give instead, if db cannot be
// meant as the path of a file: it is a URL; or it begins with the scheme of
// PostgreSQL and a part of what belongs behind it, as postgres:/h/d does; or it
// is made of keywords and values, as libpq takes them, and says a host, a
// database, a service or a user. A path that begins with ./ is always one unless
// it has :// in it. The error tells no password.
func CheckPath(db string) error {
	switch {
	case hasKeywords(db), mistyped(db):
		return errors.New("PostgreSQL is given as a URL, postgres://user@host/dbname; a file of that name as ./NAME")
	case strings.Contains(db, "://"):
		return fmt.Errorf("%q is neither the path of a database nor a postgres:// URL", Redact(db))
	}
	return nil
}

// mistyped reports whether the scheme of a URL of PostgreSQL lacks its colon, or
// a slash or two behind it.
func mistyped(db string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(db)), "postgres")
	rest = strings.TrimPrefix(rest, "ql")
	return ok && (strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "://"))
}

// keyword matches a keyword of libpq with its value, bare or quoted, and the
// space behind them.
var keyword = regexp.MustCompile(`^([a-z_]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)(?:\s+|$)`)

// hasKeywords reports whether db is made of keywords and values alone, one of
// which says where the database is or whose.
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

// inFolder reports whether a keyword's value goes on behind a slash, as if it
// were a folder's name that has an equals sign in it: user=ann/shop.db. That of
// a socket's folder begins with the slash.
func inFolder(value string) bool {
	return strings.Contains(value, "/") && !strings.HasPrefix(value, "/") && !strings.Contains(value, "://")
}

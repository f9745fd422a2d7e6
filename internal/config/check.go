package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// check returns an error for values that contradict each other, and for features that
// this build does not have.
func (c *Config) check(from Origins) error {
	if err := c.checkStores(from); err != nil {
		return err
	}
	switch {
	case c.Backup.Every > 0 && c.Backup.Dir == "":
		return &Fault{from.Of("backup-every"), "backups need a folder: give --backup-dir"}
	case c.Backup.Every > 0 && c.Backup.Every < time.Minute:
		return &Fault{from.Of("backup-every"), "must be at least 1m, or 0"}
	case c.EventRetention > 0 && c.EventRetention < time.Hour:
		return &Fault{from.Of("event-retention"), "must be at least 1h, or 0"}
	case c.TLSCert != "" && c.TLSKey == "":
		return &Fault{from.Of("tls-cert"), "tls-key must be given too"}
	case c.TLSCert == "" && c.TLSKey != "":
		return &Fault{from.Of("tls-key"), "tls-cert must be given too"}
	case c.Ban.Max < c.Ban.First:
		return c.checkBan(from)
	}
	return nil
}

// checkStores checks where the data and the counts are kept.
func (c *Config) checkStores(from Origins) error {
	if err := CheckPath(c.DB); err != nil && !c.OnPostgres() {
		return &Fault{from.Of("db"), err.Error()}
	}
	switch {
	case c.DB == "":
		return &Fault{from.Of("db"), "the database must not be empty"}
	case slashInPassword(c.DB):
		return &Fault{from.Of("db"), misplacedAt}
	case c.Backup.Every > 0 && c.OnPostgres():
		return &Fault{from.Of("backup-every"), "backups by the server are for SQLite; back PostgreSQL up with pg_basebackup or pg_dump"}
	case c.Redis != "" && !isURL(c.Redis, "redis", "rediss"):
		return &Fault{from.Of("redis"), "must be a URL such as redis://127.0.0.1:6379"}
	}
	return nil
}

// checkBan checks the numbers of bans. The error names a value that was set, not a
// default.
func (c *Config) checkBan(from Origins) error {
	const longest, first = "ban-max", "ban-first"
	origin := from.Of(longest)
	if origin == Default {
		origin = from.Of(first)
	}
	return &Fault{origin, fmt.Sprintf("the longest ban, %s %v, is shorter than the first, %s %v", longest, c.Ban.Max, first, c.Ban.First)}
}

const misplacedAt = "an @ comes after a slash: in a password write / as %2F, and elsewhere @ as %40"

// slashInPassword reports whether the database's name in a URL contains the end of a
// password, which would then be in messages.
func slashInPassword(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	_, path, _ := strings.Cut(rest, "/")
	path, _, _ = strings.Cut(path, "?")
	return onPostgres(text) && strings.Contains(path, "@")
}

func isURL(s string, schemes ...string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && slices.ContainsFunc(schemes, func(want string) bool { return strings.EqualFold(scheme, want) })
}

const redacted = "xxxxx"

// Redact returns s with the passwords of a URL replaced: that of its user, and those in
// its query. If the URL cannot be parsed, or may contain an unescaped password
// anywhere, only the scheme is left. If the text has a user and a password but no
// scheme, nothing is left.
func Redact(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		if before, _, at := strings.Cut(s, "@"); at && strings.Contains(before, ":") {
			return redacted
		}
		return s
	}
	u, err := url.Parse(s)
	if err != nil || !strings.EqualFold(u.Scheme, scheme) || u.Fragment != "" || atBehindHost(rest) {
		return scheme + "://" + redacted
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return scheme + "://" + redacted
	}
	for name := range query {
		if strings.Contains(strings.ToLower(name), "password") {
			query.Set(name, redacted)
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}

// atBehindHost reports whether the part after the host seems to contain the end of a
// password: the password has a slash, a question mark or a hash.
func atBehindHost(rest string) bool {
	end := strings.IndexAny(rest, "/?#")
	return end >= 0 && strings.Contains(rest[end:], "@")
}

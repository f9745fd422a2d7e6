package config

import (
	"regexp"
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
		return from.Fault("ban-max", "the longest ban, %v, is shorter than the first of --ban-first, %v", c.Ban.Max, c.Ban.First)
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
		return &Fault{from.Of("db"), "an @ comes after a slash: in a password write / as %2F, and elsewhere @ as %40"}
	case c.Backup.Every > 0 && c.OnPostgres():
		return &Fault{from.Of("backup-every"), "backups by the server are for SQLite; back PostgreSQL up with pg_basebackup or pg_dump"}
	case c.Redis != "" && !redisURL.MatchString(c.Redis):
		return &Fault{from.Of("redis"), "must be a URL such as redis://127.0.0.1:6379"}
	}
	return nil
}

// slashInPassword reports whether the database's name in a URL contains the end of a
// password, which would then be in messages.
func slashInPassword(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	_, path, _ := strings.Cut(rest, "/")
	path, _, _ = strings.Cut(path, "?")
	return onPostgres(text) && strings.Contains(path, "@")
}

var (
	redisURL = regexp.MustCompile(`(?i)^rediss?://`)
	// scheme matches the scheme of a URL.
	scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	// userPassword matches what stands before a host. A password may contain any character, escaped or not.
	userPassword = regexp.MustCompile(`(?s)^([^:]*:).*@`)
	// query matches what shows that an @ behind it may belong to a parameter.
	query = regexp.MustCompile(`(?is)[?&]|password.*=`)
	// passwordParameter matches a parameter whose name contains "password", or may do so: with a character that is
	// escaped.
	passwordParameter = regexp.MustCompile(`(?i)((?:password|[?&][^?&=]*%)[^?&=]*=)[^&]*`)
)

// Redact returns s with the passwords of a URL replaced: that of its user, and those in
// its query. It replaces too much rather than too little: all that stands between the
// first colon behind the scheme and the last @, and all behind the scheme if that @ may
// be in the query.
func Redact(s string) string {
	begin := len(scheme.FindString(s))
	rest := s[begin:]
	if at := strings.LastIndex(rest, "@"); at >= 0 && query.MatchString(rest[:at]) {
		return s[:begin] + "xxxxx"
	}
	rest = userPassword.ReplaceAllString(rest, "${1}xxxxx@")
	return s[:begin] + passwordParameter.ReplaceAllString(rest, "${1}xxxxx")
}

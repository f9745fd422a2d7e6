package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/store/sqlite"
)

func doctorCommand(a *app) *cobra.Command {
	cmd := newCommand(a, spec{
		use:   "doctor",
		short: "Check the database and the configuration, and say what to do",
		long: `Check the configuration, the files and their modes, the migrations, the integrity of
the database, the stock of every pet against its ledger, the disk space and the
backups. With PostgreSQL, check the server, its settings and its clock instead of
files, disk and backups. With Redis, check that it responds.

Give it the same flags as serve. It changes nothing and can run next to a server. Each
finding says what to do. The command fails if there is a problem, but not if there
are only warnings.`,
		output: tables(),
		run: func(ctx context.Context, _ []string) error {
			if err := node.CheckLimiter(a.config, a.origins); err != nil {
				return err
			}
			return printDiagnosis(a, examine(ctx, a))
		},
	})
	a.config.Register(cmd.Flags())
	return cmd
}

// A verdict says how bad a finding is.
type verdict string

const (
	fine    verdict = "ok"
	warning verdict = "warning"
	problem verdict = "problem"
)

// A finding is what a check found.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	Advice  string  `json:"advice,omitempty"`
}

// diagnosis is what doctor found.
type diagnosis struct {
	Healthy  bool      `json:"healthy"`
	Findings []finding `json:"findings"`
}

// An examination gathers findings.
type examination struct {
	*app
	check    string
	findings []finding
}

func (e *examination) add(v verdict, advice, format string, args ...any) {
	e.findings = append(e.findings, finding{e.check, v, oneLine(fmt.Sprintf(format, args...)), advice})
}

// A check is one part of an examination. It adds what it finds.
type check struct {
	name string
	when func() bool // whether the check can be made; nil for always
	run  func(context.Context)
}

// examine runs every check that can be made, and returns the findings.
func examine(ctx context.Context, a *app) []finding {
	e := &examination{app: a}
	checks := e.checks()
	if a.config.OnPostgres() {
		checks = (&serverExamination{examination: e}).checks()
	}
	for _, c := range checks {
		if c.when != nil && !c.when() {
			continue
		}
		e.check = c.name
		if c.run(ctx); e.foundNothing() {
			e.add(fine, "", "nothing found")
		}
	}
	return e.findings
}

// foundNothing reports whether the check that runs has found nothing yet.
func (e *examination) foundNothing() bool {
	n := len(e.findings)
	return n == 0 || e.findings[n-1].Check != e.check
}

// checks returns the checks of a database in a file.
func (e *examination) checks() []check {
	there, current := true, false
	present := func() bool { return there }
	return []check{
		{"configuration", nil, e.configuration},
		{"files", nil, func(context.Context) { there = e.files() }},
		{"migrations", present, func(ctx context.Context) { there = !e.migrations(ctx); current = e.foundNothing() }},
		{"integrity and ledger", present, e.integrity},
		{"events", func() bool { return there && current }, e.events},
		{"limiter", e.onRedis, e.limiter},
		{"disk", nil, e.disk},
		{"backups", nil, e.backups},
	}
}

// configuration looks for settings that are allowed but seldom meant. Settings that are wrong have been refused before.
func (e *examination) configuration(context.Context) {
	c := e.config
	if c.BaseURL == "" && !loopback(c.Addr) {
		e.add(warning, "set --base-url to the URL that clients use", "links in responses are relative, and --addr %s can be reached from outside", c.Addr)
	}
	if c.OpsAddr != config.Off && !loopback(c.OpsAddr) {
		e.add(warning, "bind --ops-addr to a loopback or private address", "the operations listener on %s has no password", c.OpsAddr)
	}
	for _, p := range c.TrustedProxies {
		if p.Bits() == 0 {
			e.add(problem, "give --trusted-proxies only the addresses of your proxies", "every caller is trusted as a proxy (%v), so anybody can choose the address that is counted", p)
		}
	}
	if c.Sunset.Before(e.now()) {
		e.add(warning, "set --sunset later if GET /pets/{petId} is still needed", "GET /pets/{petId} is gone since %s", c.Sunset.Format(time.RFC3339))
	}
}

func (e *examination) onRedis() bool { return e.config.Redis != "" }

// limiter asks Redis for a decision.
func (e *examination) limiter(context.Context) {
	if err := node.AskRedis(e.config); err != nil {
		e.add(problem, "check that Redis runs, and that --redis has the right host, database, user and password", "%v", err)
	}
}

// loopback reports whether an address can be reached from this machine alone.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, parseErr := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || parseErr == nil && ip.IsLoopback())
}

// adviceUnreadable is for a database that cannot be read. It may be another file.
const adviceUnreadable = "check that --db names the right file; if it does, restore a backup with petstore restore FILE --force"

// files reports whether there is a database that this user may open.
func (e *examination) files() bool {
	info, err := os.Stat(e.config.DB)
	if err != nil {
		advice := "let this user read the file and its folder"
		if errors.Is(err, fs.ErrNotExist) {
			advice = "give --db the right path, or create the database with petstore migrate up"
		}
		e.add(problem, advice, "%v", err)
		return false
	}
	if !info.Mode().IsRegular() {
		e.add(problem, "give --db the path of a database", "%s is not a file", e.config.DB)
		return false
	}
	dir := filepath.Dir(e.config.DB)
	for _, path := range []string{e.config.DB, dir} {
		if err := mayUse(path); err != nil {
			e.add(problem, "run doctor as the user of the server, who must be able to write the file and its folder", "%s cannot be used: %v", path, err)
			return false
		}
	}
	owner := ownerOf(info)
	for _, end := range []string{"", "-wal", "-shm"} {
		e.fileMode(e.config.DB+end, owner)
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		e.add(problem, "chmod o-w "+dir, "everybody can replace files in %s", dir)
	}
	return true
}

func (e *examination) fileMode(path string, owner int) {
	info, err := os.Stat(path)
	if err != nil { // no log, no server
		return
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		e.add(problem, "chmod 600 "+path, "users other than the owner can open %s (mode %04o)", path, mode)
	}
	if ownerOf(info) != owner {
		e.add(problem, fmt.Sprintf("chown %d %s, and run petstore as the server's user", owner, path), "%s belongs to user %d, but the database to user %d", path, ownerOf(info), owner)
	}
}

// migrations looks for migrations that are not applied. It reports whether the data has moved to another database.
func (e *examination) migrations(ctx context.Context) (moved bool) {
	all, err := knownMigrations(ctx, e.app)
	if errors.Is(err, sqlite.ErrMoved) {
		e.add(problem, "use that database, and put the file away", "%v", err)
		return true
	}
	if err != nil {
		e.add(problem, "give --db a database of this program, or run the version that made it", "%v", err)
		return false
	}
	for _, m := range all {
		if !m.Applied {
			e.add(problem, "make a backup, then petstore migrate up", "migration %d %s is not applied", m.Version, m.Name)
		}
	}
	return false
}

func (e *examination) integrity(ctx context.Context) {
	problems, err := sqlite.Verify(ctx, e.config.DB)
	if err != nil {
		e.add(problem, adviceUnreadable, "%v", err)
	}
	for _, p := range problems {
		e.add(problem, "keep a copy of the file, restore the latest good backup, and report this", "%s", p)
	}
}

// events compares the data of each workspace with what its feed of events says.
func (e *examination) events(ctx context.Context) {
	e.read(ctx, func(db node.Store) error {
		all, err := db.Workspaces(ctx)
		for _, w := range all {
			if w.Resetting || w.Sandbox != nil {
				continue
			}
			problems, checkErr := db.CheckFeed(ctx, w.Shop)
			for _, p := range problems {
				e.add(problem, "copies made from the feed are wrong: let clients read the lists again, and please report this", "%s", p)
			}
			err = errors.Join(err, checkErr)
		}
		return err
	})
}

// read runs f on the database.
func (e *examination) read(ctx context.Context, f func(node.Store) error) {
	if err := e.withReader(ctx, f); err != nil {
		e.add(problem, "try again when the database is less busy", "%v", err)
	}
}

// The free space below which doctor reports a problem, and a warning: the latter in addition to a copy of the database.
const (
	leastRoom = 64 << 20
	scantRoom = 512 << 20
)

func (e *examination) disk(context.Context) {
	dir := filepath.Dir(e.config.DB)
	free, _, err := sqlite.DiskSpace(dir)
	if err != nil {
		e.add(warning, "check the disk by hand", "the free space on the disk of %s could not be read: %v", dir, err)
		return
	}
	var size int64
	if info, err := os.Stat(e.config.DB); err == nil {
		size = info.Size()
	}
	const advice = "free some disk space, or move the database"
	switch found := fmt.Sprintf("%d MiB are free in %s, and the database is %d MiB large", free>>20, dir, size>>20); {
	case free < leastRoom:
		e.add(problem, advice, "%s", found)
	case free < size+scantRoom:
		e.add(warning, advice, "%s", found)
	}
}

func (e *examination) backups(context.Context) {
	b := e.config.Backup
	if b.Every == 0 {
		e.add(warning, "give doctor the --backup-every and --backup-dir of serve; if serve has none, set them, or run petstore backup from a timer",
			"with these settings the server makes no backups")
		return
	}
	newest, ahead, err := node.LatestBackup(b.Dir, e.now())
	if ahead > 0 {
		e.add(warning, "check the clock; these backups do not count, and are the first to be removed",
			"%d backups in %s are dated in the future", ahead, b.Dir)
	}
	if !newest.IsZero() {
		if age := e.now().Sub(newest); age > 2*b.Every {
			e.add(problem, "search the server's log for \"the scheduled backup failed\"", "the latest backup in %s is %v old", b.Dir, age.Round(time.Minute))
		}
		return
	}
	e.add(warning, "check that the server runs with these settings", "there is no backup in %s yet%s", b.Dir, suffix(err))
}

// suffix returns ": err", or "" for nil.
func suffix(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

func printDiagnosis(a *app, findings []finding) error {
	problems := 0
	for _, f := range findings {
		if f.Verdict == problem {
			problems++
		}
	}
	err := a.print(diagnosis{problems == 0, findings}, tableOf("CHECK,VERDICT,FOUND,WHAT TO DO", findings, func(f finding) []string {
		return []string{f.Check, string(f.Verdict), f.Found, f.Advice}
	}))
	if err == nil && problems > 0 {
		err = fmt.Errorf("%s: problems found: %d", a.database(), problems)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// A duel is the reference and the service, which take turns at rows.
type duel struct {
	*bench
	reference, ours side
}

// newDuel starts the reference, and the service on a new database.
func (b *bench) newDuel(ctx context.Context, db string) (*duel, error) {
	reference, err := b.startReference(ctx)
	if err != nil {
		return nil, err
	}
	say("filling %d pets", b.pets)
	data, err := b.newDataset(ctx, b.file(db), b.pets, false)
	if err != nil {
		return nil, err
	}
	ours, err := b.newSide(ctx, "this service", data)
	if err != nil {
		return nil, err
	}
	return &duel{b, side{name: "bare net/http", process: reference, workload: ours.workload}, *ours}, nil
}

// withHTTPS starts the service anew, to serve HTTPS alone.
func (d *duel) withHTTPS(ctx context.Context) (err error) {
	if err := d.ours.process.Stop(); err != nil {
		return err
	}
	d.ours.process, err = d.startServer(ctx, d.ours.workload.db, "--tls-cert", d.cert, "--tls-key", d.key)
	return err
}

func (b *bench) measureRows(ctx context.Context) error {
	s := section{title: "Requests", words: fmt.Sprintf(`Every row ran %d rounds of %d ms, in turns with bare net/http, which answers the same status and a constant body of the same
size, and on the other transports the same header fields. The database has %d pets. "Of net/http" compares requests a second round
by round; "CPU, net/http / ours" compares the processor time of a request over all rounds, which other work on the machine
disturbs less. Over HTTP/2 the client is the slower side, so that only the processor time says something.`,
		b.rounds, b.round.Milliseconds(), b.pets)}
	s.table = table{"request | requests/s | net/http/s | of net/http | CPU µs | net/http µs | CPU, net/http / ours | p50 ms | p99 ms | p99.9 ms | × durable appends"}
	d, err := b.newDuel(ctx, "rows.db")
	if err != nil {
		return err
	}
	var appends []float64
	for _, row := range rows() {
		if !b.settings.rows.MatchString(row.name) {
			continue
		}
		say("%s", row.name)
		if row.transport == http2TLS && d.ours.process.tlsAddr == "" {
			if err := d.withHTTPS(ctx); err != nil {
				return err
			}
		}
		f, disk, err := d.measure(ctx, &row)
		if err != nil {
			return err
		}
		appends = append(appends, disk...)
		s.addRow(&row, f)
	}
	if len(appends) > 0 {
		s.notes = append(s.notes, fmt.Sprintf("The disk: %s durable appends of 4 KiB a second.", spreadOf(appends).ranged("%.0f")))
	}
	b.add(s)
	return nil
}

// addRow adds a row and its target: by requests a second on the plain way, by durable appends for a write, and by
// processor time on the other transports, where the client may be slower than the server.
func (s *section) addRow(r *row, f figure) {
	times, t := "", target{r.words + ", of bare net/http", f.ofReference.median, r.least, false}
	switch {
	case r.write:
		times = f.ofAppends.ranged("%.1f")
		t.what, t.value = r.words+", × durable appends", f.ofAppends.median
	case r.transport != plain:
		t.value = f.cpuRatio
	}
	s.table.add("%s | %s | %.0f | %s | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f | %s", r.words, f.perSecond.ranged("%.0f"), f.reference.median, f.ofReference.ranged("%.2f"),
		f.cpu, f.referenceCPU, f.cpuRatio, f.p50/1000, f.p99/1000, f.p999/1000, times)
	if r.least > 0 {
		s.targets = append(s.targets, t)
	}
}

// measure has the reference, the service and, for a write, the disk take turns. It returns the disk's rates too.
func (d *duel) measure(ctx context.Context, r *row) (f figure, appends []float64, err error) {
	d.reference.samples, d.ours.samples = nil, nil
	if err := d.mirror(ctx, r); err != nil {
		return f, nil, err
	}
	for range d.rounds {
		if r.write {
			rate, err := d.appends(ctx)
			if err != nil {
				return f, nil, err
			}
			appends = append(appends, rate)
		}
		if err := takeTurns(ctx, r, []*side{&d.reference, &d.ours}, d.round); err != nil {
			return f, nil, err
		}
	}
	f = figureOf(d.ours.samples, d.reference.samples)
	if r.write {
		f.ofAppends = spreadOf(quotients(rates(d.ours.samples), appends))
	}
	if d.profile != "" {
		err = d.writeProfile(ctx, r)
	}
	return f, appends, errors.Join(err, os.Truncate(d.ours.process.Log, 0))
}

// writeProfile writes a profile of the server's processor time under the row.
func (d *duel) writeProfile(ctx context.Context, r *row) error {
	done := make(chan error, 1)
	go func() {
		text, err := d.ours.process.page(ctx, "/debug/pprof/profile?seconds=5")
		done <- errors.Join(err, os.WriteFile(d.profile, text, 0o644))
	}()
	_, err := load(ctx, d.ours.process, d.ours.workload, r, 6*time.Second)
	return errors.Join(err, <-done)
}

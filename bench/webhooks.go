package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"time"
)

// The size of what is measured of deliveries to local receivers: one webhook each, of four workspaces.
const (
	hookWorkspaces = 4
	hooksEach      = 16               // of a workspace, which can have 20
	hookBurst      = 250              // events
	hookRate       = 2000 / hooksEach // events a second, each of which is delivered to all of a workspace
)

// An inbox is all receivers: of each event that one of them gets, how long that took from the commit.
type inbox chan time.Duration

// ServeHTTP takes an event.
func (b inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var e struct{ CreatedAt time.Time }
	if json.NewDecoder(r.Body).Decode(&e) == nil {
		b <- time.Since(e.CreatedAt)
	}
}

func (b *bench) measureWebhooks(ctx context.Context) (err error) {
	say("webhooks")
	db := filepath.Join(b.dir, "hooks.db")
	keys := make([]string, hookWorkspaces)
	for i := range keys {
		if keys[i], err = b.newWorkspace(db, fmt.Sprint("hooks-", i), nil, "--scope=read,write,manage"); err != nil {
			return err
		}
	}
	p, err := b.startServer(ctx, db, "--webhook-allow-http", "--webhook-allow-to", "127.0.0.0/8")
	if err != nil {
		return err
	}
	box := make(inbox, hookBurst*hooksEach)
	for i := range hookWorkspaces * hooksEach {
		receiver := httptest.NewServer(box)
		defer receiver.Close()
		if err := p.create(ctx, "/webhooks", keys[i%hookWorkspaces], fmt.Sprintf(`{"url":%q}`, receiver.URL)); err != nil {
			return err
		}
	}
	var rates, middles []float64
	for range b.rounds {
		began := time.Now()
		if _, err := box.events(ctx, p, keys, hookBurst, 0); err != nil {
			return err
		}
		rates = append(rates, hookBurst*hooksEach/time.Since(began).Seconds())
		late, err := box.events(ctx, p, keys, hookRate, time.Second/hookRate)
		if err != nil {
			return err
		}
		slices.Sort(late)
		middles = append(middles, micros(late[len(late)/2])/1000)
	}
	b.add(webhookSection(spreadOf(rates), spreadOf(middles)))
	return nil
}

// webhookSection has the rate of a burst, and the median in milliseconds from the commit to the receipt.
func webhookSection(rate, late spread) section {
	return section{title: "Webhooks", words: fmt.Sprintf(`%d local receivers, each of a webhook of its own, in %d workspaces. The rate is that of %d events at once, until the last is received. The
latency, from the commit to the receipt, is that of a steady %d deliveries a second.`, hookWorkspaces*hooksEach, hookWorkspaces, hookBurst, hookRate*hooksEach),
		table: table{" | figure", "deliveries/s | " + rate.ranged("%.0f"), "p50 ms | " + late.ranged("%.1f")},
		targets: []target{
			{"deliveries to 64 receivers, thousands a second", rate.median / 1000, 2, false}, {"from the commit to the receipt, p50, ms", late.median, 20, true},
		}}
}

// events has so many events happen, with a pause after each, and returns how late each was at each receiver.
func (b inbox) events(ctx context.Context, p *process, keys []string, n int, pause time.Duration) ([]time.Duration, error) {
	for i := range n {
		next := time.Now().Add(pause)
		if err := p.create(ctx, "/categories", keys[i%len(keys)], fmt.Sprintf(`{"name":"%d"}`, time.Now().UnixNano())); err != nil {
			return nil, err
		}
		time.Sleep(time.Until(next))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	late := make([]time.Duration, n*hooksEach)
	for i := range late {
		select {
		case late[i] = <-b:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d deliveries: %w", i, len(late), ctx.Err())
		}
	}
	return late, nil
}

// create makes something by a POST.
func (p *process) create(ctx context.Context, path, key, body string) error {
	_, _, err := call(ctx, http.MethodPost, "http://"+p.addr+path, key, body, http.StatusCreated)
	return err
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/webhook"
)

// listenPause is how long listen waits after a failure.
const listenPause = time.Second

func listenCommand(a *app) *cobra.Command {
	l := &listener{app: a}
	var types []petstore.EventType
	return overAPI(a, spec{
		use: "listen --forward-to URL [--type TYPE,...] [--secret SECRET]", short: "Forward the events of a workspace to a receiver on this machine", needs: []string{"forward-to"},
		long: `Follow the events of a workspace from now on, and post each to a URL as a webhook
would, signed with the secret that --secret or PETSTORE_SECRET gives, or else with a new
one that is printed. Each event is printed on a line, with the receiver's response.
With -o json, each line is an object. This needs only a server and a key with the scope
read, no webhook and no public address. It continues after an interruption on either side.`,
		output: words(),
	}, func(f *pflag.FlagSet) {
		f.StringVar(&l.to, "forward-to", "", "post the events to `URL`, such as http://127.0.0.1:3000/events")
		f.Var(config.List(&types, config.Word(new(petstore.EventType), petstore.EventTypes()...)), "type", "forward only events of the types `TYPE,...`")
		f.StringVar(&l.secret, "secret", "", "sign the events with `SECRET`, such as that of a webhook (default a new one)")
		config.FromEnvironment(f, "secret")
	}, func(ctx context.Context, c *client.Client) error {
		if u, err := url.Parse(l.to); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return usagef("--forward-to: %q is not an absolute http or https URL", config.Redact(l.to))
		}
		l.client = c
		for _, t := range types {
			l.params.Type = append(l.params.Type, client.EventType(t))
		}
		if l.minted = l.secret == ""; l.minted {
			l.secret = webhook.MintSecret()
		}
		if webhook.Sign(http.Header{}, webhook.Message{Secrets: []string{l.secret}}, a.now()) != nil {
			return a.fault("secret", "must be whsec_ and base64, as the secret of a webhook")
		}
		return l.run(ctx)
	})
}

// A listener forwards events to a receiver.
type listener struct {
	*app
	client *client.Client
	sender *webhook.Sender
	to     string
	secret string
	minted bool                    // whether the secret is a new one
	params client.ListEventsParams // After is the last event that was forwarded; nil to begin with the oldest
}

func (l *listener) run(ctx context.Context) error {
	everywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	l.sender = webhook.NewSender(webhook.SenderOptions{Guard: webhook.NewGuard(true, everywhere), Now: l.now, Version: version().Version})
	defer l.sender.Close()
	account, err := l.client.GetAccount(ctx)
	if err != nil {
		return err
	}
	last, err := l.client.LastEvent(ctx)
	if err != nil {
		return err
	}
	l.params.After = &last
	if err := l.printStart(account.Workspace.Name); err != nil {
		return err
	}
	for {
		err := l.follow(ctx, account.Workspace.ID)
		e, answered := errors.AsType[*client.Error](err)
		switch {
		case answered && e.Code == client.CodeEventsExpired:
			fmt.Fprintf(l.err, "petstore: %s Continuing with the oldest event that is kept.\n", access.Printable(e.Message))
			l.params.After = nil
			continue
		case answered && e.Status < 500:
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(l.err, "petstore: trying again: %s\n", access.Printable(withoutPrefix(err)))
		pause(ctx, listenPause)
	}
}

// follow forwards events, as the server sends them, until the server cannot be asked.
func (l *listener) follow(ctx context.Context, workspace int64) error {
	for event, err := range l.client.FollowRawEvents(ctx, l.params) {
		if err == nil {
			err = l.forward(ctx, workspace, event)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// forward posts an event until the receiver answers.
func (l *listener) forward(ctx context.Context, workspace int64, event json.RawMessage) error {
	var e struct {
		ID   int64
		Type string
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return err
	}
	m := webhook.Message{ID: webhook.MessageID(workspace, e.ID), URL: l.to, Secrets: []string{l.secret}, Body: event}
	for {
		answer := l.sender.Send(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		latency := answer.Latency.Milliseconds()
		line, said := map[string]any{"id": e.ID, "type": e.Type, "latencyMs": latency, "error": answer.Error}, answer.Error
		if answer.Status != 0 {
			delete(line, "error")
			line["status"], said = answer.Status, fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status))
		}
		if err := l.printLine(line, fmt.Sprintf("%-8d %-18s  %s (%d ms)", e.ID, e.Type, said, latency)); err != nil {
			return err
		}
		if answer.Status != 0 {
			l.params.After = &e.ID
			return nil
		}
		pause(ctx, listenPause)
	}
}

// printStart prints what is forwarded where, and the secret if nobody has it yet.
func (l *listener) printStart(workspace string) error {
	to := config.Redact(l.to)
	line, text := map[string]any{"workspace": workspace, "forwardTo": to}, fmt.Sprintf("Forwarding the events of %s to %s", workspace, to)
	if l.minted {
		line["secret"] = l.secret
		text += ", signed with the secret " + l.secret
	}
	return l.printLine(line, text)
}

// pause waits before something is tried again.
func pause(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}

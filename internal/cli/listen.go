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
	"example.com/petstore/internal/webhook"
)

// listenPause is how long listen waits after a failure.
const listenPause = time.Second

func (a *app) listenCommand() *cobra.Command {
	var to string
	var types []client.EventType
	return a.remote(remote{
		use: "listen --forward-to URL [--type TYPE,...]", short: "Forward the events of a workspace to a receiver on this machine", needs: []string{"forward-to"},
		long: `Follow the events of a workspace from now on, and post each to a URL as a webhook
would, signed with a secret that is printed. Each event is printed on a line, with
the receiver's response. This needs only a server and a key with the scope read, no
webhook and no public address. It continues after an interruption on either side.`,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&to, "forward-to", "", "post the events to `URL`, such as http://127.0.0.1:3000/events")
			eventTypeFlag(f, &types, "forward only events of the types `TYPE,...`")
		},
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			if u, err := url.Parse(to); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return usagef("--forward-to: %q is not an absolute http or https URL", to)
			}
			l := &listener{app: a, client: c, to: to, secret: webhook.MintSecret(), params: client.ListEventsParams{Type: types}}
			return l.run(ctx)
		},
	})
}

// A listener forwards events to a receiver.
type listener struct {
	*app
	client *client.Client
	sender *webhook.Sender
	to     string
	secret string
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
	fmt.Fprintf(l.out, "Forwarding the events of %s to %s\nSecret: %s\n", account.Workspace.Name, l.to, l.secret)
	for {
		err := l.follow(ctx, account.Workspace.ID)
		e, answered := errors.AsType[*client.Error](err)
		switch {
		case answered && e.Code == client.CodeEventsExpired:
			if err = l.passGap(ctx, e); err == nil {
				continue
			}
		case answered && e.Status < 500:
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(l.err, "petstore: trying again: %s\n", withoutPrefix(err))
		pause(ctx, listenPause)
	}
}

// passGap goes on after the position has expired, and says so: with the oldest event that is
// kept, or at the end of the feed if the position is beyond it.
func (l *listener) passGap(ctx context.Context, expired *client.Error) error {
	last, err := l.client.LastEvent(ctx)
	if err != nil {
		return err
	}
	next := fromOldest
	if l.params.After != nil && *l.params.After > last { // the server has another feed now
		l.params.After, next = &last, fromEnd
	} else {
		l.params.After = nil
	}
	fmt.Fprintf(l.err, "petstore: %s %s\n", expired.Message, next)
	return nil
}

// follow forwards events until the server cannot be asked.
func (l *listener) follow(ctx context.Context, workspace int64) error {
	for e, err := range l.client.FollowEvents(ctx, l.params) {
		if err != nil {
			return err
		}
		if err := l.forward(ctx, workspace, e); err != nil {
			return err
		}
		l.params.After = &e.ID
	}
	return ctx.Err()
}

// forward posts an event until the receiver answers.
func (l *listener) forward(ctx context.Context, workspace int64, e client.Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	m := webhook.Message{ID: webhook.MessageID(workspace, e.ID), URL: l.to, Secrets: []string{l.secret}, Body: body}
	for {
		answer := l.sender.Send(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		said := answer.Error
		if answer.Status != 0 {
			said = fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status))
		}
		if _, err := fmt.Fprintf(l.out, "%-8d %-18s  %s (%d ms)\n", e.ID, e.Type, said, answer.Latency.Milliseconds()); err != nil || answer.Status != 0 {
			return err
		}
		pause(ctx, listenPause)
	}
}

// pause waits before something is tried again.
func pause(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/node"
)

func healthcheckCommand(a *app) *cobra.Command {
	return newCommand(a, spec{
		use:      "healthcheck",
		short:    "Ask a running server whether it is ready",
		long:     "Ask the operations listener of a running server whether it is ready, and fail if it is\nnot. This is for containers and scripts. It prints only errors.",
		settings: []string{"ops-addr"},
		run: func(ctx context.Context, _ []string) error {
			if a.config.OpsAddr == config.Off {
				return a.fault("ops-addr", "there is no operations listener to ask")
			}
			return askReady(ctx, node.LocalURL(a.config.OpsAddr)+"/readyz")
		},
	})
}

// askReady returns nil if the server says that it is ready, and what it says if it is
// not.
func askReady(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// A transport of its own: no proxy of the environment stands before us.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 3 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer resp.Body.Close() // only read
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<12))
	return errors.Join(fmt.Errorf("not ready: %s answered %d: %s", url, resp.StatusCode, body), err)
}

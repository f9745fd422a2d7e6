// Package verify is what the guide to webhooks shows.
package verify

import (
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Verify returns an error unless a request comes from the webhook with the secret. body
// is what was received, before it is parsed.
func Verify(secret string, header http.Header, body []byte) error {
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return hook.Verify(body, header)
}

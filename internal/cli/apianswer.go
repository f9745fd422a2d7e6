package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"example.com/petstore/client"
	"example.com/petstore/internal/access"
)

// tableColumns are the columns of the tables of resources, by the name of the schema. Tables of other resources show every member.
var tableColumns = map[string]string{
	"Key":         "id,name,prefix=KEY,scopes,state,expiresAt,bannedUntil",
	"MadeKey":     "id,name,scopes,expiresAt",
	"Workspace":   "id,name,plan,perMinute,perDay,createdAt",
	"Movement":    "number,at,kind,orderId,delta,quantity",
	"Webhook":     "id,url,types,state,after,failingSince",
	"MadeWebhook": "id,url,types,state",
	"Delivery":    "id=EVENT,type,state,tries,status,nextTryAt,answer,error",
}

// secrets are the members that a server shows only once, by the name of the schema.
var secrets = map[string]string{"MadeKey": "key", "MadeWebhook": "secret"}

// printAnswer prints an answer. As JSON, it is laid out over lines and otherwise unchanged.
func (c *apiCommand) printAnswer(answer json.RawMessage) error {
	shownOnce := cmp.Or(c.secret, secrets[c.result.Name])
	if err := json.Unmarshal(answer, new(json.RawMessage)); err != nil {
		return fmt.Errorf("the answer to %s: %w", c.OperationID, err)
	}
	if shownOnce != "" {
		return c.printSecret(answer, shownOnce, c.columns())
	}
	return c.app.print(answer, tableOf(answer, c.columns()))
}

// columns returns the columns for the resources of the answer.
func (c *apiCommand) columns() string {
	s := c.result
	if s.Type == "array" {
		s = c.Schema(s.Items)
	}
	if columns := cmp.Or(c.shows, tableColumns[s.Name]); columns != "" {
		return columns
	}
	var all []string
	for _, p := range s.Properties {
		all = append(all, p.Key)
	}
	return strings.Join(all, ",")
}

// printAll prints a page of a list and all that follow as one list.
func (c *apiCommand) printAll(ctx context.Context, server *client.Client, req client.Request) error {
	var all [][]byte
	for {
		answer, resp, err := server.Do(ctx, req)
		if err != nil {
			return err
		}
		var page []json.RawMessage
		if err := json.Unmarshal(answer, &page); err != nil {
			return fmt.Errorf("the answer to %s: %w", c.OperationID, err)
		}
		for _, item := range page {
			all = append(all, item)
		}
		if resp.Next() == "" {
			return c.printAnswer(fmt.Appendf(nil, "[%s]", bytes.Join(all, []byte(","))))
		}
		req.Query.Set(cursor, resp.Next())
	}
}

// printOnly prints the only resource of a list, which replaces a deprecated operation on an id.
func (c *apiCommand) printOnly(id any, path string, list json.RawMessage) error {
	var found []json.RawMessage
	if err := json.Unmarshal(list, &found); err != nil {
		return fmt.Errorf("the answer to %s: %w", c.OperationID, err)
	}
	if len(found) == 0 {
		_, item := wordsOf(c.OperationID)
		return fmt.Errorf("GET %s: 404 %s_not_found: There is no %s %v", path, item, item, id)
	}
	return c.printAnswer(found[0])
}

// printRemoval says that a resource is no more, or that what the key belongs to was reset.
func (c *apiCommand) printRemoval() error {
	verb, item := wordsOf(c.OperationID)
	member := "deleted"
	if verb == "revoke" {
		member = "revoked"
	}
	did := map[string]string{"delete": "Deleted", "cancel": "Cancelled", "revoke": "Revoked", "reset": "Reset"}[verb]
	if len(c.args) == 0 {
		return c.printDone(map[string]bool{verb: true}, "%s the %s", did, item)
	}
	return c.printDone(map[string]any{"id": c.args[0].value, member: true}, "%s the %s %v", did, item, c.args[0].value)
}

// sayMore says on stderr where the next page of a list starts. The feed of events always names a next page.
func (c *apiCommand) sayMore(resp client.Response) {
	how, more := "--after", resp.Header.Get("X-Has-More") == "true"
	if c.isPaged() {
		how, more = "--all, or --cursor", true
	}
	if next := resp.Next(); more && next != "" {
		fmt.Fprintf(c.err, "petstore: there is more: use %s %s\n", how, access.Printable(next))
	}
}

// testPassed returns an error unless the receiver took the test event.
func testPassed(answer json.RawMessage) error {
	var v client.WebhookAnswer
	switch err := json.Unmarshal(answer, &v); {
	case err != nil:
		return err
	case v.Status == 0:
		return errors.New("the test failed: " + v.Error)
	case v.Status < 200 || v.Status > 299:
		return fmt.Errorf("the test failed: the receiver answered %d", v.Status)
	}
	return nil
}

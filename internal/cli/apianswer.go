package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/client"
	"example.com/petstore/internal/access"
)

// tableColumns are the columns of the tables of resources, by the name of the schema: members, in some cases with a title. Tables
// of other resources show every member.
var tableColumns = map[string]string{
	"Key":         "id name prefix=KEY scopes state expiresAt bannedUntil",
	"MadeKey":     "id name scopes expiresAt",
	"Movement":    "number at kind orderId delta quantity",
	"Webhook":     "id url types state after failingSince",
	"MadeWebhook": "id url types state",
	"Delivery":    "id=EVENT type state tries status nextTryAt answer error",
}

// secrets are the members that a server shows only once, by the name of the schema.
var secrets = map[string]string{"MadeKey": "key", "MadeWebhook": "secret"}

// whenMissing is what a table shows for a member that is missing.
var whenMissing = map[string]string{
	"expiresAt": "never", "bannedUntil": "-", "failingSince": "-", "nextTryAt": "-", "types": "all", "status": "none",
}

// printAnswer prints an answer. As JSON, it is laid out over lines and otherwise unchanged.
func (c *apiCommand) printAnswer(answer json.RawMessage) error {
	if !json.Valid(answer) {
		return fmt.Errorf("the answer to %s is not JSON", c.ID)
	}
	shownOnce, made := secrets[c.result.name]
	if !made {
		return c.app.print(answer, c.answerTable(answer))
	}
	var resource map[string]json.RawMessage
	_ = json.Unmarshal(answer, &resource) // what is no object has no members
	var table rows
	for _, column := range c.columns() {
		name, title := titled(column)
		table = append(table, []string{title, cell(name, resource[name])})
	}
	return c.printSecret(shownOnce, cell("id", resource["id"]), answer, append(table, nil, []string{cell(shownOnce, resource[shownOnce])}))
}

// answerTable returns an answer as a table, with a line for each resource.
func (c *apiCommand) answerTable(answer json.RawMessage) rows {
	if c.show != nil {
		return c.show(answer)
	}
	if c.result.Type != "array" {
		answer = fmt.Appendf(nil, "[%s]", answer)
	}
	var all []map[string]json.RawMessage
	_ = json.Unmarshal(answer, &all) // what is no list of objects has no lines
	table := make(rows, 1+len(all))
	for _, column := range c.columns() {
		name, title := titled(column)
		table[0] = append(table[0], title)
		for i, resource := range all {
			table[i+1] = append(table[i+1], cell(name, resource[name]))
		}
	}
	return table
}

// columns returns the columns for the resources of the answer.
func (c *apiCommand) columns() []string {
	s := c.result
	if s.Type == "array" {
		s = readDescription().resolve(s.Items)
	}
	all := strings.Fields(tableColumns[s.name])
	if len(all) == 0 {
		for _, p := range s.Properties {
			all = append(all, p.name)
		}
	}
	return all
}

// titled returns the member and the title of a column.
func titled(column string) (name, title string) {
	name, title, given := strings.Cut(column, "=")
	if !given {
		title = strings.ToUpper(label(name))
	}
	return name, title
}

// cell returns the value of a member for a table: an instant in words, of a text the first line, of a list all elements.
func cell(name string, value json.RawMessage) string {
	var text string
	var list []string
	switch {
	case value == nil || string(value) == "null":
		return whenMissing[name]
	case json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ",")
	case json.Unmarshal(value, &text) != nil:
		return string(value)
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return moment(t, "")
	}
	text, _, _ = strings.Cut(text, "\n")
	if name == "prefix" { // of a key
		text += "…"
	}
	return text
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
			return fmt.Errorf("the answer to %s: %w", c.ID, err)
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
		return fmt.Errorf("the answer to %s: %w", c.ID, err)
	}
	if len(found) == 0 {
		_, item := c.words()
		return fmt.Errorf("GET %s: 404 %s_not_found: There is no %s %v", path, item, item, id)
	}
	return c.printAnswer(found[0])
}

// printRemoval says that a resource is no more.
func (c *apiCommand) printRemoval(id any) error {
	verb, item := c.words()
	did, member := "Deleted", "deleted"
	switch verb {
	case "cancel":
		did = "Cancelled"
	case "revoke":
		did, member = "Revoked", "revoked"
	}
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return c.printDone(json.RawMessage(fmt.Sprintf(`{"id":%s,%q:true}`, text, member)), "%s the %s %v", did, item, id)
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

func accountTable(answer json.RawMessage) rows {
	var v client.Account
	_ = json.Unmarshal(answer, &v) // members of other types stay empty
	left := func(w client.RateLimitWindow) string {
		return fmt.Sprintf("%d of %d left until %s", w.Remaining, w.Limit, moment(time.Unix(w.Reset, 0), ""))
	}
	return rows{
		{"WORKSPACE", v.Workspace.Name}, {"PLAN", string(v.Plan)}, {"KEY", v.Key.ID + " (" + v.Key.Name + ")"}, {"SCOPES", commas(v.Key.Scopes)},
		{"EXPIRES", moment(v.Key.ExpiresAt, "never")}, {"STRIKES LEFT", strconv.Itoa(v.Key.StrikesLeft)},
		{"MINUTE", left(v.Limits.Minute)}, {"DAY", left(v.Limits.Day)},
	}
}

// testTable shows the response of a receiver to a test event.
func testTable(answer json.RawMessage) rows {
	var v client.WebhookAnswer
	_ = json.Unmarshal(answer, &v) // as above
	status := "none"
	if v.Status != 0 {
		status = strconv.Itoa(v.Status)
	}
	return rows{{"STATUS", status}, {"LATENCY", number(v.LatencyMs) + " ms"}, {"ANSWER", v.Answer + v.Error}}
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

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
)

// views are the columns of the tables of resources, by the name of the schema: members, in some cases with a title. Tables
// of other resources show every member.
var views = map[string]string{
	"Key":         "id name prefix=KEY scopes state expiresAt bannedUntil",
	"MadeKey":     "id name scopes expiresAt",
	"Movement":    "number at kind orderId delta quantity",
	"Webhook":     "id url types state after failingSince",
	"MadeWebhook": "id url types state",
	"Delivery":    "id=EVENT type state tries status nextTryAt answer+error=ANSWER",
}

// secrets are the members that a server shows only once, by the name of the schema.
var secrets = map[string]string{"MadeKey": "key", "MadeWebhook": "secret"}

// whenMissing is what a table shows for a member that is missing.
var whenMissing = map[string]string{
	"expiresAt": "never", "bannedUntil": "-", "failingSince": "-", "nextTryAt": "-", "types": "all", "status": "none",
}

// A resource is an object of an answer.
type resource map[string]json.RawMessage

// printAnswer prints an answer. As JSON, it is laid out over lines and otherwise unchanged.
func (c *apiCommand) printAnswer(answer json.RawMessage) error {
	if !json.Valid(answer) {
		return fmt.Errorf("the answer to %s is not JSON", c.ID)
	}
	if secret, made := secrets[c.result.name]; made {
		return c.printMade(secret, answer)
	}
	if c.chosen() == "json" {
		return c.app.print(answer, nil)
	}
	table, err := c.tableOf(answer)
	if err != nil {
		return fmt.Errorf("the answer to %s: %w", c.ID, err)
	}
	return c.table(table)
}

// printMade prints a resource with its secret.
func (c *apiCommand) printMade(secret string, answer json.RawMessage) error {
	var made resource
	if err := json.Unmarshal(answer, &made); err != nil {
		return fmt.Errorf("the answer to %s: %w", c.ID, err)
	}
	var table rows
	for _, f := range c.fields() {
		table.add(f.title, f.cell(made))
	}
	table = append(table, nil, []string{cell(made[secret])})
	return c.printSecret(secret, cell(made["id"]), answer, table)
}

// tableOf returns an answer as a table, with a line for each resource.
func (c *apiCommand) tableOf(answer json.RawMessage) (rows, error) {
	if c.show != nil {
		return c.show(answer)
	}
	var all []resource
	if c.result.Type != "array" {
		answer = fmt.Appendf(nil, "[%s]", answer)
	}
	if err := json.Unmarshal(answer, &all); err != nil {
		return nil, err
	}
	fields := c.fields()
	table := make(rows, 1, len(all)+1)
	for _, f := range fields {
		table[0] = append(table[0], f.title)
	}
	for _, r := range all {
		var line []string
		for _, f := range fields {
			line = append(line, f.cell(r))
		}
		table = append(table, line)
	}
	return table, nil
}

// A field is a column of a table.
type field struct {
	members []string // whose values are shown one after the other
	title   string
}

// fields returns the columns for the resources of the answer.
func (c *apiCommand) fields() []field {
	s := c.result
	if s.Type == "array" {
		s = readDescription().resolve(s.Items)
	}
	var all []field
	for word := range strings.FieldsSeq(views[s.name]) {
		members, title, named := strings.Cut(word, "=")
		if !named {
			title = strings.ToUpper(label(members))
		}
		all = append(all, field{strings.Split(members, "+"), title})
	}
	if all == nil {
		for _, p := range s.Properties {
			all = append(all, field{[]string{p.name}, strings.ToUpper(label(p.name))})
		}
	}
	return all
}

// cell returns what the column shows of a resource.
func (f field) cell(r resource) string {
	text := ""
	for _, name := range f.members {
		text += cell(r[name])
	}
	switch {
	case text == "":
		return whenMissing[f.members[0]]
	case f.members[0] == "prefix": // of a key
		return text + "…"
	}
	return text
}

// cell returns a value for a table: an instant in words, of a text the first line, and of a list all elements.
func cell(value json.RawMessage) string {
	var text string
	var list []string
	switch {
	case value == nil || string(value) == "null":
		return ""
	case json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ",")
	case json.Unmarshal(value, &text) != nil:
		return string(value)
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return moment(t, "")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
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
func (c *apiCommand) printOnly(id, path string, list json.RawMessage) error {
	var found []json.RawMessage
	if err := json.Unmarshal(list, &found); err != nil {
		return fmt.Errorf("the answer to %s: %w", c.ID, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("GET %s: 404 %s_not_found: There is no %s %s", path, c.item(), c.item(), id)
	}
	return c.printAnswer(found[0])
}

// printRemoval says that a resource is no more.
func (c *apiCommand) printRemoval(id any) error {
	did, member := "Deleted", "deleted"
	switch c.verb {
	case "cancel":
		did = "Cancelled"
	case "revoke":
		did, member = "Revoked", "revoked"
	}
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return c.printDone(json.RawMessage(fmt.Sprintf(`{"id":%s,%q:true}`, text, member)), "%s the %s %v", did, c.item(), id)
}

// sayMore says on stderr where the next page of a list starts.
func (c *apiCommand) sayMore(resp client.Response) {
	switch {
	case resp.Header.Get("X-Has-More") != "true":
	case c.isPaged():
		fmt.Fprintf(c.err, "petstore: there is more: use --all, or --cursor %s\n", resp.Next())
	default:
		fmt.Fprintf(c.err, "petstore: there is more: use --after %s\n", resp.Next())
	}
}

func accountTable(answer json.RawMessage) (rows, error) {
	var v client.Account
	if err := json.Unmarshal(answer, &v); err != nil {
		return nil, err
	}
	table := rows{
		{"WORKSPACE", v.Workspace.Name},
		{"PLAN", string(v.Plan)},
		{"KEY", v.Key.ID + " (" + v.Key.Name + ")"},
		{"SCOPES", commas(v.Key.Scopes)},
		{"EXPIRES", moment(v.Key.ExpiresAt, "never")},
		{"STRIKES LEFT", strconv.Itoa(v.Key.StrikesLeft)},
	}
	for _, w := range []struct {
		name   string
		window client.RateLimitWindow
	}{{"MINUTE", v.Limits.Minute}, {"DAY", v.Limits.Day}} {
		table.add(w.name, number(w.window.Remaining)+" of "+number(w.window.Limit)+" left until "+moment(time.Unix(w.window.Reset, 0), ""))
	}
	return table, nil
}

// testTable shows the response of a receiver to a test event.
func testTable(answer json.RawMessage) (rows, error) {
	var v client.WebhookAnswer
	if err := json.Unmarshal(answer, &v); err != nil {
		return nil, err
	}
	status := "none"
	if v.Status != 0 {
		status = strconv.Itoa(v.Status)
	}
	return rows{{"STATUS", status}, {"LATENCY", number(v.LatencyMs) + " ms"}, {"ANSWER", v.Answer + v.Error}}, nil
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

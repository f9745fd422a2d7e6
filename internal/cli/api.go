package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/client"
	"example.com/petstore/internal/access"
)

// webhooks is the noun of the operations that are the commands of "petstore webhook".
const webhooks = "webhooks"

// An override is where a command differs from what the description of its operation gives.
type override struct {
	name          string // of the command
	aliases       []string
	long, example string
	flags         map[string]string // names of flags and arguments, by the member
	flagsOnly     bool              // no member of the body is an argument
	values        map[string]any    // what is sent for members that are not given
	shows         string            // the columns of its table
	secret        string            // the member that the server shows only once

	after func(answer json.RawMessage) error // judges an answer that was printed

	// Of commands of the operator's API:
	migrates bool   // the database is created if there is none
	asks     string // what must be confirmed, with the name of the workspace
	did      string // what is printed when it is done, before the workspace or the key
}

// apiOverrides are by the operationId. Everything else follows the rules of newAPICommand.
var apiOverrides = map[string]override{
	"cancelOrder":     {aliases: []string{"delete"}},
	"updateInventory": {name: "set", aliases: []string{"update"}},
	"listOrders":      {flags: map[string]string{"shipDateFrom": "from", "shipDateTo": "to"}},
	"getAccount": {shows: "workspace.name=WORKSPACE,plan,key.id=KEY,key.name=NAME,key.scopes=SCOPES," +
		"key.expiresAt=EXPIRES,key.strikesLeft=STRIKES LEFT,limits.minute.remaining=LEFT THIS MINUTE,limits.minute.limit=OF THIS MINUTE,limits.minute.reset=MINUTE ENDS," +
		"limits.day.remaining=LEFT TODAY,limits.day.limit=OF TODAY,limits.day.reset=DAY ENDS"},
	"getWebhook":    {name: "show", aliases: []string{"get"}},
	"replayWebhook": {values: map[string]any{"after": 0}},
	"testWebhook":   {after: testPassed},
}

// An apiCommand is a command that makes one request, as the description of an operation says.
type apiCommand struct {
	*app
	*description
	*operation
	override
	noun, verb string
	args       []*member // in their order
	flags      []*member
	result     *schema // nil if there is no body
	all        bool    // whether all pages are printed
	yes        bool    // whether it was confirmed

	req   client.Request
	opts  []client.CallOption
	found access.Workspace // that the path of req is about
}

// newAPICommand returns the command of o. Its arguments are the ids in the path, and for a body the first member that it
// must have. All others are flags.
func newAPICommand(a *app, d *description, o *operation) *apiCommand {
	c := &apiCommand{app: a, description: d, operation: o, override: d.overrides[o.OperationID], result: d.result(o)}
	c.noun, c.verb = namesOf(o)
	if d.forOperators {
		c.noun, c.all = o.Tags[0], c.result != nil && c.result.Type == "array"
	}
	named := c.flagsOnly // whether an argument is a member of the body
	for _, m := range d.members(o, a.now) {
		_, optional := c.values[m.name]
		m.required = m.required && !optional
		m.flag = cmp.Or(c.override.flags[m.name], m.flag)
		if m.in == "path" || m.in == "" || m.in == "body" && m.required && !named {
			c.args = append(c.args, m)
			named = named || m.in == "body"
		} else {
			c.flags = append(c.flags, m)
		}
	}
	return c
}

// apiCommands returns the commands of all operations of d, by their nouns.
func apiCommands(a *app, d *description) map[string][]*apiCommand {
	byNoun := map[string][]*apiCommand{}
	for _, o := range d.Operations() {
		c := newAPICommand(a, d, o)
		byNoun[c.noun] = append(byNoun[c.noun], c)
	}
	return byNoun
}

// newAPIGroup returns "petstore api": a command for each noun, which holds one for each operation.
func newAPIGroup(operations map[string][]*apiCommand) *cobra.Command {
	group := newGroup("api", "Call the API of any server")
	group.Long = `Call the API of any server, with an API key.

Give the key as PETSTORE_KEY rather than as a flag: other users of this machine can see
the command lines of running programs. The key is never printed.

If the rate limit refuses a request, it is repeated when the server says so, unless that
takes more than two minutes. If a response is lost, the request is repeated if that is
safe. With -o json, everything that the server sent is printed, with its values unchanged.`
	group.Example = "  export PETSTORE_SERVER=https://petstore.example PETSTORE_KEY=pst_…\n  petstore api pets list --status available --all"
	for noun, all := range operations {
		switch {
		case noun == webhooks: // they have a group of their own
		case len(all) == 1: // as account
			all[0].verb = noun
			group.AddCommand(all[0].command())
		default:
			about := all[0].about(all[0].operation)
			ofNoun := newGroup(noun, firstSentence(about), commandsOf(all)...)
			ofNoun.Long = about
			group.AddCommand(ofNoun)
		}
	}
	return group
}

// newWebhookGroup returns "petstore webhook", whose commands are made as those of "petstore api".
func newWebhookGroup(operations []*apiCommand) *cobra.Command {
	group := newGroup("webhook", "Create, list, show, change, test and replay the webhooks of a workspace", commandsOf(operations)...)
	group.Long = "Manage the webhooks of a workspace over its API. This needs a key with the scopes\nread and manage, which is best given as PETSTORE_KEY. Secrets are printed once. A webhook\nbelongs to the workspace: it goes on when the key that created it is revoked or expires."
	group.Example = "  export PETSTORE_SERVER=https://petstore.example PETSTORE_KEY=pst_…\n  petstore webhook create https://example.com/petstore --type order.created"
	return group
}

func commandsOf(operations []*apiCommand) (commands []*cobra.Command) {
	for _, c := range operations {
		commands = append(commands, c.command())
	}
	return commands
}

// command returns the command of c for cobra.
func (c *apiCommand) command() *cobra.Command {
	use, needs := []string{cmp.Or(c.override.name, c.verb)}, []string{}
	for _, m := range c.args {
		use = append(use, m.argument(c.noun))
	}
	for _, m := range c.flags {
		if m.required {
			needs = append(needs, m.flag)
			use = append(use, "--"+m.flag+" "+m.Type())
		}
	}
	switch {
	case c.asks != "":
		use = append(use, "[--yes]")
	case len(c.flags) > len(needs):
		use = append(use, "[FLAGS]")
	}
	s := spec{
		use: strings.Join(use, " "), args: cobra.ExactArgs(len(c.args)), short: c.Summary, long: c.long, example: c.example, needs: needs, output: tables(),
		check: c.prepare,
	}
	if c.forOperators {
		return c.onOperator(s)
	}
	cmd := overAPI(c.app, s, c.registerFlags, c.run)
	cmd.Aliases = c.aliases
	return cmd
}

func (c *apiCommand) registerFlags(flags *pflag.FlagSet) {
	for _, m := range c.flags {
		usage := m.usage()
		if value, given := c.values[m.name]; given {
			usage += fmt.Sprintf(" (default %#v)", value) // with the quotes of a text
		}
		if f := flags.VarPF(m, m.flag, "", usage); m.form == "bool" {
			f.NoOptDefVal = "true"
		}
	}
	if c.isPaged() {
		flags.BoolVar(&c.all, "all", false, "print all pages")
	}
	if c.asks != "" {
		flags.BoolVarP(&c.yes, "yes", "y", false, "do not ask for confirmation")
	}
}

// isPaged reports whether the answer is a page of a list that has an end. The feed of events has none.
func (c *apiCommand) isPaged() bool {
	return slices.ContainsFunc(c.flags, func(m *member) bool { return m.name == cursor })
}

// run makes the request and prints the answer.
func (c *apiCommand) run(ctx context.Context, server *client.Client) error {
	if c.all {
		return c.printAll(ctx, server, c.req)
	}
	answer, resp, err := server.Do(ctx, c.req, c.opts...)
	switch {
	case err != nil:
		return err
	case c.did != "":
		return c.printChange(answer)
	case c.result == nil:
		return c.printRemoval()
	case c.Successor != "":
		return c.printOnly(c.args[0].value, c.req.Path, answer)
	}
	if err := c.printAnswer(answer); err != nil {
		return err
	}
	if c.sayMore(resp); c.after != nil {
		return c.after(answer)
	}
	return nil
}

// prepare makes the request from the arguments and from the flags that were given.
func (c *apiCommand) prepare(args []string) error {
	c.req = client.Request{Operation: c.OperationID, Method: c.Method, Path: c.Path, Query: url.Values{}, MediaType: "application/json"}
	body := map[string]any{}
	maps.Copy(body, c.values)
	if err := c.takeArguments(args, body); err != nil {
		return err
	}
	var changes []string
	for _, m := range c.flags {
		if m.in == "body" {
			changes = append(changes, "--"+m.flag)
		}
		if !c.given(m.flag) {
			continue
		}
		if m.addTo(&c.req, body); m.in == "header" {
			c.opts = append(c.opts, client.IdempotencyKey(fmt.Sprint(m.value)))
		}
	}
	if c.all && !c.given(pageSize) {
		c.req.Query.Set(pageSize, "100")
	}
	if c.Successor != "" { // such as "GET /pets?id={petId}"
		target, query, _ := strings.Cut(strings.TrimPrefix(c.Successor, "GET "), "?")
		name, _, _ := strings.Cut(query, "=")
		c.req.Path, c.req.Query = target, url.Values{name: {fmt.Sprint(c.args[0].value)}}
	}
	if c.RequestBody != nil {
		c.req.Body = body
	}
	if c.Method == http.MethodPatch {
		if c.req.MediaType = "application/merge-patch+json"; len(body) == 0 && len(changes) > 0 {
			return usagef("nothing to change: give %s", english.WordSeries(changes, "or"))
		}
	}
	return nil
}

// takeArguments adds the arguments to the request, or to its body.
func (c *apiCommand) takeArguments(args []string, body map[string]any) error {
	for i, text := range args {
		m := c.args[i]
		if err := m.setArgument(m.argument(c.noun), text); err != nil {
			return err
		}
		if c.forOperators && m.name == "keyId" && !access.WellFormedID(text) { // such as "..", which leads to another path
			return access.NoKey(text)
		}
		m.addTo(&c.req, body)
	}
	return nil
}

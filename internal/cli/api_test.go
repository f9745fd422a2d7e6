package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/config"
)

// call runs a command on a server and returns its exit code, and what it prints and says.
func call(t *testing.T, server http.HandlerFunc, args ...string) (code int, out, said string) {
	t.Helper()
	s := httptest.NewServer(server)
	defer s.Close()
	env := map[string]string{"PETSTORE_SERVER": s.URL, "PETSTORE_KEY": "pst_key", "PETSTORE_OPS_SERVER": s.URL, "PETSTORE_TOKEN": "pso_token"}
	var stdout, stderr bytes.Buffer
	code = Main(t.Context(), args, strings.NewReader(""), &stdout, &stderr, func(name string) string { return env[name] })
	return code, stdout.String(), stderr.String()
}

// answer answers every request with a body.
func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

// TestAnswersAreUnchanged: with -o json nothing that a server sends is left out or rewritten, also what is false, empty or
// unknown to this program. Only spaces and lines are added.
func TestAnswersAreUnchanged(t *testing.T) {
	t.Parallel()
	const order = `{"quantity":1e0,"complete":false,"id":1,"petId":9007199254740993,"new":{"z":0,"a":[]},"note":"<&\u003c\u2028\/ü"}`
	for command, sent := range map[string]string{
		"api orders list":                     "[" + order + ",{}]",
		"api orders list --all":               "[" + order + "]",
		"api orders get 1":                    order,
		"api orders create 1":                 order,
		"api orders update 1 --complete":      order,
		"api categories list":                 "[]",
		"api account":                         `{"workspace":{},"extra":null}`,
		"api keys create till":                `{"id":"key_1","key":"pst_2","rotatedTo":"","scopes":[]}`,
		"webhook list":                        `[{"id":"wh_1","after":0,"types":[]}]`,
		"webhook deliveries wh_1":             `[{"id":1,"tries":0,"latencyMs":0}]`,
		"api pets replace 1 Rex --category 2": order,
		"api events list":                     "[" + order + "]",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			code, out, said := call(t, answer(sent), append(strings.Fields(command), "-o", "json")...)
			var compact bytes.Buffer
			if err := json.Compact(&compact, []byte(out)); err != nil || code != Success || compact.String() != sent {
				t.Errorf("%s = %d, %v, said %q, printed\n%s\nwant\n%s", command, code, err, said, compact.String(), sent)
			}
		})
	}
}

// TestTables: a table shows the members of a resource, or those that its view names, each in words.
func TestTables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ command, sent, want string }{
		{"api categories list", `[{"name":"Dogs","id":1},{"id":2,"name":"Cats","description":"a\u001bb"}]`, "ID  NAME  DESCRIPTION\n1   Dogs  \n2   Cats  a\\u001bb\n"},
		{"api orders get 1", `{"id":1,"petId":2,"quantity":3,"complete":false,"shipDate":"2026-03-01T09:30:00+01:00"}`,
			"ID         1\nPET        2\nQUANTITY   3\nSHIP DATE  2026-03-01 08:30:00 UTC\nCOMPLETE   false\n"},
		{"webhook list", `[{"id":"wh_1","url":"u","state":"active","after":0}]`, "ID    URL  TYPES  STATE   AFTER  FAILING SINCE\nwh_1  u    all    active  0      -\n"},
		{"api keys create till", `{"id":"key_1","name":"till","scopes":["read","write"],"key":"pst_2"}`, "ID       key_1\nNAME     till\nSCOPES   read,write\nEXPIRES  never\n\npst_2\n"},
		{"api account", `{"workspace":{"name":"acme"},"plan":"pro","key":{"id":"key_1","scopes":["read"]},"limits":{"day":{"limit":9}}}`,
			"WORKSPACE         acme\nPLAN              pro\nKEY               key_1\nNAME              \nSCOPES            read\nEXPIRES           never\n" +
				"STRIKES LEFT      \nLEFT THIS MINUTE  \nOF THIS MINUTE    \nMINUTE ENDS       \nLEFT TODAY        \nOF TODAY          9\nDAY ENDS          \n"},
		{"webhook test wh_1", `{"latencyMs":5,"status":204}`, "LATENCY MS  5\nSTATUS      204\nANSWER      -\nERROR       -\n"},
		{"api reset", "", "Reset the sandbox\n"},
		{"api pets delete 7", "", "Deleted the pet 7\n"},
		{"api keys revoke key_1", "", "Revoked the key key_1\n"},
	} {
		if code, out, said := call(t, answer(test.sent), append(strings.Fields(test.command), "-o", "table")...); code != Success || out != test.want {
			t.Errorf("%s = %d, said %q, printed\n%s\nwant\n%s", test.command, code, said, out, test.want)
		}
	}
}

// TestAllPages: --all joins the pages of a list, which are unchanged too.
func TestAllPages(t *testing.T) {
	t.Parallel()
	pages := func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("limit") != "100" || r.FormValue("complete") != "false" {
			t.Errorf("--all asked for %s", r.RequestURI)
		}
		if r.FormValue("cursor") == "" {
			w.Header().Set("Link", `</store/orders?cursor=c2>; rel="next"`)
			fmt.Fprint(w, `[{"id":1,"complete":false}]`)
			return
		}
		fmt.Fprint(w, `[{"id":2,"complete":false,"x":"&"}]`)
	}
	code, out, said := call(t, pages, "api", "orders", "list", "--all", "--complete=false", "-o", "json")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(out)); err != nil || code != Success || compact.String() != `[{"id":1,"complete":false},{"id":2,"complete":false,"x":"&"}]` {
		t.Errorf("orders list --all = %d, %v, said %q, printed %s", code, err, said, out)
	}
}

// TestRequests: arguments and flags arrive where the description says, with its types.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ command, method, uri, body string }{
		{"api pets list --id 1,2 --id 3 --status sold --newest --limit 5", "GET", "/pets?id=1&id=2&id=3&limit=5&sort=-id&status=sold", ""},
		{"api pets get 7", "GET", "/pets?id=7", ""},
		{"api pets get +7", "GET", "/pets?id=7", ""},
		{"api pets get 007", "GET", "/pets?id=7", ""},
		{"api pets create Rex --category 3", "POST", "/pets", `{"categoryId":3,"name":"Rex"}`},
		{"api pets update 7 --status none --name Max", "PATCH", "/pets/7", `{"name":"Max","status":null}`},
		{"api pets replace 7 Max --category 3 --status sold", "PUT", "/pets/7", `{"categoryId":3,"name":"Max","status":"sold"}`},
		{"api categories update 3 --description=", "PATCH", "/categories/3", `{"description":null}`},
		{"api orders list --from 2026-03-01T09:30:00+01:00 --to 2026-03-01T09:30:00Z --complete=false", "GET",
			"/store/orders?complete=false&shipDateFrom=2026-03-01T09%3A30%3A00%2B01%3A00&shipDateTo=2026-03-01T09%3A30%3A00Z", ""},
		{"api orders create 7 --quantity 2 --complete", "POST", "/store/orders", `{"complete":true,"petId":7,"quantity":2}`},
		{"api orders delete 7", "DELETE", "/store/orders/7", ""},
		{"api inventory set 7 0", "PATCH", "/inventory/7", `{"quantity":0}`},
		{"api inventory update 7 5", "PATCH", "/inventory/7", `{"quantity":5}`},
		{"api inventory list --max-quantity 0", "GET", "/inventory?maxQuantity=0", ""},
		{"api keys get a/b", "GET", "/keys/a%2Fb", ""},
		{"api keys update key_1 --expires never", "PATCH", "/keys/key_1", `{"expiresAt":null}`},
		{"api keys rotate key_1 --overlap 1d", "POST", "/keys/key_1/rotate", `{"overlap":"86400s"}`},
		{"api keys rotate key_1", "POST", "/keys/key_1/rotate", `{}`},
		{"api events list --after 0 --type pet.created", "GET", "/events?after=0&type=pet.created", ""},
		{"webhook replay wh_1", "POST", "/webhooks/wh_1/replay", `{"after":0}`},
		{"webhook replay wh_1 --after 9", "POST", "/webhooks/wh_1/replay", `{"after":9}`},
		{"webhook update wh_1 --type pet.created,pet.deleted", "PATCH", "/webhooks/wh_1", `{"types":["pet.created","pet.deleted"]}`},
		{"webhook retry wh_1 7", "POST", "/webhooks/wh_1/deliveries/7/retry", ""},
		{"webhook rotate wh_1", "POST", "/webhooks/wh_1/rotate", ""},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			_, _, said := call(t, func(w http.ResponseWriter, r *http.Request) {
				var body bytes.Buffer
				_, _ = body.ReadFrom(r.Body)
				if r.Method != test.method || r.RequestURI != test.uri || body.String() != test.body {
					t.Errorf("the request is %s %s %s, want %s %s %s", r.Method, r.RequestURI, &body, test.method, test.uri, test.body)
				}
				fmt.Fprint(w, "{}")
			}, strings.Fields(test.command)...)
			if strings.Contains(said, "usage") {
				t.Error(said)
			}
		})
	}
}

// TestArgumentsAreChecked: a value of a wrong type is refused by name, before anything is asked.
func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"api pets get Rex":                          `ID: "Rex": must be a whole number from 1 on`,
		"api inventory get 0":                       `PET: "0": must be a whole number from 1 on`,
		"api orders create Rex":                     `PET: "Rex": must be a whole number from 1 on`,
		"api inventory set 1 many":                  `QUANTITY: "many": must be a whole number from 0 to 1000000000`,
		"api orders create 1 --quantity many":       `--quantity: "many": must be a whole number from 1 to 1000000`,
		"api pets list --id 1,x":                    `--id: "1,x": must be a whole number from 1 on`,
		"api pets list --status gone":               `--status: "gone": must be available, pending or sold`,
		"api pets update 1 --status gone":           `--status: "gone": must be available, pending or sold`,
		"api orders list --complete=maybe":          `--complete: "maybe": must be true or false`,
		"api orders list --from today":              `--from: "today": must be an instant such as 2026-03-01T09:30:00Z`,
		"api keys create till --expires soon":       `--expires: "soon": must be a duration such as 500ms, 30s, 24h or 30d`,
		"api keys rotate key_1 --overlap -1h":       `--overlap: "-1h": must be at least 0s`,
		"api pets update 1 --category 0":            `--category: "0": must be a whole number from 1 on`,
		"api pets list --limit 0":                   `--limit: "0": must be a whole number from 1 to 100`,
		"api pets list --name=":                     `--name: "": must not be empty`,
		"api pets list --id=":                       `--id: "": must be a whole number from 1 on`,
		"api pets list --status available,":         `--status: "available,": must be available, pending or sold`,
		"api orders list --from=":                   `--from: "": must be an instant such as 2026-03-01T09:30:00Z`,
		"api orders create 1 --ship-date=":          `--ship-date: "": must be an instant such as 2026-03-01T09:30:00Z`,
		"api orders create 1 --idempotency-key=":    `--idempotency-key: "": must not be empty`,
		"api categories create Cats --description=": `--description: "": must not be empty`,
		"api pets create Rex":                       `--category is needed: ID of the category the pet belongs to`,
		"api pets update 1":                         `nothing to change: give --name, --category or --status`,
		"webhook retry wh_1 first":                  `DELIVERY: "first": must be a whole number from 1 on`,
		"api pets list --server 127.0.0.1:8080":     `--server: "127.0.0.1:8080" is not an absolute http or https URL`,
		"api pets list --server user:hunter2@h":     `--server: the URL has more than scheme, host and path`,
		"listen --forward-to user:hunter2@h":        `--forward-to: "user:xxxxx@h" is not an absolute http or https URL`,
		"listen --forward-to ftp://u:hunter2@h":     `--forward-to: "ftp://u:xxxxx@h" is not an absolute http or https URL`,
		"listen --forward-to http://h --secret abc": `--secret: must be whsec_ and base64, as the secret of a webhook`,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			code, out, said := call(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the server was asked for %s", r.URL) }, strings.Fields(command)...)
			if code != WrongUsage || said != "petstore: "+want+"\n" || out != "" {
				t.Errorf("%s = %d, %q, said %q, want %q", command, code, out, said, want)
			}
		})
	}
}

// TestMorePages: a page that is not the last says where the next one begins, also if a proxy dropped the header that only
// events need, and nothing in it reaches the terminal as a control.
func TestMorePages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ command, more, next, want string }{
		{"api orders list", "", "/store/orders?cursor=c%1b2", "petstore: there is more: use --all, or --cursor c\\u001b2\n"},
		{"api orders list", "false", "", ""},
		{"api events list", "true", "/events?after=9", "petstore: there is more: use --after 9\n"},
		{"api events list", "false", "/events?after=9", ""},
	} {
		code, _, said := call(t, func(w http.ResponseWriter, _ *http.Request) {
			if test.next != "" {
				w.Header().Set("Link", "<"+test.next+`>; rel="next"`)
			}
			if test.more != "" {
				w.Header().Set("X-Has-More", test.more)
			}
			fmt.Fprint(w, "[]")
		}, strings.Fields(test.command)...)
		if code != Success || said != test.want {
			t.Errorf("%s with %q and %q = %d, said %q, want %q", test.command, test.more, test.next, code, said, test.want)
		}
	}
}

// TestRetriesArePrintable: what a server says about a failure that is tried again does nothing to a terminal.
func TestRetriesArePrintable(t *testing.T) {
	t.Parallel()
	failed := false
	_, _, said := call(t, func(w http.ResponseWriter, _ *http.Request) {
		if !failed {
			failed = true
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"code":"service_unavailable","message":"a\u001bb","status":503}`)
			return
		}
		fmt.Fprint(w, "[]")
	}, "api", "orders", "list")
	if !strings.Contains(said, "trying again in 1s: ") || !strings.Contains(said, `a\u001bb`) {
		t.Errorf("orders list said %q", said)
	}
}

// TestEveryOperationIsACommand: each operation of the descriptions has one command, with help. The audit log and backups
// have none.
func TestEveryOperationIsACommand(t *testing.T) {
	t.Parallel()
	root := newRoot(&app{config: config.New()}, "api", "key")
	commands := map[string]int{}
	var operations []*apiCommand
	for _, d := range []*description{readDescription(), readAdmin()} {
		for noun, all := range apiCommands(&app{}, d) {
			if noun != "installation" {
				operations = append(operations, all...)
			}
		}
	}
	for _, c := range operations {
		path := []string{"api", c.noun, cmp.Or(c.name, c.verb)}
		switch {
		case c.noun == webhooks, c.forOperators:
			path = []string{strings.TrimSuffix(c.noun, "s"), path[2]}
		case slices.Contains([]string{"account", "reset", "sandboxes"}, c.noun): // the only one of its noun
			path = path[:2]
		}
		cmd, rest, err := root.Find(path)
		if err != nil || len(rest) > 0 || cmd.Short != c.Summary || cmd.Short == "" {
			t.Errorf("the command of %s, %v, is %q %v, %v", c.OperationID, path, cmd.CommandPath(), rest, err)
		}
		commands[cmd.CommandPath()]++
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s has no help", cmd.CommandPath(), f.Name)
			}
		})
	}
	for path, n := range commands {
		if n > 1 {
			t.Errorf("%d operations are the command %s", n, path)
		}
	}
	if n := len(operations); len(commands) != n || n < 50 {
		t.Errorf("there are %d commands for %d operations", len(commands), n)
	}
}

// usages are the commands and arguments that scripts use, by their flags.
var usages = map[string][]string{
	"": {
		"api account", "api categories delete ID", "api categories get ID", "api inventory get PET", "api keys get ID", "api keys revoke ID", "api orders cancel ID",
		"api orders get ID", "api pets delete ID", "api pets get ID", "webhook delete ID", "webhook rotate ID", "webhook show ID", "webhook test ID",
	},
	"after":           {"webhook replay ID"},
	"category status": {"api pets create NAME"},
	"description":     {"api categories create NAME"},
	"id status category name limit cursor all newest": {"api pets list"},
	"limit cursor all":             {"api inventory movements PET", "api keys list", "webhook deliveries ID", "webhook list"},
	"name category status":         {"api pets update ID"},
	"name description":             {"api categories update ID"},
	"name expires":                 {"api keys update ID"},
	"name limit cursor all newest": {"api categories list"},
	"name scope expires token":     {"key create WORKSPACE"},
	"overlap":                      {"api keys rotate ID"},
	"pet complete from to limit cursor all newest": {"api orders list"},
	"plan per-minute per-day token":                {"workspace create NAME"},
	"quantity ship-date complete idempotency-key":  {"api orders create PET"},
	"scope expires":      {"api keys create NAME"},
	"ship-date complete": {"api orders update ID"},
	"status max-quantity limit cursor all newest": {"api inventory list"},
	"type description":                            {"webhook create URL"},
	"url state type description":                  {"webhook update ID"},
}

// TestNamesStay: the commands, arguments and flags that scripts use are still there, whatever the description calls them.
// Those that TestRequests and TestOperatorsRequests use with all of their flags are not named again.
func TestNamesStay(t *testing.T) {
	t.Parallel()
	root := newRoot(&app{config: config.New()}, "api", "key")
	for flags, all := range usages {
		for _, usage := range all {
			words := strings.Fields(usage)
			cmd, args, err := root.Find(words)
			if err != nil || cmd.HasSubCommands() || cmd.Args(cmd, args) != nil {
				t.Errorf("%s is %s with %v, %v", usage, cmd.CommandPath(), args, err)
				continue
			}
			for flag := range strings.FieldsSeq(flags + " output server") {
				if cmd.Flags().Lookup(flag) == nil {
					t.Errorf("%s has no --%s", usage, flag)
				}
			}
			if use := cmd.Use + " "; !strings.Contains(use, " "+strings.Join(append(args, ""), " ")) {
				t.Errorf("the usage of %s is %s", usage, use)
			}
		}
	}
}

// TestWebhookTest: webhook test fails unless the receiver took the event, and prints its answer in any case.
func TestWebhookTest(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		`{"latencyMs":1,"status":204}`:                                     "",
		`{"latencyMs":1,"status":500,"answer":"no"}`:                       "petstore: the test failed: the receiver answered 500\n",
		`{"latencyMs":1,"status":302}`:                                     "petstore: the test failed: the receiver answered 302\n",
		`{"latencyMs":1,"error":"There was no answer within 15 seconds."}`: "petstore: the test failed: There was no answer within 15 seconds\n",
	} {
		code, out, said := call(t, answer(sent), "webhook", "test", "wh_1", "-o", "json")
		if (code == Success) != (want == "") || said != want || !strings.Contains(out, `"latencyMs": 1`) {
			t.Errorf("webhook test with %s = %d, said %q, printed %s, want %q", sent, code, said, out, want)
		}
	}
}

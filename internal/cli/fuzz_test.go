package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/store/postgres"
)

// FuzzArguments runs a command that changes nothing with any flags and arguments. What is wrong with them is said in one
// line, which holds nothing that a terminal obeys, and with the exit code of wrong usage.
func FuzzArguments(f *testing.F) {
	for i, seed := range []string{
		"", "--addr|:1|-o|json", "--log-level=\x1b[2J", "--no-such\nflag", "-\x1b", "-o|\r", "--trusted-proxies|a\nb", "--config=/nowhere/\n", "x\x07", "--db|postgres://u:hunter2@h/d", "--redis=http://:hunter2@h", "--help",
		"--ban-strikes=\u2028", "-o=json|--base-url|https://h|--", "--address-table|0x10", "\u202e", "--=", "---", "-ojson",
	} {
		f.Add(uint8(i), seed)
		f.Add(uint8(0), seed)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		commands := [][]string{{"config", "print"}, {"openapi"}, {"version"}, {"config"}, {"no-such-command"}}
		args := commands[int(which)%len(commands)]
		if text != "" {
			args = append(args, strings.Split(text, "|")...)
		}
		var out, said bytes.Buffer
		code := Main(t.Context(), args, strings.NewReader(""), &out, &said, func(string) string { return "" })
		if code == Success && said.Len() == 0 {
			return
		}
		line, ended := strings.CutSuffix(said.String(), "\n")
		if code != WrongUsage || !strings.HasPrefix(line, "petstore: ") || !ended || strings.ContainsFunc(line, obeyed) {
			t.Errorf("%q ends with %d and says %q, want 2 and one line", args, code, &said)
		}
	})
}

// obeyed reports whether a terminal takes the character for more than something to show.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Bidi_Control, r)
}

// FuzzReasons checks that what a server says of its state comes out as text in one line.
func FuzzReasons(f *testing.F) {
	for _, seed := range []string{
		"", `{"status":"not ready","reasons":[{"check":"store","message":"the disk is full"}]}`, `{"reasons":[{"message":"a\nb"},{"message":"\u001b[2J"}]}`, `{"reasons":1}`, `{"reasons":[null,{}]}x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got := reasonsIn(strings.NewReader(body))
		if line := explain(errors.New("not ready" + got)); strings.ContainsFunc(line, obeyed) {
			t.Errorf("reasonsIn(%q) is told as %q", body, line)
		}
		var answer struct{ Reasons []struct{ Message string } }
		err := json.NewDecoder(strings.NewReader(body)).Decode(&answer)
		if err == nil && len(body) < 1<<16 && strings.Count(got, ": ") < len(answer.Reasons) {
			t.Errorf("reasonsIn(%q) = %q, want %d reasons", body, got, len(answer.Reasons))
		} else if err != nil && got != "" {
			t.Errorf("reasonsIn(%q) = %q, of what is no JSON", body, got)
		}
	})
}

// FuzzValues checks that an id or an instant of the command line is the one that was typed, and that an error says where
// it was.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{"", "1", "007", "+1", "-1", "9223372036854775808", "1_000", "2026-03-01T09:30:00Z", "2026-03-01T09:30:00.123456789+01:00", "2026-3-1", "0000-01-01T00:00:00+23:59", "2026-03-01T9:30:00Z", "30d", "1d12h", "65536d", "1d-2h", "0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := idOf("PET", text)
		want, ok := new(big.Int).SetString(text, 10)
		if ok = ok && want.IsInt64() && want.Sign() > 0 && !strings.Contains(text, "_"); ok != (err == nil) || ok && want.Int64() != id {
			t.Errorf("idOf(%q) = %d, %v", text, id, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "PET: ") {
			t.Errorf("idOf(%q): %v, want the argument named", text, err)
		}
		var at, again time.Time
		if instantFlag(&at).Set(text) == nil {
			if err := instantFlag(&again).Set(at.Format(time.RFC3339Nano)); err != nil || !again.Equal(at) {
				t.Errorf("the instant %q is %v, which is read back as %v, %v", text, at, again, err)
			}
		}
		var length time.Duration
		if err := config.Duration(&length, 1).Set(text); err == nil && length < 1 {
			t.Errorf("the duration %q is %v", text, length)
		}
	})
}

// FuzzDatabaseURL checks that neither the settings nor the driver say a word of a password, whatever is wrong with the URL
// that it stands in. Nothing is connected to: the context is over.
func FuzzDatabaseURL(f *testing.F) {
	for _, seed := range [][2]string{
		{"postgres://u:", "@h:5432/d"}, {"postgres://u:12/", "@h/d"}, {"postgres://u:1?", "@h/d"}, {"postgres://u:1#", "@h/d"}, {"postgresql://u:%zz", "@h/d"}, {"POSTGRES://u:", "@h:x/d"},
		{"postgres://u:", "@[::1/d"}, {"postgres://u:", "@a:1,b:x/d?sslmode=x"}, {"postgres://u:a ", "@h/d?connect_timeout=x"}, {"mysql://u:", "@h"},
	} {
		f.Add(seed[0], seed[1])
	}
	over, cancel := context.WithCancel(f.Context())
	cancel()
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "hunter2"
		_, rest, ok := strings.Cut(before, "://")
		user, _, colon := strings.Cut(rest, ":")
		if !ok || !colon || strings.ContainsAny(user, "/?#@[") || strings.Contains(rest, "@") || !strings.Contains(after, "@") {
			return // it would be no password
		}
		c, flags := config.New(), pflag.NewFlagSet("test", pflag.ContinueOnError)
		c.Register(flags, "db")
		_, err := c.Load(flags, func(name string) string {
			return map[string]string{"PETSTORE_DB": before + password + after}[name]
		})
		if err == nil && c.OnPostgres() {
			_, err = postgres.OpenTarget(over, c.DB, time.Now)
		}
		if err != nil && strings.Contains(explain(err), password) {
			t.Errorf("of %q it is said: %s", before+password+after, explain(err))
		}
	})
}

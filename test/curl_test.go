package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parseCurl reads a command line of curl, with the few options that our pages
// use, as a shell would.
func parseCurl(line string) (call, error) {
	words, err := shellWords(line)
	if err != nil {
		return call{}, err
	}
	if len(words) < 2 || words[0] != "curl" {
		return call{}, fmt.Errorf("%q is no curl command", line)
	}
	c := call{}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-s" || word == "-i" || word == "-si":
		case !strings.HasPrefix(word, "-"):
			c.url = word
		case i+1 == len(words):
			return call{}, fmt.Errorf("%s of %q has no value", word, line)
		default:
			i++
			if err := c.option(word, words[i]); err != nil {
				return call{}, err
			}
		}
	}
	if c.method == "" {
		c.method = http.MethodGet
	}
	return c, nil
}

func (c *call) option(name, value string) error {
	switch name {
	case "-X":
		c.method = value
	case "-H":
		h, err := parseHeader(value)
		c.header = append(c.header, h)
		return err
	case "-d", "--json":
		c.body, c.form = value, name == "-d"
		if c.method == "" {
			c.method = http.MethodPost
		}
	default:
		return fmt.Errorf("the option %s is not known", name)
	}
	return nil
}

// shellWords splits a line as a shell does. It knows quotes of both kinds, but
// no escapes and no variables.
func shellWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\n'):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has an open quote", line)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

func TestParseCurl(t *testing.T) {
	t.Parallel()
	got, err := parseCurl(`curl -s -X PATCH -H 'A: b c' -H "D: 'e'" --json '{"x": 1}' http://h/p?a=b`)
	if err != nil {
		t.Fatal(err)
	}
	want := call{
		method: "PATCH", url: "http://h/p?a=b", body: `{"x": 1}`,
		header: [][2]string{{"A", "b c"}, {"D", "'e'"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(call{})); diff != "" {
		t.Errorf("parseCurl (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "curl", "wget x", "curl -H", "curl --unknown x http://h", "curl 'http://h"} {
		if c, err := parseCurl(bad); err == nil {
			t.Errorf("parseCurl(%q) = %+v, want an error", bad, c)
		}
	}
}

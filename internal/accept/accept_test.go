package accept_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/accept"
)

// TestMalformedWeights checks what the grammar does not say, and FuzzJSON and FuzzGzip therefore do not.
func TestMalformedWeights(t *testing.T) {
	t.Parallel()
	for _, q := range []string{"", ".", "x", "-1", "+1", "1.5", "2", "1e-1", "0x1p-2", "inf", "nan", "1_0", "0.5.5", "\"1\""} {
		if accept.Gzip([]string{"gzip;q=" + q}) {
			t.Errorf("Gzip(gzip;q=%s) = true, want the plain form", q)
		}
		if !accept.Gzip([]string{"gzip;q=0.001, identity;q=" + q}) {
			t.Errorf("Gzip(gzip;q=0.001, identity;q=%s) = false", q)
		}
		if !accept.JSON([]string{"application/json;q=" + q}) {
			t.Errorf("JSON(application/json;q=%s) = false, want no refusal", q)
		}
	}
	for q, want := range map[string]bool{"0.0000": false, "00": false, ".0": false, "0.0001": true, ".5": true, "01": true} {
		if zipped, json := accept.Gzip([]string{"gzip;q=" + q}), accept.JSON([]string{"application/json;q=" + q}); zipped != want || json != want {
			t.Errorf("q=%s: Gzip = %t, JSON = %t, want %t", q, zipped, json, want)
		}
	}
}

// A preference is one element of Accept or Accept-Encoding.
type preference struct {
	name   string
	weight int // in thousandths
}

// preferences reads elements by the grammar of RFC 9110 §12.4.2 alone, word for word. It reports false for what is not in
// it, and for what has quoted strings, in which a comma would be none.
func preferences(values []string) (all []preference, ok bool) {
	element := regexp.MustCompile(`^([!#$%&'*+.^_|~0-9A-Za-z/-]+)((?:[ \t]*;[ \t]*[a-pr-z][a-z0-9]*=[!#$%&'*+.^_|~0-9A-Za-z-]+)*)(?:[ \t]*;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$`)
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if part = strings.Trim(part, " \t"); part == "" {
			continue // RFC 9110 §5.6.1.2
		}
		found := element.FindStringSubmatch(part)
		if found == nil {
			return nil, false
		}
		weight := 1000
		if digits := strings.Replace(found[3], ".", "", 1); digits != "" {
			weight, _ = strconv.Atoi((digits + "000")[:4]) // they are digits
		}
		all = append(all, preference{strings.ToLower(found[1]), weight})
	}
	return all, true
}

// mostSpecific returns the weight of the first of the names that the elements have at all, and whether they agree.
func mostSpecific(all []preference, names ...string) (weight int, found, agreed bool) {
	for _, name := range names {
		var of []int
		for _, p := range all {
			if p.name == name {
				of = append(of, p.weight)
			}
		}
		if len(of) > 0 {
			return of[0], true, slices.Min(of) == slices.Max(of)
		}
	}
	return 0, false, true
}

// FuzzJSON checks that application/json is sent to those who take it, and text/event-stream to those who like that
// better, by a reading of the grammar of its own, and that it does not matter how the elements are spread over lines.
func FuzzJSON(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"*/*", "application/json;q=0"}, {"text/html, application/*;q=0.5", "*/*;q=0"}, {",", ","}, {"application/JSON ; q=0.000", ""},
		{"application/json, text/event-stream", ""}, {"text/event-stream;q=0.1", "*/*"}, {"text/*;q=0.5, application/*;q=0.4", "text/event-stream;q=0.3"}, {"text/event-stream", "application/*;q=0.9"},
		{"application/json;version=1;q=1.0", "text/*"}, {"application/json;q=0.0001", ""}, {"Application/Json;Q=0", "*/*"}, {"application/json; q=", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		got := accept.JSON([]string{first, second})
		if together := accept.JSON([]string{first + "," + second}); got != together {
			t.Errorf("JSON(%q, %q) = %t, and in one line %t", first, second, got, together)
		}
		if more := accept.JSON([]string{"", first, " ,", second, "\t"}); got != more {
			t.Errorf("JSON(%q, %q) = %t, and with empty elements %t", first, second, got, more)
		}
		all, ok := preferences([]string{first, second})
		weight, found, agreed := mostSpecific(all, "application/json", "application/*", "*/*")
		if want := weight > 0 || !found && len(all) == 0; ok && agreed && got != want {
			t.Errorf("JSON(%q, %q) = %t, want %t", first, second, got, want)
		}
		stream, _, agreed2 := mostSpecific(all, "text/event-stream", "text/*", "*/*")
		if got := accept.EventStream([]string{first, second}); ok && agreed && agreed2 && got != (stream > weight) {
			t.Errorf("EventStream(%q, %q) = %t, and the weights are %d and %d", first, second, got, stream, weight)
		}
	})
}

// FuzzGzip is FuzzJSON for gzip, which nobody gets who did not ask for it or likes the plain form better.
func FuzzGzip(f *testing.F) {
	for _, seed := range []string{
		"", "gzip", "gzip;q=0, *", "*;q=0.5", "identity, x-gzip;q=0.001", "GZIP ;Q=1.000", "deflate,,gzip;q=0.000", "gzip;q", "gzip;q=0.5, Identity;q=0.501", "*;q=0.1,identity;q=0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := accept.Gzip([]string{text})
		if low := strings.ToLower(text); got && !strings.Contains(low, "gzip") && !strings.Contains(low, "*") {
			t.Errorf("Gzip(%q) = true", text)
		}
		all, ok := preferences([]string{text})
		if _, x, _ := mostSpecific(all, "x-gzip"); x {
			return // RFC 9110 §8.4.1.3: another name for it; which of the two counts is nowhere said
		}
		zipped, _, agreed := mostSpecific(all, "gzip", "*")
		plain, _, agreed2 := mostSpecific(all, "identity", "*")
		if want := zipped > 0 && zipped >= plain; ok && agreed && agreed2 && got != want {
			t.Errorf("Gzip(%q) = %t, want %t", text, got, want)
		}
	})
}

func TestHTML(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"text/html": true, "text/html,application/xhtml+xml,*/*;q=0.8": true, "TEXT/HTML;q=0.1": true,
		"": false, "*/*": false, "text/*": false, "application/json": false, "text/html;q=0": false,
	} {
		if got := accept.HTML([]string{value}); got != want {
			t.Errorf("HTML(%q) = %t, want %t", value, got, want)
		}
	}
}

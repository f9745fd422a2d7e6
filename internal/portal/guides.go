package portal

import "embed"

// Where the guides are, and the list of them.
const (
	guidePath = "/docs/guides/"
	guideList = "/docs/guides"
)

// A guide is a page about one subject. Its text is guides/NAME.html.
type guide struct {
	Name, Title, Lead string
}

// URL returns the address of the guide.
func (g guide) URL() string { return guidePath + g.Name }

// guides returns the guides in the order in which they are read.
func guides() []guide {
	return []guide{
		{"first-request", "Your first request", "From nothing to a sold pet, in five requests."},
		{"keys", "Keys", "How to send a key, what it may do, and how to replace it without an outage."},
		{"errors", "Errors", "All errors have the same form, and a code that never changes."},
		{"limits", "Limits and retries", "How many requests you may send, how to see what is left, and how to wait."},
		{"idempotency", "Idempotency", "Repeat a POST without doing it twice."},
		{"pagination", "Lists and pages", "Walk through any list, and read only what has changed."},
		{"events", "Events", "Learn of every change, in order and exactly once."},
		{"webhooks", "Webhooks", "Have events posted to your URL, and verify that they are genuine."},
		{"stock", "Stock and states", "What takes stock, what returns it, and when a pet is sold."},
		{"command-line", "Command line", "Use the API from a shell, with petstore api."},
		{"testing", "Test your client", "A petstore for your test suite: in a known state, and as bad as you want."},
		{"sunset", "Deprecation and sunset", "Which operations end, when, and what replaces them."},
	}
}

//go:embed retry verify mirror suite
var programs embed.FS

// A guideSamples has the programs that guides show; the tests run them.
type guideSamples struct {
	Retry  []sample // wait and repeat
	Verify []sample // verify events
	Suite  []sample // test a client

	Receive, Mirror string // receive events, keep a copy
}

func readGuideSamples() (s guideSamples, err error) {
	for _, list := range []struct {
		to     *[]sample
		folder string
		all    []sample
	}{
		{&s.Retry, "retry", []sample{{"sh", "curl", "retry.sh"}, {"javascript", "JavaScript", "retry.mjs"}, {"python", "Python", "retry.py"}, {"go", "Go", "main.go"}}},
		{&s.Verify, "verify", []sample{{"javascript", "JavaScript", "verify.mjs"}, {"python", "Python", "verify.py"}, {"go", "Go", "verify.go"}, {"sh", "Shell", "verify.sh"}}},
		{&s.Suite, "suite", []sample{{"javascript", "TypeScript", "suite.ts"}, {"python", "Python", "suite.py"}, {"go", "Go", "suite_test.go"}, {"sh", "Shell", "suite.sh"}}},
	} {
		if *list.to, err = samplesIn(list.folder, list.all...); err != nil {
			return s, err
		}
	}
	for to, name := range map[*string]string{&s.Receive: "verify/receive.mjs", &s.Mirror: "mirror/mirror.py"} {
		text, err := programs.ReadFile(name)
		if err != nil {
			return s, err
		}
		*to = string(text)
	}
	return s, nil
}

// samplesIn reads samples whose code is the name of a file in a folder.
func samplesIn(folder string, list ...sample) ([]sample, error) {
	for i := range list {
		text, err := programs.ReadFile(folder + "/" + list[i].Code)
		if err != nil {
			return nil, err
		}
		list[i].Code = string(text)
	}
	return list, nil
}

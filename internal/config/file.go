package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// An entry is a member of the file.
type entry struct {
	name string
	line int
	node yaml.Node
}

// readFile reads a YAML mapping, and returns its members in the order of their lines.
func readFile(path string) ([]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, &Fault{Origin(path), fmt.Sprintf("the configuration cannot be read: %v", err)}
	}
	defer f.Close() // only read
	var members map[string]yaml.Node
	decoder := yaml.NewDecoder(f)
	if err := decoder.Decode(&members); errors.Is(err, io.EOF) { // empty, or comments only
		return nil, nil
	} else if err != nil {
		return nil, fileFault(path, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &Fault{Origin(path), "the configuration must be one document"}
	}
	var all []entry
	for name, node := range members {
		all = append(all, entry{name, node.Line, node})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.line, b.line) })
	return all, nil
}

// fileFault moves the line number from yaml's message into the origin. Of several faults, the message is the first.
func fileFault(path string, err error) error {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		reason, _, _ = strings.Cut(e.Errors[0], " `") // a value may follow, which may be a password
	}
	var line int
	if n, _ := fmt.Sscanf(reason, "line %d:", &line); n == 1 {
		_, reason, _ = strings.Cut(reason, ": ")
		path = fmt.Sprintf("%s:%d", path, line)
	}
	return &Fault{Origin(path), "the configuration must be YAML, with lines of NAME: VALUE: " + reason}
}

// value returns the text of a scalar, or of a sequence of scalars, separated by commas.
func (e *entry) value() (string, bool) {
	items := []*yaml.Node{&e.node}
	if e.node.Kind == yaml.SequenceNode {
		items = e.node.Content
	}
	var words []string
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return "", false
		}
		words = append(words, item.Value)
	}
	return strings.Join(words, ","), len(words) > 0
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the size of the largest file that is read. All settings together have a few KiB.
const maxFile = 1 << 20

// loadFile sets the settings in a file that have no origin yet.
func (c *Config) loadFile(path string, origins Origins) error {
	members, err := readFile(path)
	if err != nil {
		return err
	}
	at := func(line int) Origin { return Origin(fmt.Sprintf("%s:%d", path, line)) }
	for _, s := range c.settings {
		member, given := members[s.Name]
		if delete(members, s.Name); !given || origins.Of(s.Name) != Default {
			continue
		}
		text, ok := textOf(&member)
		if !ok {
			return &Fault{at(member.Line), s.Name + " must be a value, or a list of values"}
		}
		if text == "" && s.Default == "" { // as config print prints it
			origins[s.Name] = at(member.Line)
			continue
		}
		if err := origins.set(s.Name, at(member.Line), text, s.value); err != nil {
			return err
		}
	}
	if rest := slices.Sorted(maps.Keys(members)); len(rest) > 0 {
		return &Fault{at(members[rest[0]].Line), fmt.Sprintf("there is no setting %.60q; petstore config print lists them", rest[0])}
	}
	return nil
}

// readFile reads the members of a YAML mapping.
func readFile(path string) (members map[string]yaml.Node, err error) {
	data, err := readAll(path)
	if err != nil {
		return nil, &Fault{Origin(path), fmt.Sprintf("the configuration cannot be read: %v", err)}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err = decoder.Decode(&doc); err == nil {
		err = doc.Decode(&members)
	}
	if err == nil {
		if root := doc.Content[0]; root.Kind != yaml.MappingNode || len(root.Content) != 2*len(members) { // null is no name in the map
			return nil, &Fault{Origin(path), "the configuration must be lines of NAME: VALUE, and no NAME null or <<"}
		}
		if err = decoder.Decode(new(yaml.Node)); err == nil {
			return nil, &Fault{Origin(path), "the configuration must be one document"}
		}
	}
	if errors.Is(err, io.EOF) { // there may be nothing at all
		return members, nil
	}
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	if e, is := errors.AsType[*yaml.TypeError](err); is { // which repeats a value, such as a password
		reason, _, _ = strings.Cut(e.Errors[0], ":")
	} else if strings.Contains(reason, "anchor '") { // which repeats a part of a value
		reason = "a value that begins with * or & must be in quotes"
	}
	return nil, &Fault{Origin(path), "the configuration must be YAML, with lines of NAME: VALUE, each name once: " + reason}
}

// readAll returns the contents of a file, or an error if it is larger than maxFile.
func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New("is larger than 1 MiB")
	}
	return data, err
}

// textOf returns the text of a scalar, or of a sequence of scalars, separated by commas. Null is no scalar.
func textOf(n *yaml.Node) (text string, ok bool) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
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

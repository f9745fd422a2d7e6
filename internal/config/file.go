package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the greatest number of bytes of a file; a real one has a hundred.
const maxFile = 1 << 20

// An entry is a member of the file.
type entry struct {
	name, value string
	origin      Origin
}

// readFile reads a YAML mapping of names to scalars, or to sequences of
// scalars, which stand for their values separated by commas.
func readFile(path string) ([]entry, error) {
	data, err := read(path)
	if err != nil {
		return nil, &Fault{Origin(path), err.Error()}
	}
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) { // empty, or comments only
		return nil, nil
	} else if err != nil {
		return nil, syntaxFault(path, err)
	}
	if err := decoder.Decode(&more); err == nil {
		return nil, &Fault{Origin(fmt.Sprintf("%s:%d", path, more.Line)), "the configuration must be one document"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxFault(path, err)
	}
	return mapping(path, doc.Content[0])
}

// quoted returns a name for an error: in one line, and not too long.
func quoted(name string) string {
	if len(name) < 60 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == "" {
		return name
	}
	return fmt.Sprintf("%.60q", name)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("the configuration has more than %d bytes", maxFile)
	}
	return data, err
}

// syntaxFault moves the line number from yaml's message into the origin.
func syntaxFault(path string, err error) error {
	reason := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(reason, "line %d:", &line); n == 1 {
		_, reason, _ = strings.Cut(reason, ": ")
		path = fmt.Sprintf("%s:%d", path, line)
	}
	return &Fault{Origin(path), "not YAML: " + reason}
}

func mapping(path string, n *yaml.Node) ([]entry, error) {
	at := func(n *yaml.Node) Origin { return Origin(fmt.Sprintf("%s:%d", path, n.Line)) }
	if n.Kind != yaml.MappingNode {
		return nil, &Fault{at(n), "the configuration must be lines of NAME: VALUE"}
	}
	var entries []entry
	seen := map[string]Origin{}
	for i := 0; i < len(n.Content); i += 2 {
		name, from := n.Content[i].Value, at(n.Content[i])
		if first, ok := seen[name]; ok {
			return nil, &Fault{from, fmt.Sprintf("%s was set in %s already", quoted(name), first)}
		}
		seen[name] = from
		value, ok := scalars(n.Content[i+1])
		if !ok {
			return nil, &Fault{from, fmt.Sprintf("%s must be a value, or a list of values", quoted(name))}
		}
		entries = append(entries, entry{name, value, from})
	}
	return entries, nil
}

// scalars returns the text of a scalar or of a sequence of scalars.
func scalars(n *yaml.Node) (string, bool) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return n.Value, true
	case n.Kind != yaml.SequenceNode || len(n.Content) == 0:
		return "", false
	}
	var words []string
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode {
			return "", false
		}
		words = append(words, item.Value)
	}
	return strings.Join(words, ","), true
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the greatest number of bytes of the file. A real one has some hundred.
const maxFile = 1 << 20

// An entry is a member of the file.
type entry struct {
	name string
	line int
	node *yaml.Node
}

// readFile reads a YAML mapping, and returns its members in the order of their lines.
func readFile(path string) ([]entry, error) {
	data, err := read(path)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, &Fault{Origin(path), fmt.Sprintf("the configuration cannot be read: %v", err)}
	}
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) { // empty, or comments only
		return nil, nil
	} else if err != nil {
		return nil, syntaxFault(path, err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, &Fault{at(path, more.Line), "the configuration must be one document"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxFault(path, err)
	}
	return membersOf(path, doc.Content[0])
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return data, err
}

// at returns the origin of a line of a file.
func at(path string, line int) Origin { return Origin(fmt.Sprintf("%s:%d", path, line)) }

// syntaxFault moves the line number from yaml's message into the origin.
func syntaxFault(path string, err error) error {
	from, reason := Origin(path), strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(reason, "line %d:", &line); n == 1 {
		_, reason, _ = strings.Cut(reason, ": ")
		from = at(path, line)
	}
	return &Fault{from, "the configuration must be YAML, with lines of NAME: VALUE: " + reason}
}

func membersOf(path string, n *yaml.Node) (all []entry, err error) {
	if n.Kind != yaml.MappingNode {
		return nil, &Fault{at(path, n.Line), "the configuration must be lines of NAME: VALUE"}
	}
	for pair := range slices.Chunk(n.Content, 2) {
		e := entry{pair[0].Value, pair[0].Line, pair[1]}
		if i := slices.IndexFunc(all, func(o entry) bool { return o.name == e.name }); i >= 0 {
			return nil, &Fault{at(path, e.line), fmt.Sprintf("%.60q is set in line %d already", e.name, all[i].line)}
		}
		all = append(all, e)
	}
	return all, nil
}

// value returns the text of a scalar, or of a sequence of scalars, separated by commas.
func (e *entry) value() (string, bool) {
	items := []*yaml.Node{e.node}
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

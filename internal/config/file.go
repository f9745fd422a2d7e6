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

// maxFile is the size of the largest file that is read. All settings together have a few KiB.
const maxFile = 1 << 20

// readFile reads a YAML mapping, and returns its names and values by turns.
func readFile(path string) ([]*yaml.Node, error) {
	data, err := readAll(path)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, &Fault{Origin(path), fmt.Sprintf("the configuration cannot be read: %v", err)}
	}
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err = decoder.Decode(&doc); err == nil {
		err = decoder.Decode(&more)
	}
	switch {
	case err == nil:
		return nil, &Fault{at(path, more.Line), "the configuration must be one document"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxFault(path, err)
	case doc.IsZero(): // empty, or comments only
		return nil, nil
	case doc.Content[0].Kind != yaml.MappingNode:
		return nil, &Fault{at(path, doc.Content[0].Line), "the configuration must be lines of NAME: VALUE"}
	}
	return doc.Content[0].Content, nil
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

// textOf returns the text of a scalar, or of a sequence of scalars, separated by commas.
func textOf(n *yaml.Node) (string, bool) {
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

// Command yamljson writes the JSON form of a YAML document.
//
// Members keep their order, so that a reader finds the JSON laid out as the YAML is. Only what JSON can say is accepted:
// anchors, aliases, tags of the writer's own and keys that are not strings are errors.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: yamljson IN.yaml OUT.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "yamljson:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	src, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	js, err := convert(src)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return os.WriteFile(out, js, 0o644)
}

// convert returns the one document in src as indented JSON with a newline at its end.
func convert(src []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 {
		return nil, fmt.Errorf("want one document")
	}
	var raw, out bytes.Buffer
	if err := write(&raw, doc.Content[0]); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, raw.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func write(b *bytes.Buffer, n *yaml.Node) error {
	if n.Anchor != "" {
		return fmt.Errorf("line %d: anchors have no form in JSON", n.Line)
	}
	switch n.Kind {
	case yaml.MappingNode:
		return writeObject(b, n)
	case yaml.SequenceNode:
		return writeArray(b, n)
	case yaml.ScalarNode:
		return writeScalar(b, n)
	}
	return fmt.Errorf("line %d: not a mapping, sequence or scalar", n.Line)
}

func writeObject(b *bytes.Buffer, n *yaml.Node) error {
	seen := make(map[string]bool, len(n.Content)/2)
	b.WriteByte('{')
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || seen[key.Value] {
			return fmt.Errorf("line %d: key %q is not a string, or occurs twice", key.Line, key.Value)
		}
		seen[key.Value] = true
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(b, key.Value); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := write(b, value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeArray(b *bytes.Buffer, n *yaml.Node) error {
	b.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := write(b, item); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writeScalar(b *bytes.Buffer, n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!str":
		return encode(b, n.Value)
	case "!!null", "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return err
		}
		return encode(b, v)
	}
	return fmt.Errorf("line %d: %s has no form in JSON: quote it", n.Line, n.ShortTag())
}

// encode writes v as JSON without escaping <, > and &, which stand in many descriptions.
func encode(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // Encode ends with a newline.
	return nil
}

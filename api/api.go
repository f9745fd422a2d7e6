// Package api holds the description of the petstore's interface: one OpenAPI 3.0.3 document, in YAML as it is written and
// in JSON as it is generated from that.
//
// The description leads. The server, the client and the reference follow it, and tests hold them against it.
package api

import _ "embed"

//go:generate go run ./internal/yamljson openapi.yaml openapi.json

//go:embed openapi.yaml
var yamlText string

//go:embed openapi.json
var jsonText string

// YAML returns the description in YAML. The caller owns the bytes.
func YAML() []byte { return []byte(yamlText) }

// JSON returns the same description in JSON, with its members in the same order. The caller owns the bytes.
func JSON() []byte { return []byte(jsonText) }

// Package api holds the description of the petstore's interface: one OpenAPI 3.0.3 document, in YAML as it is written and
// in JSON as it is generated from that. That of the operator's API stands beside it, in both forms.
//
// The description leads. The server, the client and the reference follow it, and tests hold them against it.
package api

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:generate go run ./internal/yamljson openapi.yaml openapi.json
//go:generate go run ./internal/yamljson admin.yaml admin.json

//go:embed openapi.yaml
var yamlText string

//go:embed openapi.json
var jsonText string

//go:embed admin.yaml
var adminText string

//go:embed admin.json
var adminJSON string

// AdminYAML returns the description of the operator's API. The caller owns the bytes.
func AdminYAML() []byte { return []byte(adminText) }

// YAML returns the description in YAML. The caller owns the bytes.
func YAML() []byte { return []byte(yamlText) }

// JSON returns the same description in JSON, with its members in the same order. The caller owns the bytes.
func JSON() []byte { return []byte(jsonText) }

// YAMLAt returns the description of a server that clients reach at baseURL, an http or https URL, which is then the URL
// of its servers; "" leaves it as it is. The caller owns the bytes.
func YAMLAt(baseURL string) []byte {
	if baseURL == "" {
		return YAML()
	}
	return []byte(strings.Replace(yamlText, "  - url: /\n", "  - url: "+strconv.Quote(baseURL)+"\n", 1))
}

// JSONAt returns the same in JSON.
func JSONAt(baseURL string) []byte {
	if baseURL == "" {
		return JSON()
	}
	return []byte(strings.Replace(jsonText, `"url": "/"`, `"url": `+strconv.Quote(baseURL), 1))
}

// Package examples has the programs that the guides print, in several languages.
package examples

import "embed"

// Files are the programs.
//
//go:embed retry verify mirror suite
var Files embed.FS

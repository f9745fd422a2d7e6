// Package packaging makes a release of this machine's platform and looks into
// it. It has tests only.
package packaging

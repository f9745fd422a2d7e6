// Package clients has other people's clients call the binary: what their generators make of the description compiles
// strictly and runs a shop's life, a validating proxy sees nothing in it that the description does not say, and their
// retry libraries recover from the rate limit without being banned. The same clients are used with a server of a later
// version, which answers with what their description does not have.
//
// It has tests only. They need npm, and those of openapi-generator's clients also Java, Kotlin and libraries, by Debian's
// packages: what is missing fails a test if CI is "true", and skips it elsewhere. The packages of package-lock.json are
// installed once for each lock, below the user's cache directory: some hold Go files, which must not lie in this module. To
// change a version, edit package.json and run "npm install --package-lock-only". Prism and what it is
// made of are the last that run with Node.js 20: later ones leave a body that is not JSON unanswered there.
package clients

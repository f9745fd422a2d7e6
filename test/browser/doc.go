// Package browser tests the pages as people use them: the real binary, looked at with a real Chromium.
//
// Where Chromium or what npm installs is missing the tests skip, visibly; where CI=true they fail.
//
// To make the pictures that the README shows: go test ./test/browser -run Pictures -pictures ../../docs/images
package browser

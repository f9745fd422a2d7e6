// Package browser tests the pages as people use them: the real binary, looked at with a real Chromium.
//
// Where Chromium or what npm installs is missing the tests skip, visibly; where CI=true they fail.
//
// make pictures makes the pictures that the README and docs show.
package browser

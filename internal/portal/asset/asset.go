// Package asset serves the files that pages are made of: styles, scripts and pictures. Their addresses change with their
// content, so that browsers may keep them for ever.
package asset

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"

	"example.com/petstore/internal/accept"
)

// Policy is the Content-Security-Policy of all pages. They load only what comes from here, and have no code or style inside.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// A File is something to serve as it is, or in gzip, which is made when it is first asked for. It may be used concurrently.
type File struct {
	mediaType string
	etag      string
	text      []byte
	small     func() []byte // text in gzip
}

// NewFile returns the file of that content.
func NewFile(mediaType string, text []byte) *File {
	sum := sha256.Sum256(text)
	small := sync.OnceValue(func() []byte { return accept.Compress(text, accept.Small) })
	return &File{mediaType: mediaType, etag: hex.EncodeToString(sum[:6]), text: text, small: small}
}

// Serve answers GET and HEAD with the status, which is 200 unless the file says that there is no other; also a client that
// has the file already.
func (f *File) Serve(w http.ResponseWriter, r *http.Request, status int) {
	h := w.Header()
	body, tag := f.text, `"`+f.etag+`"`
	if accept.Gzip(r.Header["Accept-Encoding"]) {
		body, tag = f.small(), `"`+f.etag+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	if status == http.StatusOK {
		h.Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			h.Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only for a client that went away
	}
}

// sharedFiles are those that all pages have: the style that they build on, the scripts of themes and times, and the icon.
//
//go:embed shared
var sharedFiles embed.FS

// A Set is the files below one address. It may be used concurrently.
type Set struct {
	prefix string
	byPath map[string]*File
	paths  map[string]string // by name
}

// New returns the files that all pages have, and those in the folder "assets" of own, below the prefix, which begins and
// ends with a slash. Their names say what they are: .css, .js or .svg. It panics if a folder is not built in.
func New(prefix string, own embed.FS) *Set {
	s := &Set{prefix: prefix, byPath: map[string]*File{}, paths: map[string]string{}}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	for folder, files := range map[string]embed.FS{"shared": sharedFiles, "assets": own} {
		for _, e := range Must(files.ReadDir(folder)) {
			name, ext := e.Name(), path.Ext(e.Name())
			f := NewFile(types[ext], Must(files.ReadFile(folder+"/"+name)))
			at := s.prefix + strings.TrimSuffix(name, ext) + "-" + f.etag + ext
			s.byPath[at], s.paths[name] = f, at
		}
	}
	return s
}

// Must returns value. It panics on an error, which says that something is wrong with what is built in: the tests find that.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Find returns the file at an address, or nil.
func (s *Set) Find(at string) *File { return s.byPath[at] }

// Path returns the address of the file, or an error for one that does not exist.
func (s *Set) Path(name string) (string, error) {
	if at, ok := s.paths[name]; ok {
		return at, nil
	}
	return "", fmt.Errorf("there is no asset %q", name)
}

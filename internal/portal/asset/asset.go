// Package asset serves the files that pages are made of: styles, scripts and pictures. Their addresses change with their
// content, so that browsers may keep them for ever.
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
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
	small := sync.OnceValue(func() []byte { return compress(text) })
	return &File{mediaType: mediaType, etag: hex.EncodeToString(sum[:6]), text: text, small: small}
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// Serve answers GET and HEAD, also of a client that has the file already.
func (f *File) Serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	body, tag := f.text, `"`+f.etag+`"`
	if accept.Gzip(r.Header["Accept-Encoding"]) {
		body, tag = f.small(), `"`+f.etag+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", tag)
	h.Set("X-Content-Type-Options", "nosniff")
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	f.send(w, r, http.StatusOK, body)
}

// ServeAs answers GET and HEAD with another status than 200, and without a tag.
func (f *File) ServeAs(w http.ResponseWriter, r *http.Request, status int) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	f.send(w, r, status, f.text)
}

func (f *File) send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Type", f.mediaType)
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only for a client that went away
	}
}

//go:embed shared
var sharedFiles embed.FS

// Shared returns the files that all pages have: the style that they build on, and the icon.
func Shared() fs.FS {
	shared, err := fs.Sub(sharedFiles, "shared")
	if err != nil {
		panic(err) // the name is valid
	}
	return shared
}

// A Set is the files below one address. After it is made and filled it may be used concurrently.
type Set struct {
	prefix string
	byPath map[string]*File
	paths  map[string]string // by name
}

// New returns the files of the folders, below the prefix, which begins and ends with a slash.
func New(prefix string, folders ...fs.FS) (*Set, error) {
	s := &Set{prefix: prefix, byPath: map[string]*File{}, paths: map[string]string{}}
	for _, folder := range folders {
		entries, err := fs.ReadDir(folder, ".")
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			text, err := fs.ReadFile(folder, e.Name())
			if err != nil {
				return nil, err
			}
			if err := s.Add(e.Name(), text); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// Add adds a file. Its name says what it is: .css, .js or .svg.
func (s *Set) Add(name string, text []byte) error {
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	ext := path.Ext(name)
	if types[ext] == "" {
		return fmt.Errorf("the asset %q is of no kind that pages have", name)
	}
	f := NewFile(types[ext], text)
	at := s.prefix + strings.TrimSuffix(name, ext) + "-" + f.etag + ext
	s.byPath[at], s.paths[name] = f, at
	return nil
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

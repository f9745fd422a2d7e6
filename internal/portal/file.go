package portal

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
)

// A file is something to serve as it is, in both of its encodings.
type file struct {
	mediaType   string
	etag        string
	text, small []byte // small is text in gzip
}

func newFile(mediaType string, text []byte) (*file, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return &file{mediaType: mediaType, etag: digest(text), text: text, small: b.Bytes()}, nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	body, tag := f.text, `"`+f.etag+`"`
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body, tag = f.small, `"`+f.etag+`-gzip"`
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
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	// The client that went away is the only failure here, and nobody is left to hear of it.
	_, _ = w.Write(body)
}

//go:embed assets
var assetFiles embed.FS

// assets are the style, the script and the pictures. Their addresses change with their content, so that they may be kept for ever.
type assets struct {
	byPath map[string]*file
	paths  map[string]string // by name
}

func newAssets() (*assets, error) {
	a := &assets{byPath: map[string]*file{}, paths: map[string]string{}}
	entries, err := fs.ReadDir(assetFiles, "assets")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, err
		}
		if err := a.add(e.Name(), text); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *assets) add(name string, text []byte) error {
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json",
	}
	ext := path.Ext(name)
	f, err := newFile(types[ext], text)
	if err != nil {
		return err
	}
	at := "/docs/assets/" + strings.TrimSuffix(name, ext) + "-" + f.etag + ext
	a.byPath[at], a.paths[name] = f, at
	return nil
}

// path returns the address of the asset, or an error for one that does not exist.
func (a *assets) path(name string) (string, error) {
	if at, ok := a.paths[name]; ok {
		return at, nil
	}
	return "", fmt.Errorf("there is no asset %q", name)
}

package packaging

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

const (
	release = "v9.8.7"
	commit  = "0123456789abcdef0123456789abcdef01234567"
	epoch   = "1790000000"
	date    = "2026-09-21T14:13:20Z"
)

// run runs a program and returns what it printed.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// makeRelease makes a release of the sources at root for Linux and this architecture.
func makeRelease(t *testing.T, root, dist, nfpm string) {
	t.Helper()
	env := []string{"RELEASE=" + release, "COMMIT=" + commit, "SOURCE_DATE_EPOCH=" + epoch, "DIST=" + dist, "NFPM=" + nfpm}
	run(t, root, env, filepath.Join(root, "deploy", "release"), "linux/"+runtime.GOARCH)
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	return dir
}

// nfpm returns the packager that "make deb" installs, or "" if it did not.
func nfpm(t *testing.T) string {
	t.Helper()
	program := filepath.Join(root(t), "bin", "nfpm-2.43.0")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	return ""
}

// copySources copies what a build reads to a folder elsewhere.
func copySources(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "some", "other", "folder")
	must(t, os.MkdirAll(to, 0o755))
	args := []string{"-R"}
	for _, name := range []string{"api", "client", "cmd", "examples", "internal", "deploy", "docs", "go.mod", "go.sum", "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"} {
		args = append(args, filepath.Join(from, name))
	}
	run(t, from, nil, "cp", append(args, to)...)
	return to
}

// TestRelease makes the release twice, in different folders, and looks into it.
func TestRelease(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("deploy/release needs GNU tar, date and sha256sum")
	}
	here, there := t.TempDir(), t.TempDir()
	sources := copySources(t, root(t)) // the same for both, even while somebody edits
	makeRelease(t, sources, here, nfpm(t))
	t.Run("twice the same", func(t *testing.T) {
		makeRelease(t, copySources(t, sources), there, nfpm(t))
		got, want := servertest.Text(t, filepath.Join(there, "SHA256SUMS")), servertest.Text(t, filepath.Join(here, "SHA256SUMS"))
		if got != want {
			t.Errorf("the checksums of two builds differ:\n%s\n%s", got, want)
		}
	})
	t.Run("checksums", func(t *testing.T) { run(t, here, nil, "sha256sum", "-c", "SHA256SUMS") })
	name := "petstore-" + release + "-linux-" + runtime.GOARCH
	files := unpack(t, filepath.Join(here, name+".tar.gz"))
	t.Run("archive", func(t *testing.T) { expectArchive(t, files, name) })
	t.Run("binary", func(t *testing.T) { expectBinary(t, sources, files[name+"/petstore"]) })
	t.Run("bill of materials", func(t *testing.T) { expectBill(t, filepath.Join(here, name+".cdx.json")) })
	t.Run("bill of materials keeps to its schema", func(t *testing.T) {
		if out, err := validate(t, filepath.Join(here, name+".cdx.json")); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("package", func(t *testing.T) { expectPackage(t, filepath.Join(here, "petstore_9.8.7_"+runtime.GOARCH+".deb")) })
}

func unpack(t *testing.T, name string) map[string][]byte {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	plain, err := gzip.NewReader(f)
	must(t, err)
	files := map[string][]byte{}
	for all := tar.NewReader(plain); ; {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must(t, err)
		if h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 1790000000 {
			t.Errorf("%s belongs to %d %q and is of %v, want 0 and the commit's time", h.Name, h.Uid, h.Uname, h.ModTime)
		}
		if files[path.Clean(h.Name)], err = io.ReadAll(all); err != nil {
			t.Fatal(err)
		}
	}
}

func expectArchive(t *testing.T, files map[string][]byte, name string) {
	t.Helper()
	for _, want := range []string{
		"petstore", "README.md", "CHANGELOG.md", "LICENSE", "man/petstore.1.gz", "man/petstore-serve.1.gz", "man/petstore-key-create.1.gz",
		"completions/petstore.bash", "completions/petstore.zsh", "completions/petstore.fish",
	} {
		if len(files[name+"/"+want]) == 0 {
			t.Errorf("the archive lacks %s", want)
		}
	}
}

// expectBinary expects a static binary that knows its version.
func expectBinary(t *testing.T, sources string, text []byte) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(text))
	must(t, err)
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary needs a dynamic linker")
		}
	}
	if bytes.Contains(text, []byte(sources)) {
		t.Error("the binary tells in which folder it was built")
	}
	program := filepath.Join(t.TempDir(), "petstore")
	must(t, os.WriteFile(program, text, 0o700))
	var v struct{ Version, Commit, Date string }
	must(t, json.Unmarshal([]byte(run(t, "", nil, program, "version", "-o", "json")), &v))
	if v.Version != release || v.Commit != commit || v.Date != date {
		t.Errorf("petstore version = %+v, want %s %s %s", v, release, commit, date)
	}
}

func expectBill(t *testing.T, name string) {
	t.Helper()
	var bill struct {
		BOMFormat  string
		Components []struct{ PURL string }
	}
	must(t, json.Unmarshal([]byte(servertest.Text(t, name)), &bill))
	if bill.BOMFormat != "CycloneDX" {
		t.Errorf("the format is %q, want CycloneDX", bill.BOMFormat)
	}
	for _, want := range []string{"pkg:golang/std@", "pkg:golang/zombiezen.com/go/sqlite@", "pkg:golang/github.com/spf13/cobra@"} {
		if !strings.Contains(servertest.Text(t, name), want) {
			t.Errorf("the bill lacks %s", want)
		}
	}
}

func expectPackage(t *testing.T, name string) {
	t.Helper()
	servertest.NeedFile(t, filepath.Join(root(t), "bin", "nfpm-2.43.0"), "none; make deb installs it")
	servertest.Need(t, "dpkg-deb", "dpkg")
	about := run(t, "", nil, "dpkg-deb", "-I", name)
	for _, want := range []string{"Package: petstore\n", "Version: 9.8.7\n", "Architecture: " + runtime.GOARCH + "\n", "conffiles", "postinst", "prerm", "postrm"} {
		if !strings.Contains(about, want) {
			t.Errorf("the package lacks %q:\n%s", want, about)
		}
	}
	to := t.TempDir()
	run(t, "", nil, "dpkg-deb", "-x", name, to)
	for _, want := range []string{
		"usr/bin/petstore", "etc/petstore/petstore.yaml", "lib/systemd/system/petstore.service", "lib/systemd/system/petstore.socket",
		"lib/systemd/system/petstore-ops.socket", "usr/lib/sysusers.d/petstore.conf", "usr/share/man/man1/petstore.1.gz",
		"usr/share/bash-completion/completions/petstore", "usr/share/doc/petstore/copyright",
	} {
		if _, err := os.Stat(filepath.Join(to, want)); err != nil {
			t.Errorf("the package lacks %s", want)
		}
	}
	expectModes(t, to)
	settings := run(t, to, nil, filepath.Join(to, "usr/bin/petstore"), "config", "print", "-o", "table", "--config", filepath.Join(to, "etc/petstore/petstore.yaml"))
	if !strings.Contains(settings, "/var/lib/petstore/petstore.db") {
		t.Errorf("the settings of the package are\n%s", settings)
	}
}

// expectModes expects that of what is installed nothing but the program can be
// run, and that only the owner may write.
func expectModes(t *testing.T, installed string) {
	t.Helper()
	err := filepath.WalkDir(installed, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || path == installed {
			return err
		}
		want := fs.FileMode(0o644)
		if d.IsDir() || strings.HasSuffix(path, "/usr/bin/petstore") {
			want = 0o755
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("the package installs %s with mode %o, want %o", strings.TrimPrefix(path, installed), got, want)
		}
		return nil
	})
	must(t, err)
}

// TestUnits has systemd check the units, as far as it can without running.
func TestUnits(t *testing.T) {
	t.Parallel()
	servertest.Need(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	for _, name := range []string{"petstore.service", "petstore.socket", "petstore-ops.socket"} {
		// The binary is not installed: another stands for it.
		text := strings.ReplaceAll(servertest.Text(t, filepath.Join(root(t), "deploy/systemd", name)), "/usr/bin/petstore", "/bin/true")
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	run(t, dir, nil, "systemd-analyze", "verify", "--man=no", "petstore.service", "petstore.socket", "petstore-ops.socket")
	// The exposure, in tenths: at most 2.0 of 10.
	run(t, dir, nil, "systemd-analyze", "security", "--offline=true", "--threshold=20", "petstore.service")
}

func TestScriptsAreSound(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join(root(t), "deploy/deb/*.sh"))
	if err != nil || len(scripts) != 3 {
		t.Fatalf("deploy/deb has %v, %v; want three scripts", scripts, err)
	}
	for _, script := range scripts {
		run(t, "", nil, "sh", "-n", script)
	}
}

// must ends a test if there is an error.
var must = servertest.Must

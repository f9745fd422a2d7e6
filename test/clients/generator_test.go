package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// A language is one for which openapi-generator makes a client. Its build puts together that and the program of testdata in
// dir, and returns the command that runs the program, but for the URL and the key.
type language struct {
	generator string
	flags     []string // of the generator
	program   string
	build     func(t *testing.T, dir string) []string
}

var languages = []language{
	{"python", []string{"--package-name=petstore_client"}, "shop.py", buildPython},
	{"kotlin", []string{"--library=jvm-okhttp3", "--additional-properties=serializationLibrary=gson"}, "shop.kt", buildKotlin},
	{"typescript-fetch", []string{"--additional-properties=typescriptThreePlus=true"}, "shop.ts", buildTypeScript},
}

// TestOpenAPIGenerator generates clients from the description as the server gives it out, builds all that was
// generated, and uses each.
func TestOpenAPIGenerator(t *testing.T) {
	t.Parallel()
	java := servertest.Need(t, "java", "default-jre-headless")
	jar := filepath.Join(others.Dir(t), "node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar")
	s := serve(t, "business", "shop")
	served, afterwards := s.description(t), later(t, s.URL)
	for _, l := range languages {
		t.Run(l.generator, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, dir, java, append([]string{"-jar", jar, "generate", "-g", l.generator, "-i", served, "-o", filepath.Join(dir, "petstore")}, l.flags...)...)
			run(t, ".", "cp", filepath.Join("testdata", l.program), dir)
			command := l.build(t, dir)
			for where, url := range map[string]string{"the server": s.URL, "a later server": afterwards} {
				args := append(command[1:], url, s.keys["shop"])
				if out := run(t, dir, command[0], args...); !strings.Contains(out, "all worked") {
					t.Errorf("against %s it printed %q, want that all worked", where, out)
				}
			}
		})
	}
}

// buildPython has Python compile every module. It is Debian's, which has the libraries.
func buildPython(t *testing.T, dir string) []string {
	t.Helper()
	python := servertest.Need(t, "/usr/bin/python3", "python3")
	for _, library := range []string{"certifi", "dateutil", "six.py", "urllib3"} {
		servertest.NeedFile(t, "/usr/lib/python3/dist-packages/"+library, "python3-"+strings.TrimSuffix(library, ".py"))
	}
	run(t, dir, python, "-m", "compileall", "-q", "petstore")
	return []string{"env", "PYTHONPATH=petstore", python, "shop.py"}
}

// buildKotlin compiles against the libraries that Debian has. The compiler is told to spare the processor.
func buildKotlin(t *testing.T, dir string) []string {
	t.Helper()
	kotlinc := servertest.Need(t, "kotlinc", "kotlin")
	var jars []string
	for library, debian := range map[string]string{"okhttp": "libokhttp-java", "okio": "libokio-java", "gson": "libgoogle-gson-java", "kotlin-stdlib": "kotlin"} {
		jars = append(jars, servertest.NeedFile(t, "/usr/share/java/"+library+".jar", debian))
	}
	path := strings.Join(jars, ":")
	run(t, dir, kotlinc, "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-nowarn", "-cp", path, "-d", "shop.jar", "petstore/src/main", "shop.kt")
	return []string{"java", "-cp", "shop.jar:" + path, "ShopKt"}
}

func buildTypeScript(t *testing.T, dir string) []string {
	t.Helper()
	must(t, os.Symlink(filepath.Join(others.Dir(t), "node_modules"), filepath.Join(dir, "node_modules")))
	run(t, dir, others.Program(t, "tsc"), "--strict", "--skipLibCheck", "--esModuleInterop", "--target", "es2022", "--module", "commonjs", "--types", "node", "shop.ts")
	return []string{"node", "shop.js"}
}

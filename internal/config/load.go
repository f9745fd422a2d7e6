package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// An Origin says where a value comes from: "--addr", "PETSTORE_ADDR", "petstore.yaml:3"
// or "default".
type Origin string

// Default is the origin of a default value.
const Default Origin = "default"

// Origins hold the origin of each flag's value, by the flag's name.
type Origins map[string]Origin

// Of returns the origin of a flag's value.
func (o Origins) Of(flag string) Origin {
	if origin, ok := o[flag]; ok {
		return origin
	}
	return Default
}

// Blame returns the origin of a flag's value, or the flag if it has its default.
func (o Origins) Blame(flag string) Origin {
	if origin := o.Of(flag); origin != Default {
		return origin
	}
	return Origin("--" + flag)
}

// Fault returns the error for the value of a flag that cannot be used.
func (o Origins) Fault(flag, format string, args ...any) error {
	return &Fault{Origin: o.Blame(flag), Reason: fmt.Sprintf(format, args...)}
}

// A Fault is the error for a setting that cannot be used. Its text names the origin.
type Fault struct {
	Origin Origin
	Reason string
}

// Error returns the origin and the reason.
func (f *Fault) Error() string { return fmt.Sprintf("%s: %s", f.Origin, f.Reason) }

// FromEnvironment lets flags take their values from the environment too, as those of
// the settings do. It must not be used for flags that change or confirm something,
// since a forgotten variable would do so.
func FromEnvironment(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, fromEnvironment, nil); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// FromVariable is FromEnvironment for one flag, whose variable has another name than
// the flag.
func FromVariable(flags *pflag.FlagSet, name, variable string) {
	if err := flags.SetAnnotation(name, fromEnvironment, []string{variable}); err != nil {
		panic(err) // there is no such flag
	}
}

// fromEnvironment is the annotation of the flags of FromEnvironment. Its value is the
// variable, if that has another name than the flag.
const fromEnvironment = "environment"

// Load sets each setting, and each flag of FromEnvironment, that the command line has
// not set, from the environment or else from the file. The file is named by the flag
// FileFlag or its variable. It may contain any setting of c, also one without a flag
// here, and nothing else. An empty variable counts as not set.
//
// It returns a *Fault for a value that cannot be used, and for a file that
// cannot be read.
func (c *Config) Load(flags *pflag.FlagSet, getenv func(string) string) (Origins, error) {
	l := loader{flags: flags, getenv: getenv, origins: Origins{}}
	l.flags.VisitAll(l.fromCommandLine)
	l.flags.VisitAll(l.fromEnvironment)
	if l.err == nil {
		l.fromFile(c)
	}
	if l.err != nil {
		return nil, l.err
	}
	return l.origins, c.check(l.origins)
}

type loader struct {
	flags   *pflag.FlagSet
	getenv  func(string) string
	origins Origins
	err     error // the first fault
}

func (l *loader) fromCommandLine(f *pflag.Flag) {
	if f.Changed {
		l.origins[f.Name] = Origin("--" + f.Name)
	}
}

func (l *loader) fromEnvironment(f *pflag.Flag) {
	name := EnvName(f.Name)
	other, may := f.Annotations[fromEnvironment]
	if len(other) > 0 {
		name = other[0]
	}
	if value := l.getenv(name); (may || f.Name == FileFlag) && value != "" && !f.Changed {
		l.set(f.Name, Origin(name), value, f.Value)
	}
}

func (l *loader) fromFile(c *Config) {
	f := l.flags.Lookup(FileFlag)
	if f == nil || f.Value.String() == "" {
		return
	}
	path := f.Value.String()
	entries, err := readFile(path)
	if err != nil {
		l.err = err
		return
	}
	settings := c.Settings()
	for _, e := range entries {
		from := Origin(fmt.Sprintf("%s:%d", path, e.line))
		i := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == e.name })
		value, ok := e.value()
		switch {
		case i < 0:
			l.fault(from, unknownSetting(e.name, settings))
		case !ok:
			l.fault(from, e.name+" must be a value, or a list of values")
		case l.origins.Of(e.name) == Default:
			l.set(e.name, from, value, settings[i].value)
		}
	}
}

func unknownSetting(name string, settings []Setting) string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.Name
	}
	return fmt.Sprintf("there is no setting %.60q; the settings are %s", name, strings.Join(names, ", "))
}

func (l *loader) set(flag string, from Origin, text string, to pflag.Value) {
	if err := to.Set(text); err != nil {
		l.fault(from, fmt.Sprintf("%.100q: %v", text, err))
		return
	}
	l.origins[flag] = from
}

func (l *loader) fault(from Origin, reason string) {
	if l.err == nil {
		l.err = &Fault{Origin: from, Reason: reason}
	}
}

package config

import (
	"fmt"

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
		FromVariable(flags, name, EnvName(name))
	}
}

// FromVariable is FromEnvironment for one flag, whose variable may have another name
// than the flag.
func FromVariable(flags *pflag.FlagSet, name, variable string) {
	if err := flags.SetAnnotation(name, fromEnvironment, []string{variable}); err != nil {
		panic(err) // there is no such flag
	}
}

// fromEnvironment is the annotation of a flag whose value is the name of its variable.
const fromEnvironment = "environment"

// Load sets each setting, and each flag of FromEnvironment, that the command line has
// not set, from the environment or else from the file. The file is named by the flag
// FileFlag or its variable. It may contain any setting of c, also one without a flag
// here, and nothing else. An empty variable counts as not set.
//
// It returns a *Fault for a value that cannot be used, and for a file that
// cannot be read.
func (c *Config) Load(flags *pflag.FlagSet, getenv func(string) string) (Origins, error) {
	origins := Origins{}
	var fault error
	flags.VisitAll(func(f *pflag.Flag) {
		variables := f.Annotations[fromEnvironment]
		switch {
		case f.Changed:
			origins[f.Name] = Origin("--" + f.Name)
		case fault == nil && len(variables) > 0 && getenv(variables[0]) != "":
			fault = origins.set(f.Name, Origin(variables[0]), getenv(variables[0]), f.Value)
		}
	})
	if f := flags.Lookup(FileFlag); fault == nil && f != nil && f.Value.String() != "" {
		fault = c.loadFile(f.Value.String(), origins)
	}
	if fault != nil {
		return nil, fault
	}
	return origins, c.check(origins)
}

// set sets a value from a text, and its origin.
func (o Origins) set(flag string, from Origin, text string, to pflag.Value) error {
	if err := to.Set(text); err != nil {
		return &Fault{from, fmt.Sprintf("%.100q: %v", text, err)}
	}
	o[flag] = from
	return nil
}

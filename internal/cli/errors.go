package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/spelling"
)

// The exit codes.
const (
	Success     = 0
	Failure     = 1
	WrongUsage  = 2
	Interrupted = 130
)

// A usageError is a command line that cannot be understood.
type usageError struct{ reason string }

func (e *usageError) Error() string { return e.reason }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// fault returns the error for the value of a flag, naming where it came from.
func (a *app) fault(flag, format string, args ...any) error {
	return a.origins.Fault(flag, format, args...)
}

// exit says what went wrong, in one line, and returns the exit code.
func (a *app) exit(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return Success
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(a.err, "petstore: interrupted")
		return Interrupted
	}
	fmt.Fprintln(a.err, "petstore: "+explain(err))
	if isUsage(err) {
		return WrongUsage
	}
	return Failure
}

func isUsage(err error) bool {
	_, usage := errors.AsType[*usageError](err)
	_, fault := errors.AsType[*config.Fault](err)
	return usage || fault
}

// explain returns err in one line, without the codes of the wire.
func explain(err error) string {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, e := range all.Unwrap() {
			texts = append(texts, explain(e))
		}
		return strings.Join(texts, "; ")
	}
	text := err.Error()
	if e, ok := errors.AsType[*petstore.Error](err); ok {
		text = strings.Replace(text, e.Error(), sentence(e), 1)
	}
	return strings.Map(shown, oneLine(text))
}

// oneLine joins lines; what stands behind a colon goes on there.
func oneLine(text string) string {
	var line strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		switch before := line.String(); {
		case before == "":
		case strings.HasSuffix(before, ":"):
			line.WriteString(" ")
		default:
			line.WriteString("; ")
		}
		line.WriteString(strings.TrimSpace(part))
	}
	return line.String()
}

// shown returns a character, or another one for those that a terminal obeys: an
// error may repeat what a stranger wrote.
func shown(r rune) rune {
	if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
		return unicode.ReplacementChar
	}
	return r
}

// sentence returns what e says to people.
func sentence(e *petstore.Error) string {
	if e.Err == nil {
		return e.Message
	}
	return fmt.Sprintf("%s (%v)", e.Message, e.Err)
}

// argumentsOf returns the check for the arguments that use names: the words
// after the first, up to the flags.
func argumentsOf(use string) cobra.PositionalArgs {
	names := strings.Fields(use)[1:]
	if i := slices.IndexFunc(names, func(word string) bool { return strings.ContainsAny(word[:1], "-[") }); i >= 0 {
		names = names[:i]
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%q needs %s", cmd.CommandPath(), strings.Join(names[len(args):], " and "))
		case len(args) > len(names):
			return usagef("%q takes no argument %q", cmd.CommandPath(), args[len(names)])
		}
		for i, arg := range args {
			if arg == "" {
				return usagef("%q: %s must not be empty", cmd.CommandPath(), names[i])
			}
		}
		return nil
	}
}

// flagError says in our words what pflag found.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0))
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, e)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usagef("%s: %q: %s", spelled(e.GetFlag()), e.GetValue(), valueReason(e.Unwrap().Error()))
	}
	return usagef("%v", err)
}

// spelled returns a flag in every way in which it can be typed.
func spelled(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + "/--" + f.Name
	}
	return "--" + f.Name
}

// valueReason says in our words why the standard library refused a value.
func valueReason(reason string) string {
	switch {
	case strings.HasPrefix(reason, "strconv."):
		return "must be a number"
	case strings.HasPrefix(reason, "time: "):
		return "must be a duration such as 30m or 720h"
	}
	return reason
}

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	name := "--" + e.GetSpecifiedName()
	if short := e.GetSpecifiedShortnames(); short != "" {
		return usagef("%q has no flag -%s", cmd.CommandPath(), e.GetSpecifiedName())
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
	return usagef("%q has no flag %s%s", cmd.CommandPath(), name, spelling.Suggest(name, flags))
}

func unknownCommand(cmd *cobra.Command, name string) error {
	return usagef("there is no command %q%s", spoken(cmd, name), spelling.Suggest(name, strings.Split(commandNames(cmd), ", ")))
}

// spoken returns what was typed after the program's name to reach a word.
func spoken(cmd *cobra.Command, word string) string {
	words := strings.Fields(cmd.CommandPath())[1:]
	return strings.Join(append(words, word), " ")
}

func commandNames(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
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
	ended, isExit := errors.AsType[exitError](err) // of another command, which has said why
	switch {
	case err == nil:
		return Success
	case isExit:
		return int(ended)
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

// explain returns err in one line, without the codes of the wire and without a
// full stop, which sentences of the domain have.
func explain(err error) string {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, e := range all.Unwrap() {
			texts = append(texts, explain(e))
		}
		return strings.Join(texts, "; ")
	}
	text := withoutPrefix(err)
	if e, ok := errors.AsType[*petstore.Error](err); ok {
		text = strings.Replace(text, e.Error(), sentence(e), 1)
	}
	return strings.TrimSuffix(access.Printable(oneLine(text)), ".") // an error may repeat what a stranger wrote
}

var lineBreak = regexp.MustCompile(`\s*\n\s*`)

// oneLine joins lines; what stands behind a colon goes on there.
func oneLine(text string) string {
	return strings.ReplaceAll(lineBreak.ReplaceAllString(strings.TrimSpace(text), "; "), ":; ", ": ")
}

// sentence returns what e says to people.
func sentence(e *petstore.Error) string {
	if e.Err == nil {
		return e.Message
	}
	return fmt.Sprintf("%s (%v)", e.Message, e.Err)
}

// arguments returns the check of a command's arguments, which must not be empty
// either. Its error says how the command is used.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		check = cobra.NoArgs
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case check(cmd, args) != nil:
			return usagef("wrong number of arguments: %d; usage: %s", len(args), cmd.UseLine())
		case slices.Contains(args, ""):
			return usagef("an argument is empty; usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// flagError names the flag as it can be typed.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0))
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if number := e.GetSpecifiedShortnames(); number != "" && number[0] >= '0' && number[0] <= '9' {
			return usagef("-%s is not a flag, and a number must not be negative", number)
		}
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usagef("--%s: %q: %v", e.GetFlag().Name, e.GetValue(), reasonOf(e.Unwrap()))
	}
	return usagef("%v", err)
}

// reasonOf returns why a value was refused; of the standard library's values
// there are yes and no alone.
func reasonOf(err error) error {
	if _, ok := errors.AsType[*strconv.NumError](err); ok {
		return errors.New("must be true or false")
	}
	return err
}

// unknownCommand says so in cobra's words, in one line.
func unknownCommand(cmd *cobra.Command, name string) error {
	meant := ""
	if all := cmd.SuggestionsFor(name); name != "" && len(all) > 0 {
		meant = "; did you mean " + strings.Join(all, " or ") + "?"
	}
	return usagef("unknown command %q for %q%s", name, cmd.CommandPath(), meant)
}

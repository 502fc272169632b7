package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// The exit codes.
const (
	exitFine     = 0
	exitError    = 1
	exitUsage    = 2
	exitNotFound = 3
	exitChanged  = 4
)

// usageError is a command that cannot be right. Nothing was read or written.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// exitCode returns the code that says to a script what became of a command.
func exitCode(err error) int {
	usage, input := new(usageError), new(operate.InputError)
	target := new(connect.UsageError)
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &usage), errors.As(err, &input), errors.As(err, &target):
		return exitUsage
	case errors.Is(err, operate.ErrNotFound):
		return exitNotFound
	case errors.Is(err, operate.ErrChanged):
		return exitChanged
	default:
		return exitError
	}
}

// sentence says what went wrong to somebody who does not know the code.
func (a *app) sentence(err error) string {
	failed, isStore := errors.AsType[*store.Error](err)
	unreadable, isUnreadable := errors.AsType[*store.UnreadableError](err)
	input, isInput := errors.AsType[*operate.InputError](err)
	state, isState := errors.AsType[*operate.StateError](err)
	switch {
	case errors.Is(err, operate.ErrOutcomeUnknown):
		return "nobody knows whether the change was applied: " + a.storeSentence(failed) + "; inspect the record again"
	case errors.Is(err, store.ErrNoIndex):
		return a.name() + " has no index of the records with attention that can be used; --scan finds them by reading the whole table"
	case isInput && input.Field == "result":
		return "--executed: the result " + input.Problem + ". Of a handler that answers no HTTP requests: add --value"
	case isInput && input.Field == "by":
		return "--by " + input.Problem
	case isInput && input.Field == "why":
		return "--reason " + input.Problem
	case isState:
		return trimmed(err) + hint(state.State)
	case errors.Is(err, operate.ErrStep):
		return trimmed(err) + ". Inspect shows the steps"
	case errors.Is(err, operate.ErrForeign), errors.Is(err, operate.ErrOtherOperation):
		return trimmed(err)
	case isUnreadable:
		return "the record is there, but it cannot be understood: " + unreadable.Reason +
			"; nothing was changed. See unreadable-record in docs/problems.md"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case a.outboxSentence(err) != "":
		return a.outboxSentence(err)
	case isStore:
		return a.storeSentence(failed)
	default:
		return trimmed(err)
	}
}

// hint says what there is to do about a record in a state that was not expected.
func hint(s operate.State) string {
	switch s {
	case operate.StateCompleted:
		return ". To forget a stored answer, delete it"
	case operate.StateReleased, operate.StateExpired:
		return ". The next retry executes as it is"
	default:
		return ""
	}
}

// trimmed is the text of an error without the name of the package that it comes from.
func trimmed(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "operate: "), "idempotent: ")
}

// name is what the records are called in.
func (a *app) name() string {
	if a.target.Table == "" {
		return "the store"
	}
	return fmt.Sprintf("table %q", a.target.Table)
}

// noTable says that there is no such table.
func (a *app) noTable() string {
	return fmt.Sprintf("there is no %s in this account and Region: check --table, --region, --profile and --endpoint-url", a.name())
}

// storeSentence says why the table did not do what it was asked.
func (a *app) storeSentence(e *store.Error) string {
	if e == nil {
		return "the store did not say why"
	}
	switch e.Kind {
	case store.FailureMissingTable:
		return a.noTable()
	case store.FailureAccessDenied:
		return fmt.Sprintf("not allowed on %s: %s", a.name(), cause(e))
	case store.FailureThrottled:
		return a.name() + " throttles: try again later, and list with a lower --rate"
	case store.FailureTimeout, store.FailureUnavailable:
		return fmt.Sprintf("no answer for %s: %s", a.name(), cause(e))
	case store.FailureRejected:
		return fmt.Sprintf("%s has another key than expected: check --sort-key, --partition and --attribute (%s)", a.name(), cause(e))
	default:
		return fmt.Sprintf("%s: %s", a.name(), cause(e))
	}
}

// cause says what happened without the layers of the SDK, whose words help nobody here.
func cause(err error) string {
	answer, isAnswer := errors.AsType[smithy.APIError](err)
	network, isNetwork := errors.AsType[*net.OpError](err)
	switch {
	case isAnswer && answer.ErrorMessage() != "":
		return answer.ErrorCode() + ": " + answer.ErrorMessage()
	case isAnswer:
		return answer.ErrorCode()
	case isNetwork:
		return network.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "none came in time"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}

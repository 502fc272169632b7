package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/store"
)

// usageError is a command that cannot be right. Nothing was read or written.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// noMessageError is an id of which no message was given up.
type noMessageError struct{ id string }

func (e *noMessageError) Error() string {
	return fmt.Sprintf("no message %q was given up: it was redriven or delivered, or there never was one; nothing "+
		"was changed", e.id)
}

// Is reports whether target is [operate.ErrNotFound].
func (*noMessageError) Is(target error) bool { return target == operate.ErrNotFound }

// messagesChangedError is a redrive of messages some of which have changed since they were shown.
type messagesChangedError struct{ changed, of int }

func (e *messagesChangedError) Error() string {
	return fmt.Sprintf("refused: of %s, %d changed since: somebody else has redriven or delivered it; nothing was "+
		"changed of that",
		show.Count(int64(e.of), "message"), e.changed)
}

// Is reports whether target is [operate.ErrChanged].
func (*messagesChangedError) Is(target error) bool { return target == operate.ErrChanged }

// redriveError is a redrive of a message that may have been applied. Those behind it were not
// begun.
type redriveError struct {
	id  string
	err error
}

func (e *redriveError) Error() string { return e.err.Error() }

func (e *redriveError) Unwrap() error { return e.err }

// changedError is a record that is not the one that was seen, with the one that is there.
type changedError struct {
	now  operate.Shown
	gone bool
	at   time.Time
}

func (e *changedError) Error() string {
	if e.gone {
		return "refused: the record is gone; nothing was changed"
	}
	return fmt.Sprintf("refused: the record has changed since it was seen, it is %s now; nothing was changed",
		e.now.State)
}

// Is reports whether target is [operate.ErrChanged].
func (e *changedError) Is(target error) bool { return target == operate.ErrChanged }

// line is what is there, for programs.
func (e *changedError) line() *inspection {
	if e.gone {
		return nil
	}
	is := inspectionOf(e.now)
	return &is
}

// exitCode returns the code that says to a script what became of a command.
func exitCode(err error) int {
	usage, input := new(usageError), new(operate.InputError)
	target := new(connect.UsageError)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.As(err, &input), errors.As(err, &target):
		return 2
	case errors.Is(err, operate.ErrNotFound):
		return 3
	case errors.Is(err, operate.ErrChanged):
		return 4
	default:
		return 1
	}
}

// failure is an error for programs.
type failure struct {
	Error string `json:"error"`
	Exit  int    `json:"exit"`
	// Now is a record that has changed as it is now, nil if it is gone.
	Now   *inspection   `json:"now,omitempty"`
	Where connect.Place `json:"where,omitzero"`
}

// report says on standard error why a command failed, in the form that was asked for.
func (a *app) report(err error) {
	if err == nil {
		return
	}
	text := a.sentence(err)
	if a.output == outputJSON {
		line := failure{Error: text, Exit: exitCode(err), Where: a.place}
		if changed, ok := errors.AsType[*changedError](err); ok {
			line.Now = changed.line()
		}
		_ = show.JSON(a.world.Err, line) // there is nowhere else to say it
		return
	}
	_ = a.err().Line("idempotent: " + strings.TrimSuffix(show.Printable(text), "."))
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
		return a.name() + " has no index of the records with attention that can be used; --scan finds them by " +
			"reading the whole table"
	case isInput && input.Field == flagResult:
		return "--executed: the result " + input.Problem +
			". Of a handler that answers no HTTP requests, or stores such responses: add --value"
	case isInput && input.Field == "by":
		return "--by " + input.Problem
	case isInput && input.Field == "why":
		return "--reason " + input.Problem
	case isState && state.State == operate.StateCompleted:
		return trimmed(err) + ". To forget a stored answer, delete it"
	case isState && (state.State == operate.StateReleased || state.State == operate.StateExpired):
		return trimmed(err) + ". The next retry executes as it is"
	case errors.Is(err, operate.ErrStep):
		return trimmed(err) + ". Inspect shows the steps"
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
	return fmt.Sprintf("there is no %s in this account and Region: check --table, --region, --profile and "+
		"--endpoint-url", a.name())
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
		return fmt.Sprintf("%s has another key than expected: check --sort-key, --partition and --attribute (%s)",
			a.name(), cause(e))
	default:
		return fmt.Sprintf("%s: %s", a.name(), cause(e))
	}
}

// outboxSentence says why the table of an outbox did not do what it was asked, empty if it did not
// fail.
func (a *app) outboxSentence(err error) string {
	answer, isAnswer := errors.AsType[smithy.APIError](err)
	redriving, isRedriving := errors.AsType[*redriveError](err)
	switch {
	case isRedriving:
		return fmt.Sprintf("nobody knows whether message %q was redriven: %s; messages list tells what is left",
			redriving.id, a.outboxSentence(redriving.err))
	case !strings.HasPrefix(err.Error(), "outbox: "):
		return ""
	case isAnswer && answer.ErrorCode() == "ResourceNotFoundException":
		return a.noTable()
	case isAnswer && answer.ErrorCode() == "AccessDeniedException":
		return fmt.Sprintf("not allowed on %s: %s", a.name(), cause(err))
	case isAnswer && answer.ErrorCode() == "ValidationException" && strings.Contains(answer.ErrorMessage(), "index"):
		return fmt.Sprintf("%s has no index %q: it is no outbox, or lacks the index. A message whose id is known is "+
			"redriven without it, with --id",
			a.name(), outbox.Index)
	case isAnswer && answer.ErrorCode() == "ValidationException":
		return fmt.Sprintf("%s is no outbox: %s", a.name(), cause(err))
	default:
		return fmt.Sprintf("%s: %s", a.name(), cause(err))
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

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/connect"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/outbox"
	"github.com/go-idempotent/idempotent/store"
)

// usagef is a command that cannot be right. Nothing was read or written.
func usagef(format string, args ...any) error {
	return &connect.UsageError{Problem: fmt.Sprintf(format, args...)}
}

// said is an error of package operate in the words of a command.
func said(kind error, format string, args ...any) error {
	return &operate.Error{Kind: kind, Problem: fmt.Sprintf(format, args...)}
}

// exitCode returns the code that says to a script what became of a command.
func exitCode(err error) int {
	usage := new(connect.UsageError)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.Is(err, operate.ErrInput):
		return 2
	case errors.Is(err, operate.ErrNotFound):
		return 3
	case errors.Is(err, operate.ErrChanged):
		return 4
	}
	return 1
}

type failure struct {
	Error string `json:"error"`
	Exit  int    `json:"exit"`
	// Now is a record that has changed as it is now, nil if it is gone.
	Now   *show.Inspection `json:"now,omitempty"`
	Where connect.Place    `json:"where,omitzero"`
}

// report says on standard error why a command failed, in the form that was asked for: of a record
// that has changed with what it is now.
func (a *app) report(err error) {
	if err == nil {
		return
	}
	line := failure{Error: a.sentence(err), Exit: exitCode(err), Where: a.place}
	if refused, is := errors.AsType[*operate.Error](err); is && refused.Now != nil {
		now := show.Inspect(*refused.Now)
		line.Now = &now
	}
	switch { // there is nowhere else to say it
	case a.output == outputJSON:
		_ = show.JSON(a.world.Err, line)
		return
	case line.Now != nil:
		_ = tell(a.err(), line.Now, a.world.Now())
	}
	_ = a.err().Line("idempotent: " + strings.TrimSuffix(show.Printable(line.Error), "."))
}

// sentence says what went wrong to somebody who does not know the code.
func (a *app) sentence(err error) string {
	_, isStore := errors.AsType[*store.Error](err)
	unreadable, isUnreadable := errors.AsType[*store.UnreadableError](err)
	refused, is := errors.AsType[*operate.Error](err)
	if !is {
		refused = &operate.Error{}
	}
	switch {
	case errors.Is(err, operate.ErrOutcomeUnknown):
		return "nobody knows whether the change was applied: " + a.tableSentence(err) + "; inspect the record again"
	case errors.Is(err, store.ErrNoIndex):
		return a.name() + " has no index of the records with attention that can be used; --scan finds them by " +
			"reading the whole table"
	case refused.Problem != "" && refused.Field == "":
		return refused.Problem
	case refused.Now != nil:
		return "refused: the record has changed since it was seen, it is " + string(refused.Now.State) + " now; nothing " +
			"was changed"
	case errors.Is(err, operate.ErrChanged):
		return "refused: the record is gone; nothing was changed"
	case refused.Field == flagResult:
		return "--executed: the result " + refused.Problem +
			". Of a handler that answers no HTTP requests, or stores such responses: add --value"
	case refused.Field == "by":
		return "--by " + refused.Problem
	case refused.Field == "why":
		return "--reason " + refused.Problem
	case refused.State == operate.StateCompleted:
		return trimmed(err) + ". To forget a stored answer, delete it"
	case refused.State == operate.StateReleased, refused.State == operate.StateExpired:
		return trimmed(err) + ". The next retry executes as it is"
	case errors.Is(err, operate.ErrStep):
		return trimmed(err) + ". Inspect shows the steps"
	case isUnreadable:
		return "the record is there, but it cannot be understood: " + unreadable.Reason +
			"; nothing was changed. See unreadable-record in docs/problems.md"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case isStore, strings.HasPrefix(err.Error(), "outbox: "):
		return a.tableSentence(err)
	}
	return trimmed(err)
}

// trimmed is the text of an error without the name of the package that it comes from.
func trimmed(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "operate: "), "idempotent: ")
}

func (a *app) name() string {
	if a.target.Table == "" {
		return "the store"
	}
	return fmt.Sprintf("table %q", a.target.Table)
}

// tableSentence says why a table did not do what it was asked.
func (a *app) tableSentence(err error) string {
	answer, isAnswer := errors.AsType[smithy.APIError](err)
	failed, isStore := errors.AsType[*store.Error](err)
	ofOutbox := strings.HasPrefix(err.Error(), "outbox: ")
	code := ""
	if isAnswer {
		code = answer.ErrorCode()
	}
	switch {
	case code == "ResourceNotFoundException" || isStore && failed.Kind == store.FailureMissingTable:
		return fmt.Sprintf("there is no %s in this account and Region: check --table, --region, --profile and "+
			"--endpoint-url", a.name())
	case code == "AccessDeniedException" || isStore && failed.Kind == store.FailureAccessDenied:
		return fmt.Sprintf("not allowed on %s: %s", a.name(), connect.Cause(err))
	case isStore && failed.Kind == store.FailureThrottled:
		return a.name() + " throttles: try again later, and list with a lower --rate"
	case isStore && (failed.Kind == store.FailureTimeout || failed.Kind == store.FailureUnavailable):
		return fmt.Sprintf("no answer for %s: %s", a.name(), connect.Cause(err))
	case code == "ValidationException" && ofOutbox:
		return fmt.Sprintf("%s is no outbox with an index %q: %s. A message whose id is known is redriven without "+
			"it, with --id", a.name(), outbox.Index, connect.Cause(err))
	case isStore && failed.Kind == store.FailureRejected:
		return fmt.Sprintf("%s has another key than expected: check --sort-key, --partition and --attribute (%s)",
			a.name(), connect.Cause(err))
	}
	return fmt.Sprintf("%s: %s", a.name(), connect.Cause(err))
}

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-idempotent/idempotent/examples/apigw-charge/charge"
	"github.com/go-idempotent/idempotent/examples/apigw-charge/payments"
	"github.com/go-idempotent/idempotent/examples/internal/httpapi"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// By is who has settled a record.
const By = "stripe-webhook"

// looks bounds how often a record is looked at that changes meanwhile.
const looks = 3

// settle settles the record of a charge, if there is one and it is this charge's own.
func (e *Endpoint) settle(ctx context.Context, ev event, c object) (outcome, error) {
	if ev.Account != e.Account || ev.Livemode != e.Live {
		return outcome{Refused, "it is of another account, or of another mode"}, nil
	}
	if c.authorised() {
		return outcome{Ignored, "it is only authorised"}, nil
	}
	shown, o, err := e.find(ctx, ev, c)
	if err != nil || o.kind != "" {
		return o, err
	}
	for range looks {
		if o, final := decide(shown, c); final {
			return o, nil
		}
		o, next, err := e.change(ctx, shown, ev, c)
		if err != nil || o.kind != "" {
			return o, err
		}
		shown = next
	}
	return outcome{Later, "the record changes all the time"}, nil
}

// find returns the record, or what becomes of the event if it has none.
func (e *Endpoint) find(ctx context.Context, ev event, c object) (operate.Shown, outcome, error) {
	if key := c.Metadata[charge.MemberRecord]; key != "" {
		return e.findNamed(ctx, key, c)
	}
	return e.findByRequest(ctx, ev, c)
}

// findNamed finds the record that the metadata names. They may lie.
func (e *Endpoint) findNamed(ctx context.Context, key string, c object) (operate.Shown, outcome, error) {
	if store.OperationOf(key) != e.Operation {
		return operate.Shown{}, outcome{Ignored, "its record is one of another operation"}, nil
	}
	shown, err := e.Operator.Inspect(ctx, key)
	switch {
	case errors.Is(err, operate.ErrNotFound):
		return operate.Shown{}, outcome{Done, "its record is gone"}, nil
	case err != nil:
		return operate.Shown{}, outcome{}, err
	case c.Metadata[charge.MemberCheck] != shown.DerivedKey(charge.CheckName(c.Amount, c.Currency)):
		return operate.Shown{}, outcome{Refused, "its check is not that of the record, of this amount and of this currency"}, nil
	}
	return shown, outcome{}, nil
}

// findByRequest finds the record whose execution has sent the request that has caused the event. Only a record that somebody has to
// settle keeps the names of its keys.
func (e *Endpoint) findByRequest(ctx context.Context, ev event, c object) (operate.Shown, outcome, error) {
	shown, name, err := e.Operator.FindDerived(ctx, e.Operation, ev.Request.IdempotencyKey)
	switch {
	case errors.Is(err, operate.ErrInput):
		return operate.Shown{}, outcome{Ignored, "it has no key of ours"}, nil
	case errors.Is(err, operate.ErrNotFound) && ev.young(e.Now()):
		return operate.Shown{}, outcome{Later, "there is no open record of its key yet"}, nil
	case errors.Is(err, operate.ErrNotFound):
		return operate.Shown{}, outcome{Done, "there is no open record of its key"}, nil
	case err != nil:
		return operate.Shown{}, outcome{}, err
	case name != charge.KeyName || !bound(shown.Record.Derived, c):
		return operate.Shown{}, outcome{Refused, "its key is not that of a charge of this amount and of this currency"}, nil
	}
	return shown, outcome{}, nil
}

// bound reports whether a record, if it keeps the name of a check, keeps that of this amount and currency.
func bound(names []string, c object) bool {
	checks := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !charge.IsCheckName(n) })
	return len(checks) == 0 || slices.Contains(checks, charge.CheckName(c.Amount, c.Currency))
}

// decide says what becomes of an event whose record is not to be changed.
func decide(s operate.Shown, c object) (o outcome, final bool) {
	switch s.State {
	case operate.StateInProgress:
		return outcome{Later, "an execution holds the record"}, true
	case operate.StateUnknown, operate.StateLapsed:
		return outcome{}, false
	case operate.StateReleased:
		if c.Status == payments.Succeeded {
			return outcome{}, false // the next request would charge again, or find out that it must not
		}
		return outcome{Done, "the next request executes, and may succeed"}, true
	case operate.StateCompleted:
		return completed(s, c), true
	default:
		return outcome{Done, "the record is " + string(s.State)}, true
	}
}

// completed says what becomes of an event whose record has an answer. An answer that is kept beside the record is not read.
func completed(s operate.Shown, c object) outcome {
	if c.Status != payments.Succeeded {
		return outcome{Done, "the record is completed"}
	}
	a, readable := answerOf(s.Record)
	switch {
	case !readable:
		return outcome{Done, "the record is completed, and its answer cannot be read here"}
	case a.charge == c.ID:
		return outcome{Done, "the record is completed with this charge"}
	default:
		return outcome{Contradicted, fmt.Sprintf("the charge %.100s has succeeded, but the answer of %s is %s", c.ID, s.Record.Key, a)}
	}
}

// answer is what is read of the answer of a record: its charge, or its status if it has none.
type answer struct {
	charge string
	status int
}

func (a answer) String() string {
	switch {
	case a.charge != "":
		return fmt.Sprintf("the charge %.100s", a.charge)
	case a.status != 0:
		return fmt.Sprintf("status %d", a.status)
	default:
		return "an error"
	}
}

// answerOf reads the answer of a record that is completed, in the form of either type of API.
func answerOf(r store.Record) (a answer, readable bool) {
	if r.Reason == store.ReasonTerminal {
		return answer{}, true
	}
	var response httpapi.Response
	if err := json.Unmarshal(r.Result, &response); err != nil || response.StatusCode == 0 {
		return answer{}, false
	}
	if response.StatusCode != http.StatusCreated {
		return answer{status: response.StatusCode}, true
	}
	var made payments.Charge
	text, err := bodyOf(response.Body, response.IsBase64Encoded)
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	return answer{charge: made.ID}, err == nil && made.ID != ""
}

// change settles the record as it was shown. If it has changed meanwhile, it returns it as it is now.
func (e *Endpoint) change(ctx context.Context, s operate.Shown, ev event, c object) (outcome, operate.Shown, error) {
	response, err := responseOf(c, s)
	if err != nil {
		return outcome{}, operate.Shown{}, err
	}
	_, err = e.Operator.Settle(ctx, s, operate.Responded(response), operate.Act{
		By: By, Operation: e.Operation, Why: fmt.Sprintf("event %.100s: the charge %.100s has %s", ev.ID, c.ID, c.Status),
	})
	changed, is := errors.AsType[*operate.ChangedError](err)
	switch {
	case err == nil:
		return outcome{Settled, "the charge has " + c.Status}, operate.Shown{}, nil
	case is && changed.Gone:
		return outcome{Done, "its record is gone"}, operate.Shown{}, nil
	case is:
		return outcome{}, changed.Shown, nil
	case errors.Is(err, operate.ErrLive):
		return outcome{Later, "an execution holds the record"}, operate.Shown{}, nil
	default:
		return outcome{}, operate.Shown{}, err
	}
}

// responseOf is what the function would have answered.
func responseOf(c object, s operate.Shown) ([]byte, error) {
	made, err := c.made(s.DerivedKey(charge.KeyName))
	if err != nil {
		return nil, err
	}
	out, ended, err := charge.Answered(made)
	if err != nil {
		return nil, err
	}
	if !ended {
		return nil, errors.New("the charge has not ended")
	}
	return json.Marshal(out)
}
